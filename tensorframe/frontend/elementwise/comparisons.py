"""Comparisons: of signed integers with uint64, with integers beyond a dtype, and with what equals no number."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from tensorframe.dtypes import SIGNED, bool_, uint64
from tensorframe.errors import DTypeError, OutOfRangeError
from tensorframe.frontend.conversion.convert import holds_elements
from tensorframe.frontend.dispatch import apply, binary
from tensorframe.frontend.operand_nodes import SEQUENCES, as_node
from tensorframe.frontend.operands import converted
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.op import Op
from tensorframe.graph.record import source
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.creation import FULL
from tensorframe.ops.elementwise import LESS, WHERE

ORDER = frozenset({"lt", "le", "gt", "ge"})
EQUALITIES = frozenset({"eq", "ne"})

# kinds of NumPy's dtypes whose elements equal no number: text, bytes, dates and durations
_NO_NUMBERS = frozenset("SUMmT")


def compare(op: Op, x1: Any, x2: Any) -> Tensor:
    """Record a comparison of operands; a Python integer that the other's dtype cannot hold is beyond all elements."""
    if _mixes_signs(x1, x2):
        return _compare_signs(op, Tensor(as_node(x1)), Tensor(as_node(x2)))
    try:
        return binary(op, x1, x2)
    except OutOfRangeError:
        sides = [_side(side) for side in (x1, x2)]
        if not any(sides):
            raise
        other = Tensor(as_node(x2 if sides[0] else x1))
        return _everywhere(getattr(operator, str(op.operator))(*sides), other.shape, other.device)


def _mixes_signs(x1: Any, x2: Any) -> bool:
    """Whether one operand is uint64 and the other of signed integers: what both promote to is not exact."""
    kinds = {getattr(x1, "dtype", None), getattr(x2, "dtype", None)}
    return uint64 in kinds and not SIGNED.isdisjoint(kinds)


def _compare_signs(op: Op, x1: Tensor, x2: Tensor) -> Tensor:
    """Record a comparison of signed integers with uint64: what is negative is below, the rest compares as uint64."""
    is_first = x1.dtype in SIGNED
    signed = x1 if is_first else x2
    answer = getattr(operator, str(op.operator))(*((-1, 0) if is_first else (0, -1)))
    rest = binary(op, converted(x1, uint64), converted(x2, uint64))
    return apply(WHERE, apply(LESS, signed, 0), answer, rest)


def _side(value: Any) -> int:
    """Return on which side of an integer dtype's range a Python integer lies that is outside of it; 0 for others."""
    return (value > 0) - (value < 0) if isinstance(value, int) else 0


def compare_object(op: Op, tensor: Tensor, other: Any) -> Any:
    """Return whether `other`, which is no operand, equals the elements: as it says itself, else none of them does.

    Fractions and decimals are compared as floats, what holds elements as a tensor.
    """
    if isinstance(other, Number):
        return compare(op, tensor, _as_float(other))
    answer = getattr(type(other), f"__{op.operator}__")(other, tensor)
    if answer is not NotImplemented:
        return answer
    if holds_elements(other):
        return compare(op, tensor, other)
    return _everywhere(op.operator == "ne", tensor.shape, tensor.device)


def _as_float(number: Any) -> float:
    """Return the float that equals a number, or NaN, which equals nothing either."""
    try:
        real = float(number)
    except (OverflowError, TypeError, ValueError):
        return math.nan
    return real if real == number else math.nan


def compare_elements(op: Op, x1: Any, x2: Any) -> Tensor:
    """Record whether elements are equal, those of one operand being numbers or none: text equals no number."""
    try:
        return compare(op, x1, x2)
    except DTypeError:
        tensor, other = (x1, x2) if isinstance(x1, Tensor) else (x2, x1)
        elements = _without_numbers(other)
        if elements is None or not isinstance(tensor, Tensor):
            raise
        shape = broadcast(op.name, tensor.shape, elements.shape)
        return _everywhere(op.operator == "ne", shape, tensor.device)


def _without_numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """Return the elements of a sequence or array if none of them is a number, else None."""
    if not isinstance(value, (*SEQUENCES, np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype.kind == "O":
        mixed = any(isinstance(element, Number | Tensor) for element in array.flat)
        return None if mixed else array
    return array if array.dtype.kind in _NO_NUMBERS else None


def _everywhere(answer: bool, shape: Shape, device: Device) -> Tensor:
    return Tensor(source(FULL, shape, bool_, device, answer))


# what records a comparison of operands, by the name of its operator
RECORDERS: dict[str, Callable[[Op, Any, Any], Tensor]] = {
    **dict.fromkeys(ORDER, compare),
    **dict.fromkeys(EQUALITIES, compare_elements),
}
