"""Sums and products of floats in the order of compiled kernels, for small arrays: the same bits, by a few NumPy calls.

`kernel/ir/order.py` says what the order is. Whole blocks are added by one call, since NumPy adds rows of a C-ordered
array one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, float32, float64, wide_of
from tensorframe.kernel.ir.order import LANES, PIECE, TAIL, inner_length

Array = np.ndarray[Any, Any]


def lane_sum(x: Array, axes: Sequence[int]) -> Array:
    """Return the sum of floats or complex numbers along axes, which the result does not have, as kernels add."""
    if x.dtype in COMPLEX:
        sums = np.empty([size for axis, size in enumerate(x.shape) if axis not in axes], x.dtype)
        sums.real, sums.imag = lane_sum(x.real, axes), lane_sum(x.imag, axes)
        return sums
    narrow = wide_of(x.dtype) == float32
    return _reduced(np.add, x, axes, 0.0, np.dtype(float32 if narrow else float64))


def lane_prod(x: Array, axes: Sequence[int]) -> Array:
    """Return the product of floats along axes, which the result does not have, as kernels multiply."""
    return _reduced(np.multiply, x, axes, 1.0, np.dtype(float64))


def _reduced(join: np.ufunc, x: Array, axes: Sequence[int], first: float, held: Any) -> Array:
    """Return the elements along axes joined, from `first` on: in pieces in the dtype `held`, pieces in float64."""
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
        for at in range(0, inner, PIECE):
            total = join(total, join(start, _piece(join, row[at : at + PIECE])), dtype=float64)
    return np.asarray(total, x.dtype)


def _piece(join: np.ufunc, x: Array) -> Array:
    """Return the elements along the first axis, of one piece, joined in the order of lanes."""
    whole = len(x) // LANES * LANES
    if whole:
        lanes = join.reduce(x[:whole].reshape(-1, LANES, *x.shape[1:]), axis=0)
        lanes = _halved(join, lanes, TAIL)
    else:
        # a lane without elements changes nothing that it is joined to
        lanes = np.full((TAIL, *x.shape[1:]), -0.0 if join is np.add else 1.0, x.dtype)
    for start in range(whole, len(x), TAIL):
        some = x[start : start + TAIL]
        join(lanes[: len(some)], some, out=lanes[: len(some)])
    joined_lanes: Array = _halved(join, lanes, 1)[0]
    return joined_lanes


def _halved(join: np.ufunc, lanes: Array, wanted: int) -> Array:
    while len(lanes) > wanted:
        middle = len(lanes) // 2
        lanes = join(lanes[:middle], lanes[middle:])
    return lanes
