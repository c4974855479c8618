"""The meaning of kernel IR, in NumPy: what every printer is tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.kernel.ir import (
    START,
    STOP,
    Allocate,
    Apply,
    Buffer,
    Expr,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Role,
    Set,
    Statement,
    Store,
)
from tensorframe.kernel.multiply_add import multiply_add

Array = Any  # arrays and NumPy scalars: an expression has a value for each element of its bindings


def evaluate(
    root: Expr,
    values: Mapping[Expr, Array],
    memory: Mapping[Buffer, Array] | None = None,
) -> Array:
    """Return the value of an expression whose arguments, indices and variables have these values.

    They may be arrays: the expression is then evaluated for all elements at once.
    """
    known: dict[Expr, Array] = dict(values)
    with np.errstate(all="ignore"):
        for one in in_order((root,), known):
            known[one] = _value(one, known, memory or {})
    return known[root]


def in_order(roots: Iterable[Expr], known: Mapping[Expr, Any]) -> list[Expr]:
    """Return the expressions that `roots` are made of, operands first, without what is known and its operands."""
    order: dict[Expr, None] = {}
    stack = [(root, False) for root in roots]
    while stack:
        one, entered = stack.pop()
        if one in order or one in known:
            continue
        if entered:
            order[one] = None
        else:
            stack.append((one, True))
            stack.extend((operand, False) for operand in reversed(one.operands))
    return list(order)


def _value(one: Expr, known: Mapping[Expr, Array], memory: Mapping[Buffer, Array]) -> Array:
    if isinstance(one, Literal):
        return np.array(one.value).astype(one.dtype)[()]
    if isinstance(one, Load):
        return memory[one.buffer][_place(one.buffer, known[one.position])]
    if isinstance(one, Apply):
        arguments = [known[operand] for operand in one.arguments]
        if one.op == "cast":
            return _cast(arguments[0], one.dtype)
        if one.op == "bitcast":
            return np.asarray(arguments[0]).view(one.dtype)[()]
        return FUNCTIONS[one.op](*arguments)
    raise KeyError(f"{type(one).__name__} {getattr(one, 'name', '')!r} has no value")


def _place(buffer: Buffer, position: Array) -> Array:
    """Return a position as a signed number; scratch memory, unlike operands, begins with its first element."""
    place = np.asarray(position).astype(np.int64)
    if buffer.role is Role.SCRATCH and np.any(place < 0):
        raise IndexError(f"{buffer.name} has no element {place}")
    return place


def _cast(x: Array, dtype: DType) -> Array:
    return np.asarray(x).astype(dtype)[()]


# the ops that dialects spell
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": np.floor_divide,  # integers: 0 where the divisor is 0
    "remainder": np.remainder,
    "negative": np.negative,
    "abs": np.abs,
    "fma": multiply_add,
    "add_any": np.add,  # sums whose order the dialect may choose
    "multiply_any": np.multiply,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "copysign": np.copysign,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_invert": np.bitwise_not,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "where_rare": lambda condition, x, y: np.asarray(np.where(condition, x, y))[()],
    "where": lambda condition, x, y: np.asarray(np.where(condition, x, y))[()],
}


def run(
    kernel: Kernel,
    start: int,
    stop: int,
    memory: Mapping[Buffer, Array],
    arguments: Mapping[Expr, Any],
) -> None:
    """Run a kernel for a range of its outermost loop, on one-dimensional arrays, in place.

    Everything happens one scalar at a time: this is a definition, not an engine.
    """
    values: dict[Expr, Any] = {START: np.uint64(start), STOP: np.uint64(stop)}
    values.update((one, one.dtype.type(value)) for one, value in arguments.items())
    _run(kernel.body, values, dict(memory))


def _run(body: Iterable[Statement], values: dict[Expr, Any], memory: dict[Buffer, Array]) -> None:
    for one in body:
        if isinstance(one, Let | Set):
            values[one.variable] = evaluate(one.value, values, memory)
        elif isinstance(one, Store):
            position = int(_place(one.buffer, evaluate(one.position, values, memory)))
            memory[one.buffer][position] = evaluate(one.value, values, memory)
        elif isinstance(one, Loop):
            first, last = (int(evaluate(end, values, memory)) for end in (one.start, one.stop))
            for at in range(first, last):
                values[one.index] = np.uint64(at)
                _run(one.body, values, memory)
        elif isinstance(one, If):
            if evaluate(one.condition, values, memory):
                _run(one.body, values, memory)
        elif isinstance(one, Allocate):
            count = int(evaluate(one.count, values, memory))
            memory[one.buffer] = np.zeros(count, one.buffer.dtype)
