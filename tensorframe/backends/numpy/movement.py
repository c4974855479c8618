"""Views as NumPy views: no bytes move unless a layout cannot express the result."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape

Array = Any

_BROADCASTING: Any = ["multi_index", "refs_ok", "zerosize_ok"]
_READ_ONLY: Any = [["readonly"]]


@spells("reshape")
def reshape(x: Array, shape: Shape) -> Array:
    """Reshape in C order."""
    return host_pool.reshaped(x, shape)


@spells("permute")
def permute(x: Array, axes: tuple[int, ...]) -> Array:
    """Transpose."""
    return x.transpose(axes)


@spells("expand")
def expand(x: Array, shape: Shape) -> Array:
    """Broadcast without a copy; `np.broadcast_to` is this, and checks that take as long again."""
    pieces = np.nditer((x,), _BROADCASTING, _READ_ONLY, itershape=shape, order="C")
    with pieces:
        return pieces.itviews[0]


@spells("slice")
def slice_(x: Array, starts: Shape, sizes: Shape, steps: Shape) -> Array:
    """Slice with steps of either sign."""
    return x[slices(starts, sizes, steps)]


@lru_cache(1024)
def slices(starts: Shape, sizes: Shape, steps: Shape) -> tuple[slice, ...]:
    """Return NumPy's slices; a negative step may need an open end, since -1 would count from the back."""
    result = []
    for start, size, step in zip(starts, sizes, steps, strict=True):
        stop = start + size * step
        result.append(slice(start, stop if stop >= 0 else None, step))
    return tuple(result)


@spells("windows")
def windows(x: Array, axis: int, size: int, step: int, dilation: int) -> Array:
    """Overlapping windows on an axis, in the memory of the operand."""
    count = (x.shape[axis] - (size - 1) * dilation - 1) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    along = x.strides[axis]
    strides = (*x.strides[:axis], along * step, *x.strides[axis + 1 :], along * dilation)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


@spells("depends")
def _depends(array: Array, *_: Any) -> Array:
    return array


@spells("pad")
def pad(x: Array, before: Shape, after: Shape, value: complex) -> Array:
    """Surround by a constant; `numpy.pad` takes more than twice as long for small arrays."""
    sizes = [low + size + high for low, size, high in zip(before, x.shape, after, strict=True)]
    result = host_pool.empty(tuple(sizes), x.dtype)
    inside = [slice(None)] * x.ndim
    for axis, (low, size) in enumerate(zip(before, x.shape, strict=True)):
        for first, last in ((0, low), (low + size, sizes[axis])):
            if first < last:
                inside[axis] = slice(first, last)
                result[tuple(inside)] = value
        inside[axis] = slice(low, low + size)
    result[tuple(inside)] = x
    return result


@spells("concat")
def concat(*arguments: Any) -> Array:
    """Join along an axis."""
    *arrays, axis = arguments
    first = arrays[0]
    nbytes = sum([array.nbytes for array in arrays])
    if nbytes < host_pool.SMALLEST or all(array.flags.fnc for array in arrays):
        return np.concatenate(
            arrays, axis=axis
        )  # all in Fortran's order have a result in that order
    shape = list(first.shape)
    shape[axis] = sum([array.shape[axis] for array in arrays])
    return np.concatenate(arrays, axis=axis, out=host_pool.empty(tuple(shape), first.dtype))


@spells("part")
def part(parts: tuple[Array, ...], index: int, _shape: Shape, _dtype: DType) -> Array:
    """Take one result of a library call."""
    return parts[index]
