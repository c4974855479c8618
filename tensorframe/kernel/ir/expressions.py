"""Expressions of the kernel IR: scalars of one dtype, and the memory that they are loaded from.

Expressions and buffers are immutable, and equal ones are one object, in all threads (hash consing): comparing them is
`is`, and a shared subexpression is found by identity. Positions and loop indices are unsigned 64-bit integers that
wrap: a negative stride is its two's complement.
"""

from __future__ import annotations

from _weakref import _remove_dead_weakref  # type: ignore[attr-defined] # as `weakref` does: in one step
from collections import deque
from contextlib import suppress
from enum import Enum
from typing import Any
from weakref import ref

import numpy as np

from tensorframe.dtypes import DType, bool_, complex64

INDEX: DType = np.dtype(np.uint64)  # dtype of positions, sizes and strides
# dtype of two floats beside each other, as a complex number has them: see `kernel/math/pairs.py`
PAIR: DType = complex64


class Role(Enum):
    """What a buffer is to the kernel."""

    INPUT = "input"  # read only, overlaps with no output but at equal positions
    OUTPUT = "output"
    SCRATCH = "scratch"  # memory of one call of the kernel, gone afterwards
    SHARED = "shared"  # memory of one work-group


class Buffer:
    """Memory that a kernel reads or writes, as elements of one dtype; equal buffers are one object."""

    __slots__ = ("__weakref__", "dtype", "name", "role")
    name: str
    dtype: DType
    role: Role

    def __new__(cls, name: str, dtype: DType, role: Role) -> Buffer:
        buffer: Buffer = _intern(cls, dtype, (name, role), name=name, role=role)
        return buffer

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}, {self.dtype}, {self.role})"


class Expr:
    """A scalar value of one dtype. Operators make expressions; a Python number takes the dtype of its partner."""

    __slots__ = ("__weakref__", "dtype")
    dtype: DType
    operands: tuple[Expr, ...] = ()
    """The expressions that this one is computed from."""

    def __add__(self, other: Expr | complex) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: complex) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Expr | complex) -> Expr:
        return binary("subtract", self, other)

    def __rsub__(self, other: complex) -> Expr:
        return binary("subtract", other, self)

    def __mul__(self, other: Expr | complex) -> Expr:
        return binary("multiply", self, other)

    def __rmul__(self, other: complex) -> Expr:
        return binary("multiply", other, self)

    def __truediv__(self, other: Expr | complex) -> Expr:
        return binary("divide", self, other)

    def __rtruediv__(self, other: complex) -> Expr:
        return binary("divide", other, self)

    def __neg__(self) -> Expr:
        return apply("negative", self)

    def __abs__(self) -> Expr:
        return apply("abs", self)

    def __lt__(self, other: Expr | complex) -> Expr:
        return compare("less", self, other)

    def __le__(self, other: Expr | complex) -> Expr:
        return compare("less_equal", self, other)

    def __gt__(self, other: Expr | complex) -> Expr:
        return compare("greater", self, other)

    def __ge__(self, other: Expr | complex) -> Expr:
        return compare("greater_equal", self, other)

    def __and__(self, other: Expr | int) -> Expr:
        return binary("bitwise_and", self, other)

    def __or__(self, other: Expr | int) -> Expr:
        return binary("bitwise_or", self, other)

    def __xor__(self, other: Expr | int) -> Expr:
        return binary("bitwise_xor", self, other)

    def __invert__(self) -> Expr:
        return apply("bitwise_invert", self)

    def __lshift__(self, other: Expr | int) -> Expr:
        return binary("bitwise_left_shift", self, other)

    def __rshift__(self, other: Expr | int) -> Expr:
        return binary("bitwise_right_shift", self, other)


class Literal(Expr):
    """A number known when the kernel is printed."""

    __slots__ = ("value",)
    value: complex


class Argument(Expr):
    """A number passed at each call: a size, a stride, a 0-d operand."""

    __slots__ = ("name",)
    name: str


class Index(Expr):
    """The variable of a loop."""

    __slots__ = ("name",)
    name: str


class Variable(Expr):
    """A name for a value: `Let` gives it once, `Set` again and again (an accumulator)."""

    __slots__ = ("name",)
    name: str


class Load(Expr):
    """The element of a buffer at a position."""

    __slots__ = ("buffer", "operands", "position")
    buffer: Buffer
    position: Expr


class Apply(Expr):
    """An op on scalars, by the name of its row, or one of the machine ops of `formula.py`."""

    __slots__ = ("arguments", "op", "operands")
    op: str
    arguments: tuple[Expr, ...]


class _Interned(ref[Any]):
    """A reference to an expression or a buffer, which others share for as long as somebody uses it, and its key."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


# Hash consing. Two threads, or a signal handler and what it interrupts, may make equal expressions at once: the first
# to enter its own wins, which `setdefault` decides in one step, since keys are compared without running Python code.
_interned: dict[tuple[Any, ...], _Interned] = {}
# Of expressions that are gone. They are forgotten when the next one is made: an interrupt that comes inside a callback
# written in Python would be lost.
_dead: deque[_Interned] = deque()


def _intern(kind: type[Expr | Buffer], dtype: DType, mark: Any, **fields: Any) -> Any:
    """Return the one object with these fields; `mark` distinguishes it from others of its kind and dtype."""
    key = (kind, dtype, mark)
    reference = _interned.get(key)
    known = None if reference is None else reference()
    if known is not None:
        return known
    if _dead:
        _forget_dead()
    made: Any = object.__new__(kind)
    made.dtype = dtype
    for name, value in fields.items():
        setattr(made, name, value)
    own = _Interned(made, _dead.append)
    own.key = key
    while (known := _interned.setdefault(key, own)()) is None:
        # the one before is gone, but not from here; one that somebody has entered meanwhile stays
        _remove_dead_weakref(_interned, key)
    return known


def _forget_dead() -> None:
    with suppress(IndexError):  # other threads forget too
        while True:
            _remove_dead_weakref(_interned, _dead.popleft().key)


def literal(value: complex, dtype: DType) -> Literal:
    """Return a number of a dtype; -0.0 and 0.0 are two."""
    if dtype.kind in "iub":
        value = int(value.real)
    expr: Literal = _intern(Literal, dtype, repr(value), value=value)
    return expr


def argument(name: str, dtype: DType = INDEX) -> Argument:
    """Return a number that is passed at each call."""
    expr: Argument = _intern(Argument, dtype, name, name=name)
    return expr


def index(name: str, dtype: DType = INDEX) -> Index:
    """Return the variable of a loop."""
    expr: Index = _intern(Index, dtype, name, name=name)
    return expr


def variable(name: str, dtype: DType) -> Variable:
    """Return the name of a value."""
    expr: Variable = _intern(Variable, dtype, name, name=name)
    return expr


def load(buffer: Buffer, position: Expr) -> Load:
    """Return the element of a buffer at a position."""
    mark = (buffer, position)
    expr: Load = _intern(
        Load, buffer.dtype, mark, buffer=buffer, position=position, operands=(position,)
    )
    return expr


# what the names of users' functions begin with, which stand for themselves in `Apply`
USER = "user_"


def apply(op: str, *arguments: Expr, dtype: DType | None = None) -> Apply:
    """Return an op applied to scalars; its dtype is that of the last argument unless it is said."""
    result = arguments[-1].dtype if dtype is None else dtype
    expr: Apply = _intern(
        Apply, result, (op, arguments), op=op, arguments=arguments, operands=arguments
    )
    return expr


def alike(*operands: Expr | complex) -> tuple[Expr, ...]:
    """Return the operands with Python numbers made literals of the others' dtype."""
    dtype = next(operand.dtype for operand in operands if isinstance(operand, Expr))
    return tuple(
        [operand if isinstance(operand, Expr) else literal(operand, dtype) for operand in operands]
    )


def binary(op: str, left: Expr | complex, right: Expr | complex) -> Expr:
    """Return an op on two operands of one dtype, which is that of the result."""
    return apply(op, *alike(left, right))


def compare(op: str, left: Expr | complex, right: Expr | complex) -> Expr:
    """Return a comparison: bool."""
    return apply(op, *alike(left, right), dtype=bool_)
