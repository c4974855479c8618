"""Differences: how far one result is from another, and where they differ most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, FORMAT, real_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Difference:
    """How far results are from those of the reference, at worst."""

    ulp: float = 0.0
    """The most representable numbers between two elements; infinite where one is NaN and the other is not."""
    relative: float = 0.0
    """The largest difference relative to the larger of two elements, over all of them."""
    result: str = ""
    """Which result has the largest `ulp`, as a program writes it: `[0]`; empty if there is only one."""
    index: tuple[int, ...] | None = None
    """Where in it, None if nothing differs."""
    value: Any = None
    expected: Any = None
    agrees: bool = True
    """Whether no element is further off than rounding explains."""


def ulp_distance(left: Array, right: Array) -> Array:
    """Return the number of representable numbers between elements; see `tensorframe.testing.compare.ulp_distance`."""
    if left.dtype in COMPLEX:
        parts = [_steps(part(left), part(right)) for part in (np.real, np.imag)]
        return np.maximum(*parts)
    if left.dtype in FLOAT:
        return _steps(left, right)
    return _apart(left.astype(np.uint64), right.astype(np.uint64), left > right)


def _steps(left: Array, right: Array) -> Array:
    first, second = _rank(left), _rank(right)
    distance = _apart(first, second, first > second)
    nans = np.isnan(left), np.isnan(right)
    distance = np.where(nans[0] != nans[1], np.inf, distance)
    return np.where(nans[0] & nans[1], 0.0, distance)


def _apart(first: Array, second: Array, descending: Array) -> Array:
    """Return the distance of unsigned integers, which wrap around if the larger is subtracted."""
    with np.errstate(over="ignore"):
        return np.where(descending, first - second, second - first).astype(np.float64)


def _rank(array: Array) -> Array:
    """Return the place of each number in the order of all; zero has the place 2**63."""
    bits = np.ascontiguousarray(array).view(f"i{array.dtype.itemsize}").reshape(array.shape)
    magnitude = (bits & np.iinfo(bits.dtype).max).astype(np.uint64)
    zero = np.uint64(1 << 63)
    return np.where(bits < 0, zero - magnitude, zero + magnitude)


def difference(
    results: Sequence[Array], expected: Sequence[Array], labels: Sequence[str]
) -> Difference:
    """Return how far results are off; ValueError, with the reason, if they cannot be compared."""
    if len(results) != len(expected):
        raise ValueError(f"{len(results)} results instead of {len(expected)}")
    worst = Difference()
    for left, right, label in zip(results, expected, labels, strict=True):
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            kinds = [f"{array.dtype}{list(array.shape)}" for array in (left, right)]
            raise ValueError(f"{label or 'the result'} is {kinds[0]} instead of {kinds[1]}")
        if left.size:
            worst = _worse(worst, _of_one(left, right, label))
    return worst


def _worse(first: Difference, second: Difference) -> Difference:
    most = second if second.ulp > first.ulp else first
    relative = max(first.relative, second.relative)
    agrees = first.agrees and second.agrees
    return Difference(
        most.ulp, relative, most.result, most.index, most.value, most.expected, agrees
    )


def _of_one(array: Array, expected: Array, label: str) -> Difference:
    distance = ulp_distance(array, expected)
    ulp = float(distance.max())
    if not ulp:
        return Difference()
    position = tuple(map(int, np.unravel_index(int(np.argmax(distance)), distance.shape)))
    return Difference(
        ulp,
        _relative(array, expected),
        label,
        position,
        array[position],
        expected[position],
        agrees=_within_rounding(array, expected),
    )


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype in COMPLEX else np.float64)


def _relative(array: Array, expected: Array) -> float:
    with np.errstate(all="ignore"):
        left, right = _wide(array), _wide(expected)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        apart = np.abs(left - right) / np.maximum(np.abs(left), np.abs(right))
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))))


def _within_rounding(array: Array, expected: Array) -> bool:
    """Whether floats differ by less than half of their digits, counted from the result's largest element.

    Rounding grows where large numbers cancel; a result that is wrong is hardly ever as near.
    """
    if array.dtype not in FLOATING:
        return False
    left, right = _wide(array), _wide(expected)
    with np.errstate(all="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        finite = np.isfinite(left) & np.isfinite(right)
        largest = np.max(np.abs(right), where=np.isfinite(right), initial=0.0)
        allowed = math.sqrt(_unit(array)) * largest
        return bool(np.all(same | (finite & (np.abs(left - right) <= allowed))))


def _unit(array: Array) -> float:
    """Return the relative distance of neighbours in the array's dtype."""
    return FORMAT[real_of(array.dtype)].epsilon


def error_in_ulp(array: Array, exact: Array) -> float:
    """Return the largest distance from results in a wider dtype, in units in the last place of `found`'s dtype."""
    if array.dtype in COMPLEX:
        return max(error_in_ulp(part(array), part(exact)) for part in (np.real, np.imag))
    if not array.size:
        return 0.0
    with np.errstate(all="ignore"):
        rounded = exact.astype(array.dtype)
        unit = np.abs(np.spacing(rounded)).astype(exact.dtype)
        off = np.abs(array.astype(exact.dtype) - exact) / unit
        same = (array == rounded) | (np.isnan(array) & np.isnan(rounded))
    infinite = ~np.isfinite(off)
    return float(np.max(np.where(infinite, np.where(same, 0.0, np.inf), off)))
