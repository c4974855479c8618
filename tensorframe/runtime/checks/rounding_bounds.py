"""Rounding bounds: how far from NumPy's results other ones of the same ops may be, element by element.

Every value is followed by a bound of its absolute error. An op hands on the errors of its operands, as much as its
result changes when these do, and adds its own rounding. What is not floating is exact, or it is made of numbers that
are not: then it may be any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.numpy.functions import implementation
from tensorframe.dtypes import COMPLEX, FLOATING, FORMAT, INTEGER, LIMITS, float64, real_of, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import RegionOp
from tensorframe.kernel.ir.machine_ops import MACHINE_OPS
from tensorframe.ops.elementwise import ADD, CAST, MAXIMUM, MINIMUM, MULTIPLY
from tensorframe.ops.indexing import SCATTER_ADD, SCATTER_PROD
from tensorframe.ops.movement import PAD
from tensorframe.quick_tuples import NamedTuple

Array = np.ndarray[Any, Any]

# units in the last place that an elementary function may be off, here and there together
_UNITS = 8.0
# units of float32 that sums may be off, relative to their elements' magnitude: kernels add short pieces in float32
_UNITS_OF_PIECES = 32.0


class Bounded(NamedTuple):
    """Values, and bounds of their errors in float64: infinite where the value may be any."""

    value: Array
    error: Array

    @property
    def exact(self) -> bool:
        """Whether no element may be off."""
        return not self.error.any()


def exactly(value: Any) -> Bounded:
    """Return values that are what they are."""
    array = np.asarray(value)
    return Bounded(array, np.zeros(array.shape))


def bounded(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    """Return the result of an op by NumPy, and how far off it may be elsewhere."""
    if op.op.kind is Kind.SOURCE:
        return exactly(generate(op))
    return _RULES.get(op.op.kind, _otherwise)(op, operands)


def near(array: Array, expected: Bounded) -> bool:
    """Whether every element is within its bound; NaN is near NaN, and what overflows near what hardly does not."""
    same = (array == expected.value) | (np.isnan(array) & np.isnan(expected.value))
    distance = _distance(_finite(array), _finite(expected.value))
    return bool(np.all(same | ((expected.error > 0) & ~(distance > expected.error))))


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype in COMPLEX else np.float64)


def _finite(array: Array) -> Array:
    """Return numbers in float64, infinities as the largest of their dtype."""
    if array.dtype not in FLOATING:
        return array.astype(np.float64)
    if array.dtype in COMPLEX:
        return _finite(array.real) + 1j * _finite(array.imag)
    most = FORMAT[array.dtype].largest
    return np.clip(array.astype(np.float64), -most, most)


def _distance(left: Array, right: Array) -> Array:
    """Return |left - right|; infinite where only one of them is NaN."""
    distance = np.abs(_wide(left) - _wide(right))
    unlike = np.isnan(left) != np.isnan(right)
    return np.asarray(np.where(unlike, np.inf, np.where(np.isnan(distance), 0.0, distance)))


def _rounding(array: Array, units: float = _UNITS) -> Array:
    """Return the error of computing `array`, which is that of its magnitude."""
    if array.dtype not in FLOATING:
        return np.zeros(array.shape)
    how = FORMAT[real_of(array.dtype)]
    magnitude = np.abs(_wide(array))
    return units * (
        how.epsilon * np.where(np.isfinite(magnitude), magnitude, how.largest) + how.step
    )


def _settled(value: Array, error: Array) -> Bounded:
    """Return values with their errors: whole numbers and truth values are exact or any."""
    value = np.asarray(value)
    error = np.broadcast_to(np.where(np.isnan(error), np.inf, error), value.shape)
    if value.dtype not in FLOATING:
        error = np.where(error > 0, np.inf, 0.0)
    return Bounded(value, np.asarray(error))


# --- elementwise


def _map(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    function = implementation[op.op]
    values = [operand.value for operand in operands]
    value = np.asarray(function(*values, *op.attrs))
    error = np.zeros(value.shape) if _is_exact(op, operands) else _rounding(value)
    for index, operand in enumerate(operands):
        if not operand.exact:
            error = error + _handed_on(lambda x: function(*x, *op.attrs), values, index, operand)
    if op.op is CAST and op.dtype in INTEGER:
        low, high = LIMITS[op.dtype]
        outside = ~((values[0] >= low) & (values[0] <= high))
        error = np.where(outside & (values[0].dtype in FLOATING), np.inf, error)
    return _settled(value, error)


def _is_exact(op: RegionOp, operands: Sequence[Bounded]) -> bool:
    """Whether every engine rounds an op correctly: machine ops are, but for products of complex numbers."""
    dtype = operands[-1].value.dtype
    accepted = MACHINE_OPS.get(op.op.name, frozenset())
    return dtype in accepted or wide_of(dtype) in accepted


def _handed_on(
    function: Callable[[Sequence[Array]], Array],
    values: Sequence[Array],
    index: int,
    operand: Bounded,
) -> Array:
    """Return how much a result changes when an operand does so by its error."""
    value = _wide(np.asarray(function(values)))
    changes = []
    for moved in _moved(operand):
        others = [*values[:index], moved, *values[index + 1 :]]
        changes.append(_distance(np.asarray(function(others)), value))
    unknown = np.where(np.isinf(operand.error), np.inf, 0.0)
    unknowns = np.broadcast_to(unknown, value.shape)
    for change in changes:
        unknowns = np.maximum(unknowns, change)
    return np.asarray(unknowns)


def _moved(operand: Bounded) -> list[Array]:
    """Return the values moved by their errors to either side."""
    dtype = operand.value.dtype
    if dtype not in FLOATING:
        return []
    error = np.where(np.isfinite(operand.error), operand.error, 0.0)
    steps = [error, -error, 1j * error, -1j * error] if dtype in COMPLEX else [error, -error]
    return [(_wide(operand.value) + step).astype(dtype) for step in steps]


# --- reductions and scans: accumulated in float64, sums in pieces of float32, then rounded


def _combine(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    (operand,) = operands
    value, function = operand.value, implementation[op.op]
    how = op.op.combination
    known = how is not None and how.take is None and how.finish is None and how.join in _SIZES
    if value.dtype not in FLOATING or how is None or not known:
        return _otherwise(op, operands)
    wide = _wide(value)
    exact = function(wide, *op.attrs)
    with_errors = np.abs(wide) + operand.error
    error = _SIZES[how.join](function, wide, with_errors, op.attrs)
    if how.join is ADD and op.op.kind is Kind.REDUCE and real_of(value.dtype) != float64:
        error = error + _UNITS_OF_PIECES * 2.0**-23 * function(np.abs(wide), *op.attrs)
    rounded = exact.astype(value.dtype)
    return _settled(rounded, error + _rounding(rounded, 1.0))


def _of_sum(function: Any, wide: Array, with_errors: Array, attrs: Any) -> Array:
    size = np.abs(wide)
    handed_on, total = function(with_errors - size, *attrs), function(size, *attrs)
    return np.asarray(handed_on + _of_accumulation(wide, total))


def _of_product(function: Any, wide: Array, with_errors: Array, attrs: Any) -> Array:
    size = np.abs(wide)
    whole = function(size, *attrs)
    spread = function(with_errors, *attrs) - whole + _of_accumulation(wide, whole)
    # products in another order may overflow, or underflow, on the way
    far = function(np.maximum(size, 1.0), *attrs), function(np.minimum(size, 1.0), *attrs)
    return np.asarray(np.where(np.isfinite(far[0]) & (far[1] > 0), spread, np.inf))


def _of_extreme(function: Any, wide: Array, with_errors: Array, attrs: Any) -> Array:
    errors = with_errors - np.abs(wide)
    whole = function(wide, *attrs)
    up, down = [np.abs(function(moved, *attrs) - whole) for moved in (wide + errors, wide - errors)]
    return np.asarray(np.maximum(up, down))


def _of_accumulation(wide: Array, total: Array) -> Array:
    """Return the error of adding, or multiplying, all elements one after the other in float64."""
    return np.asarray(total) * (2.0 * wide.size * 2.0**-52)


# by the row that joins elements
_SIZES: dict[Op, Callable[..., Array]] = {
    ADD: _of_sum,
    MULTIPLY: _of_product,
    MAXIMUM: _of_extreme,
    MINIMUM: _of_extreme,
}


# --- products of matrices


def _contract(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    function = implementation[op.op]
    value = np.asarray(function(*[operand.value for operand in operands], *op.attrs))
    if value.dtype not in FLOATING or len(operands) != 2:
        return _otherwise(op, operands)
    sizes = [np.abs(_wide(operand.value)) for operand in operands]
    moved = [size + operand.error for size, operand in zip(sizes, operands, strict=True)]
    total = function(*sizes, *op.attrs)
    terms = prod([size.size for size in sizes]) / max(value.size, 1)
    units = (_UNITS + sqrt(terms)) * FORMAT[real_of(value.dtype)].epsilon
    return _settled(value, function(*moved, *op.attrs) - total + units * total)


# --- other places, and what nothing is known about


def _elsewhere(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    """Elements move, and their errors with them; positions that may be any select any."""
    function = implementation[op.op]
    values = [operand.value for operand in operands]
    value = np.asarray(function(*values, *op.attrs))
    attrs = (*op.attrs[:2], 0.0) if op.op is PAD else op.attrs
    errors = [
        operand.value if _is_position(op, index) else operand.error
        for index, operand in enumerate(operands)
    ]
    if any(_is_position(op, index) and not operand.exact for index, operand in enumerate(operands)):
        return Bounded(value, np.full(value.shape, np.inf))
    return Bounded(value, np.asarray(function(*errors, *attrs)))


def _scatter(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    """Values join elements in float64, one after the other, and are rounded once; extremes are as far off as a sum."""
    if op.op.combination is None:
        return _elsewhere(op, operands)
    value = np.asarray(implementation[op.op](*[operand.value for operand in operands], *op.attrs))
    if (
        value.dtype not in FLOATING
        or op.op is SCATTER_PROD
        or not all(operand.exact for operand in operands[2:])
    ):
        return _otherwise(op, operands)
    add, places = implementation[SCATTER_ADD], [operand.value for operand in operands[2:]]
    handed_on = add(*[number.error for number in operands[:2]], *places, *op.attrs)
    total = add(*[np.abs(_wide(number.value)) for number in operands[:2]], *places, *op.attrs)
    added = _of_accumulation(operands[1].value, total) if op.op is SCATTER_ADD else 0.0
    return _settled(value, handed_on + added + _rounding(value, 1.0))


def _is_position(op: RegionOp, index: int) -> bool:
    first = {Kind.GATHER: 1, Kind.SCATTER: 2}.get(op.op.kind)
    return first is not None and index >= first


def _otherwise(op: RegionOp, operands: Sequence[Bounded]) -> Bounded:
    """Exact results of what is exact, any of what is not."""
    value = np.asarray(implementation[op.op](*[operand.value for operand in operands], *op.attrs))
    exact = all(operand.exact for operand in operands)
    return Bounded(value, np.full(value.shape, 0.0 if exact else np.inf))


_RULES: dict[Kind, Callable[[RegionOp, Sequence[Bounded]], Bounded]] = {
    Kind.MAP: _map,
    Kind.REDUCE: _combine,
    Kind.SCAN: _combine,
    Kind.CONTRACT: _contract,
    Kind.VIEW: _elsewhere,
    Kind.GATHER: _elsewhere,
    Kind.SCATTER: _scatter,
}
