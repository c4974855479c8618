"""Scatters that combine: values for one position are taken in one after the other, as `ufunc.at` of NumPy does.

Floats are summed and multiplied in float64 and rounded at the end. NumPy is fast along one axis only, so positions are
numbered: each element of a value has the number of the element that it goes to.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import MADE, Function, implementation
from tensorframe.backends.numpy.indexing import numbered
from tensorframe.dtypes import FLOAT, FLOATING, DType, complex128, float64
from tensorframe.graph.op import Kind, Op
from tensorframe.machine import HOST

Array = Any
Axes = tuple[int, ...]

# Elements that are numbered at once: their numbers and wide values stay in the second level of cache.
_PIECE = HOST.second // 8
# Elements of a value from which a call of NumPy for each value takes less time than numbers for its elements.
_LONG = 512
# How many rows there are at least for each value where only those that values go to are made wide.
_FEW = 4


@cache
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
        *indices, axes, position = arguments
        numbers = numbered(indices, [x.shape[axis] for axis in axes], axes)
        result = np.array(x) if out is None else out
        count = len(axes)
        lines = result
        if axes[-1] != count - 1:
            lines = result.transpose([*axes, *[axis for axis in range(x.ndim) if axis not in axes]])
        # a view of the result, if it may be: else it is written back
        rows, width = prod(lines.shape[:count]), prod(lines.shape[count:])
        table = np.ascontiguousarray(lines).reshape(rows, width)
        own = range(numbers.ndim)
        given = (
            np.moveaxis(values, [position + index for index in own], own) if position else values
        )
        wide = _wide(x.dtype) if how.wide else x.dtype
        _combine(ufunc, table, numbers.reshape(-1), given, wide)
        if not np.may_share_memory(table, result):
            lines[...] = table.reshape(lines.shape)
        return result

    return run


def _combine(ufunc: np.ufunc, table: Array, numbers: Array, values: Array, wide: DType) -> None:
    """Combine values with the rows of `table` that `numbers` name, in order and in a wide dtype."""
    if ufunc is np.add and table.dtype not in FLOATING and values.size and not any(values.strides):
        counts = np.bincount(numbers, minlength=len(table)).astype(table.dtype)
        table += counts[:, None] * values.flat[0]
        return
    rows = values.reshape(len(numbers), table.shape[1])
    if table.dtype in FLOAT and ufunc in (np.maximum, np.minimum):
        _extreme(ufunc, table, numbers, rows)
    elif wide == table.dtype:
        _accumulate(ufunc, table, numbers, rows)
    elif table.size > _PIECE and _FEW * len(numbers) < len(
        table
    ):  # the others stay as they are, in their own dtype
        touched, numbers = np.unique(numbers, return_inverse=True)
        total = table[touched].astype(wide)
        _accumulate(ufunc, total, numbers, rows)
        table[touched] = total
    else:
        total = table.astype(wide)
        _accumulate(ufunc, total, numbers, rows)
        table[...] = total


def _extreme(ufunc: np.ufunc, table: Array, numbers: Array, values: Array) -> None:
    """Take in extremes of floats; of zeros, of which NumPy says one or the other, the positive one is larger."""
    largest = ufunc is np.maximum

    def is_chosen(x: Array) -> Array:
        return (x == 0) & (np.signbit(x) != largest)

    chosen = is_chosen(table)
    _accumulate(ufunc, table, numbers, values)
    zero = table == 0
    if zero.any():
        _accumulate(np.logical_or, chosen, numbers, is_chosen(values))
        table[zero] = np.where(chosen[zero] == largest, 0.0, -0.0).astype(table.dtype)


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
        places = numbers[start : start + step]
        if width != 1:
            places = (places[:, None] * width + columns).reshape(-1)
        piece = np.ascontiguousarray(values[start : start + step], total.dtype)
        ufunc.at(elements, places, piece.reshape(-1))


MADE[Kind.SCATTER] = _combining
