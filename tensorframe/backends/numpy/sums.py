"""Sums and products of floats in NumPy, whose order is a function of the reduced lengths alone.

NumPy adds pairwise where it goes along the reduced axis, and one after the other where it goes across it, so a column
alone would have another sum than among others. Here it is pairwise everywhere, in C order of the reduced axes: by NumPy
itself where memory allows, else in steps of whole rows that add the same pairs. Everything else is joined one after the
other, as NumPy does it in either direction; complex products along lines only, where nothing is rounded once for two.

Source: N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14 (1993); the blocks of 128
elements in 8 lanes, and where longer lines are cut, are those of `pairwise_sum` in NumPy's loops.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.machine import HOST

Array = Any

_LANES, _BLOCK = 8, 128  # of NumPy's pairwise sum
# Kept elements next to each other from which rows are added as a whole; fewer are copied, and then lie along lines.
_ENOUGH_LANES = 32
# Elements from which the calls that add up its rows take less time than copying it.
_ENOUGH_ROWS = 1 << 12
# Elements of a copy, and of a row that stays in the cache while others are added to it.
_COPIED, _ROW = 1 << 17, HOST.first // 4


def joined(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum or the product over axes, which are left out of its shape, in memory of its own."""
    if not x.size or (ufunc is not np.add and x.dtype.kind != "c"):
        return _in_turn(ufunc, x, axes)
    if x.flags.c_contiguous and axes == tuple(range(x.ndim - len(axes), x.ndim)):
        kept = x.shape[: x.ndim - len(axes)]
        return ufunc.reduce(x.reshape((*kept, x.size // prod(kept))), axis=-1)
    # rows of complex numbers are multiplied with fused additions, where there are instructions, and elements without
    if ufunc is np.add and len(axes) == 1 and _lies_across(x, axes[0]):
        return _across(x, axes[0])
    shape = tuple([x.shape[axis] for axis in range(x.ndim) if axis not in axes])
    count = x.size // prod(shape)
    lines = x.transpose([*[axis for axis in range(x.ndim) if axis not in axes], *sorted(axes)])
    if x.size <= _COPIED:
        return ufunc.reduce(np.ascontiguousarray(lines).reshape((*shape, count)), axis=-1)
    result = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape[:-1]):
        _lines_into(ufunc, result[index] if shape else result, lines[index], len(axes))
    return result


def _lines_into(ufunc: np.ufunc, result: Array, lines: Array, reduced: int) -> None:
    """Join lines of one kept axis, or of none, in copies that are not large."""
    flat = _flat if ufunc is np.add else _flat_product
    if lines.ndim == reduced:
        result[...] = flat(lines, 0, lines.size)
        return
    count = lines[0].size
    step = max(_COPIED // count, 1)
    for start in range(0, len(lines), step):
        part = lines[start : start + step]
        if len(part) == 1 and count > _COPIED:
            result[start] = flat(part[0], 0, count)
        else:
            copy = np.ascontiguousarray(part).reshape((len(part), count))
            ufunc.reduce(copy, axis=-1, out=result[start : start + step])


def _flat(x: Array, start: int, stop: int) -> Any:
    """Return the sum of elements in C order: NumPy's own cuts, down to what is copied and left to it."""
    count = stop - start
    if count <= _COPIED:
        return np.add.reduce(np.asarray(x.flat[start:stop]))
    middle = start + _first_half(count, _width(x))
    return _flat(x, start, middle) + _flat(x, middle, stop)


def _flat_product(x: Array, start: int, stop: int) -> Any:
    """Return the product of elements in C order, one after the other."""
    total = np.ones((), x.dtype)
    for begin in range(start, stop, _COPIED):
        part = np.asarray(x.flat[begin : min(begin + _COPIED, stop)])
        # the first element needs no factor: that of an infinite one would make NaN of its other part
        total = np.multiply.reduce(part if begin == start else np.append(total, part))
    return total


def _first_half(count: int, width: int) -> int:
    """Return how many of so many elements NumPy adds up first; complex ones are two numbers wide."""
    half = count * width // 2
    return (half - half % _LANES) // width


def _width(x: Array) -> int:
    return 2 if x.dtype.kind == "c" else 1


def _lies_across(x: Array, axis: int) -> bool:
    """Whether neighbours in memory are kept elements, enough of them, and the reduced axis lies further out."""
    enough = prod(x.shape[axis + 1 :]) >= _ENOUGH_LANES and x.size >= _ENOUGH_ROWS
    return enough and bool(x.flags.c_contiguous)


def _across(x: Array, axis: int) -> Array:
    """Return the sum along an axis, whole rows of what lies behind it added to each other."""
    outer, inner = x.shape[:axis], x.shape[axis + 1 :]
    result = np.empty((prod(outer), prod(inner)), x.dtype)
    planes = x.reshape((len(result), x.shape[axis], result.shape[1]))
    together = max(_ROW // result.shape[1], 1)
    for first in range(0, len(planes), together):
        for start in range(0, result.shape[1], _ROW):
            part = slice(first, first + together), slice(start, start + _ROW)
            result[part] = _pairwise(planes[part[0], :, part[1]], _width(x))
    return result.reshape((*outer, *inner))


def _pairwise(planes: Array, width: int) -> Array:
    """Return the sums of the rows of each plane, which are along axis 1."""
    count, lanes = planes.shape[1], _LANES // width
    if count < lanes:
        return np.add.reduce(planes, axis=1)
    if count > _BLOCK // width:
        middle = _first_half(count, width)
        return _pairwise(planes[:, :middle], width) + _pairwise(planes[:, middle:], width)
    whole = count - count % lanes
    shape = (len(planes), -1, lanes, planes.shape[2])
    sums = np.add.reduce(planes[:, :whole].reshape(shape), axis=1)
    while sums.shape[1] > 1:
        sums = sums[:, 0::2] + sums[:, 1::2]
    result = sums[:, 0]
    for start in range(whole, count):
        result += planes[:, start]
    return result


def _in_turn(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> Array:
    """Return what NumPy does, one element after the other."""
    moved = _moved(x, axes)
    shape = moved.shape[len(axes) :]
    total: Array = ufunc.reduce(moved.reshape((prod(moved.shape[: len(axes)]), *shape)), axis=0)
    return total


def _moved(x: Array, axes: tuple[int, ...]) -> Array:
    """Return an array whose reduced axes are the first ones, in order."""
    if len(axes) == x.ndim:
        return x
    return x.transpose([*sorted(axes), *[axis for axis in range(x.ndim) if axis not in axes]])
