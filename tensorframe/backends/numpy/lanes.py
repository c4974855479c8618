"""Sums and products of floats in the order of compiled kernels, for small arrays: the same bits, by a few NumPy calls.

`kernel/ir/order.py` says what the order is. Whole blocks are added by one call, since NumPy adds rows of a C-ordered
array one after the other. Most of the time of a small sum goes into calls: there are as few as the length allows, and
what is left of a vector is joined number by number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, DType, float32, float64, wide_of
from tensorframe.kernel.ir.order import GROUP, LANES, PIECE, TAIL, inner_length

Array = Any  # arrays, and NumPy scalars where all axes are reduced
Join = Callable[[Any, Any], Any]

_SINGLE, _DOUBLE = np.dtype(float32), np.dtype(float64)
_HELD = frozenset([_SINGLE, _DOUBLE])


def lane_sum(x: Array, axes: Sequence[int]) -> Array:
    """Return the sum of floats or complex numbers along axes, which the result does not have, as kernels add."""
    dtype = x.dtype
    if dtype in _HELD:
        return _reduced(np.add, x, axes, 0.0, dtype)
    if dtype in COMPLEX:
        sums = np.empty([size for axis, size in enumerate(x.shape) if axis not in axes], dtype)
        sums.real, sums.imag = lane_sum(x.real, axes), lane_sum(x.imag, axes)
        return sums
    return _reduced(np.add, x, axes, 0.0, _SINGLE if wide_of(dtype) == float32 else _DOUBLE)


def lane_prod(x: Array, axes: Sequence[int]) -> Array:
    """Return the product of floats along axes, which the result does not have, as kernels multiply."""
    return _reduced(np.multiply, x, axes, 1.0, _DOUBLE)


def _reduced(join: np.ufunc, x: Array, axes: Sequence[int], first: float, held: DType) -> Array:
    """Return the elements along axes joined, from `first` on: in pieces in the dtype `held`, pieces in float64."""
    rows = _first_axis(x, axes)
    if rows is None or not 1 < len(rows) <= PIECE:
        return _in_pieces(join, x, axes, first, held)
    joined = _piece(join, np.asarray(rows, held, order="C"))
    if first == 0.0:  # where it is one, it changes nothing
        joined = joined + first
    return joined if x.dtype == held else joined.astype(x.dtype)


def _first_axis(x: Array, axes: Sequence[int]) -> Array | None:
    """Return an array with the reduced axes as its first one; None if they are several that may lie apart."""
    if len(axes) == x.ndim:
        return x if x.ndim == 1 else x.reshape(-1) if x.size <= GROUP else None
    if len(axes) != 1:
        return None
    (axis,) = axes
    if x.ndim == 2:
        return x.T if axis else x
    return x.transpose(axis, *[other for other in range(x.ndim) if other != axis])


def _in_pieces(join: np.ufunc, x: Array, axes: Sequence[int], first: float, held: DType) -> Array:
    """Return the elements along any axes joined, however many there are."""
    shape = x.shape
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    result = [shape[axis] for axis in kept]
    lengths = [shape[axis] for axis in axes if shape[axis] != 1]
    if not lengths:
        return x.reshape(result)
    if 0 in lengths:
        return np.full(result, first, x.dtype)
    inner = inner_length(lengths)
    rows = x.transpose(*axes, *kept).astype(held, "C")
    rows = rows.reshape(prod(lengths) // inner, inner, *result)
    total: Array = np.full(result, first)
    start = held.type(first)
    for row in rows:
        for begin in range(0, inner, PIECE):
            total = join(
                total, join(start, _piece(join, row[begin : begin + PIECE])), dtype=float64
            )
    return np.asarray(total, x.dtype)


def _piece(join: np.ufunc, x: Array) -> Array:
    """Return the elements along the first axis of a C-ordered array, of one piece, joined in the order of lanes."""
    count = len(x)
    if count < LANES:
        lanes, done = x[:TAIL], TAIL
    else:
        done = count // LANES * LANES
        lanes = x[:done]
        if done > LANES:
            lanes = join.reduce(lanes.reshape(-1, LANES, *x.shape[1:]), axis=0)
        while len(lanes) > TAIL:
            lanes = _halved(join, lanes)
    while done + TAIL <= count:
        lanes = join(lanes, x[done : done + TAIL])
        done += TAIL
    if done < count:
        lanes, some = lanes.copy(), x[done:]
        join(lanes[: len(some)], some, out=lanes[: len(some)])
    return _joined(join, lanes)


def _joined(join: np.ufunc, lanes: Array) -> Array:
    """Return the last lanes joined, of which the first ones alone may have elements."""
    if len(lanes) == TAIL and lanes.ndim > 1:
        lanes = _halved(join, _halved(join, lanes))
        return join(lanes[0], lanes[1])
    # Python's own floats are added in a quarter of the time
    if lanes.ndim == 1 and lanes.dtype == _DOUBLE:
        return _DOUBLE.type(_one_by_one(_OPERATORS[join], lanes.tolist()))
    return _one_by_one(_OPERATORS[join], list(lanes))


def _one_by_one(join: Join, lanes: list[Any]) -> Any:
    """Return `TAIL` values at most joined by halves; a lane without elements changes nothing."""
    if len(lanes) == TAIL:
        a, b, c, d, e, f, g, h = lanes
        return join(join(join(a, e), join(c, g)), join(join(b, f), join(d, h)))
    middle = TAIL
    while len(lanes) > 1:
        middle //= 2
        for place, value in enumerate(lanes[middle:]):
            lanes[place] = join(lanes[place], value)
        del lanes[middle:]
    return lanes[0]


def _halved(join: np.ufunc, lanes: Array) -> Array:
    middle = len(lanes) // 2
    return join(lanes[:middle], lanes[middle:])


_OPERATORS: dict[np.ufunc, Join] = {np.add: operator.add, np.multiply: operator.mul}
