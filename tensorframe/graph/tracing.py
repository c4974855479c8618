"""Tracing: what stands for the arguments of a function while it is recorded, before any call gives them values."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from tensorframe.errors import TracingError
from tensorframe.graph.node import Node

NUMBER_KINDS = frozenset({bool, int, float, complex})

Names = Callable[[], Sequence[str]]


class Trace:
    """One recording of a function: its arguments' names, and the arithmetic that its numbers go through.

    `names` is called for messages only. `rebound` holds the handles that assignments moved, with their earlier nodes.
    """

    __slots__ = ("arithmetic", "ended", "first_serial", "function", "names", "rebound")

    def __init__(self, function: str, names: Names, arguments: int, first_serial: int) -> None:
        self.function = function
        self.names = names
        self.first_serial = first_serial
        self.arithmetic = Arithmetic(self, arguments)
        self.rebound: list[tuple[Any, Node]] = []
        self.ended = False

    def origin(self, place: int | None) -> str:
        """Return what a value comes from: an argument, or (None) the state of a random generator."""
        return "a random generator" if place is None else f"the argument {self.names()[place]}"

    def error(self, place: int | None) -> TracingError:
        """Return the error for a value that is needed, and comes from the argument at `place`."""
        origin = self.origin(place)
        if self.ended:
            return TracingError(
                f"{self.function}: a value that depends on {origin} was kept while jit recorded the function: it "
                "belongs to none of the calls",
                suggestions=("return it from the function",),
            )
        return TracingError(
            f"{self.function}: values that depend on {origin} are not known while jit records the function",
            suggestions=(
                "tfr.where(condition, a, b) instead of if and while",
                "static_argnames=... for an argument that decides what is computed",
                "take this part out of the jitted function",
            ),
        )


current: ContextVar[Trace | None] = ContextVar("tensorframe_trace", default=None)


class Argument:
    """Which argument of which recording a placeholder stands for."""

    __slots__ = ("place", "trace")

    def __init__(self, trace: Trace, place: int) -> None:
        self.trace = trace
        self.place = place

    def error(self) -> TracingError:
        """Return the error for elements that are needed."""
        return self.trace.error(self.place)

    def __repr__(self) -> str:
        return self.trace.names()[self.place]


class Donated(Argument):
    """What a tensor stands for whose memory a call was given, until that call has replaced it."""

    __slots__ = ("function",)

    def __init__(self, function: str) -> None:
        self.function = function

    def error(self) -> TracingError:
        """Return the error for elements that are gone."""
        return TracingError(
            f"{self.function}: this tensor's memory was donated to a call that did not finish, so its values are gone",
            suggestions=(
                "load a checkpoint: tfr.load",
                "donate=False, where what is interrupted leaves everything as it was",
            ),
        )

    def __repr__(self) -> str:
        return f"<donated to {self.function}>"


class Arithmetic:
    """What Python does with numbers at every call: the first `given` values are arguments, each of `calls` adds one."""

    __slots__ = ("calls", "given", "trace")

    def __init__(self, trace: Trace, given: int) -> None:
        self.trace = trace
        self.given = given
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...], type | None]] = []

    def call(
        self,
        function: Callable[..., Any],
        *operands: Any,
        kind: type | None = None,
        place: int | None = None,
    ) -> TracedNumber:
        """Return the number that `function` gives at every call, of Python type `kind` (None: whatever it gives)."""
        if self.trace.ended:
            raise self.trace.error(place)
        self.calls.append((function, operands, kind))
        return TracedNumber(self, self.given + len(self.calls) - 1, kind, place)

    def extend(self, values: list[Any]) -> None:
        """Add the numbers of a call to the arguments that it was given."""
        for function, operands, kind in self.calls:
            value = function(
                *[
                    values[operand.position] if type(operand) is TracedNumber else operand
                    for operand in operands
                ]
            )
            if kind is not None and type(value) is not kind:
                raise TracingError(
                    f"{self.trace.function}: a number is {type(value).__name__} in this call, and was "
                    f"{kind.__name__} when jit recorded the function",
                    suggestions=("static_argnames=... for the numbers that it depends on",),
                )
            values.append(value)


def _unary(function: Callable[..., Any]) -> Callable[[TracedNumber], Any]:
    def method(self: TracedNumber) -> Any:
        return _combined(function, self)

    return method


def _binary(function: Callable[..., Any]) -> Callable[[TracedNumber, Any], Any]:
    def method(self: TracedNumber, other: Any) -> Any:
        return _combined(function, self, other)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[[TracedNumber, Any], Any]:
    def method(self: TracedNumber, other: Any) -> Any:
        return _combined(function, other, self)

    return method


def _reads(self: TracedNumber, *_: Any, **__: Any) -> NoReturn:
    raise self.trace.error(self.place)


class TracedNumber:
    """A Python number among the arguments of a function that is recorded, or computed from such numbers.

    Arithmetic with numbers is Python's own, done again at every call; beside tensors it is weak as every number.
    `kind` is its Python type. Reading its value raises TracingError.
    """

    __slots__ = ("arithmetic", "kind", "place", "position")

    def __init__(
        self, arithmetic: Arithmetic, position: int, kind: type | None, place: int | None
    ) -> None:
        self.arithmetic = arithmetic
        self.position = position
        self.kind = kind
        self.place = place

    @property
    def trace(self) -> Trace:
        """The recording that it belongs to."""
        return self.arithmetic.trace

    def then(self, function: Callable[[Any], Any], kind: type | None = None) -> TracedNumber:
        """Return what `function` makes of the number at every call."""
        return self.arithmetic.call(function, self, kind=kind, place=self.place)

    def __repr__(self) -> str:
        trace = self.trace
        kind = self.kind.__name__ if self.kind else "number"
        return f"<{kind} that depends on {trace.origin(self.place)} of {trace.function}>"

    def __format__(self, _specification: str) -> str:
        return repr(self)

    # a dictionary finds it by identity only, since == gives another number that nobody knows yet
    __hash__ = object.__hash__

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _reads
    __array__ = __array_ufunc__ = _reads  # NumPy would make an array of objects

    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow), _reflected(operator.pow)
    __and__, __rand__ = _binary(operator.and_), _reflected(operator.and_)
    __or__, __ror__ = _binary(operator.or_), _reflected(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor), _reflected(operator.xor)
    __lshift__, __rlshift__ = _binary(operator.lshift), _reflected(operator.lshift)
    __rshift__, __rrshift__ = _binary(operator.rshift), _reflected(operator.rshift)
    __lt__, __le__ = _binary(operator.lt), _binary(operator.le)
    __gt__, __ge__ = _binary(operator.gt), _binary(operator.ge)
    __eq__, __ne__ = _binary(operator.eq), _binary(operator.ne)
    __neg__, __pos__ = _unary(operator.neg), _unary(operator.pos)
    __abs__, __invert__ = _unary(operator.abs), _unary(operator.invert)
    __floor__, __ceil__, __trunc__ = _unary(math.floor), _unary(math.ceil), _unary(math.trunc)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Any:
        return _combined(round, self) if digits is None else _combined(round, self, digits)


def _combined(function: Callable[..., Any], *operands: Any) -> Any:
    number: TracedNumber = next(operand for operand in operands if type(operand) is TracedNumber)
    for operand in operands:
        if isinstance(operand, np.ndarray | np.generic):
            _reads(number)
        if type(operand) is not TracedNumber and type(operand) not in NUMBER_KINDS:
            return NotImplemented
    kind = type(function(*map(example, operands)))
    return number.arithmetic.call(function, *operands, kind=kind, place=number.place)


def example(number: Any) -> Any:
    """Return a known number of the same Python type: for rules that need the type alone."""
    if type(number) is not TracedNumber:
        return number
    if number.kind is None:  # no number that a user gets: a pass needs its value
        _reads(number)
    return number.kind(1)
