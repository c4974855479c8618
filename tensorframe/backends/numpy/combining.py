"""Scatters that combine: values for one position are taken in one after the other, as `ufunc.at` of NumPy does.

Floats are summed and multiplied in float64 and rounded at the end. NumPy is fast along one axis only, so positions are
numbered: each element of a value has the number of the element that it goes to.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import MADE, Function, implementation
from tensorframe.backends.numpy.indexing import numbered
from tensorframe.dtypes import FLOATING, DType, complex128, float64
from tensorframe.graph.op import Kind, Op
from tensorframe.machine import HOST

Array = Any
Axes = tuple[int, ...]

# Elements that are numbered at once: their numbers and wide values stay in the second level of cache.
_PIECE = HOST.second // 8
# Elements of a value from which a call of NumPy for each value takes less time than numbers for its elements.
_LONG = 512


def _wide(dtype: DType) -> DType:
    """Return the dtype that sums and products of `dtype` accumulate in."""
    if dtype not in FLOATING:
        return dtype
    return np.result_type(dtype, complex128 if dtype.kind == "c" else float64)


def _combining(op: Op) -> Function:
    """Return the function of a scatter whose row says how values are combined with elements."""
    how = op.combination
    assert how is not None
    ufunc = implementation[how.join]
    assert isinstance(ufunc, np.ufunc)

    def run(x: Array, values: Array, *arguments: Any, out: Array | None = None) -> Array:
        """Combine in a copy of `x`, or in `out`, which holds the elements of `x` already."""
        *indices, axes, at = arguments
        numbers = numbered(indices, [x.shape[axis] for axis in axes], axes)
        result = np.array(x) if out is None else out
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        lines = result.transpose([*axes, *kept])
        rows, width = (
            prod(lines.shape[part]) for part in (slice(len(axes)), slice(len(axes), None))
        )
        wide = _wide(x.dtype) if how.wide else x.dtype
        # a view of the result, if it may be: else it is written back
        total = np.ascontiguousarray(lines, wide).reshape(rows, width)
        own = range(numbers.ndim)
        given = np.moveaxis(values, [at + axis for axis in own], own)
        _accumulate(ufunc, total, numbers.reshape(-1), given.reshape(numbers.size, width))
        if not np.may_share_memory(total, result):
            lines[...] = total.reshape(lines.shape)
        return result

    return run


def _accumulate(ufunc: np.ufunc, total: Array, numbers: Array, values: Array) -> None:
    """Combine rows of `values` with the rows of `total` that `numbers` name, in order."""
    width = total.shape[1]
    if width >= _LONG:
        for number, row in zip(numbers.tolist(), values, strict=True):
            ufunc(total[number], row, out=total[number])
        return
    elements, columns = total.reshape(-1), np.arange(width)
    step = max(_PIECE // max(width, 1), 1)
    for start in range(0, len(numbers), step):
        places = numbers[start : start + step, None] * width + columns
        piece = np.ascontiguousarray(values[start : start + step], total.dtype)
        ufunc.at(elements, places.reshape(-1), piece.reshape(-1))


MADE[Kind.SCATTER] = _combining
