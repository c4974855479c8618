"""Gathers and scatters as NumPy indexing; scatters replace elements in a copy, or in a buffer that is given up."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.backends.numpy.movement import slices
from tensorframe.errors import IndexingError
from tensorframe.graph.shape import Shape

Array = Any
Axes = tuple[int, ...]


def _key(ndim: int, indices: list[Array], axes: Axes) -> Any:
    if axes == (0,):  # as of most
        return indices[0]
    key: list[Any] = [slice(None)] * ndim
    for axis, index in zip(axes, indices, strict=True):
        key[axis] = index
    return tuple(key)


def _own_place(axes: Axes) -> int:
    """Return where NumPy puts the axes of the indices: in place if they replace neighbours, else in front."""
    neighbours = axes[-1] - axes[0] == len(axes) - 1
    return axes[0] if neighbours else 0


def _block(ndim: int, start: int) -> range:
    return range(start, start + ndim)


def _out_of_bounds(error: IndexError) -> IndexingError:
    return IndexingError(
        str(error), suggestions=("tfr.clip(indices, 0, size - 1) if they may overshoot",)
    )


def _select(x: Array, indices: list[Array], axes: Axes) -> Array:
    if len(axes) == 1:  # faster than a key
        return x.take(indices[0], axes[0])
    return x[_key(x.ndim, indices, axes)]


@spells("gather")
def gather(x: Array, *arguments: Any) -> Array:
    """Select elements; bounds are checked here, where the indices are known."""
    *indices, axes, position = arguments
    try:
        selected = _select(x, indices, axes)
    except IndexError as error:
        raise _out_of_bounds(error) from error
    place = _own_place(axes)
    if place == position:
        return selected
    ndim = np.broadcast(*indices).ndim
    return np.moveaxis(selected, _block(ndim, place), _block(ndim, position))


def numbered(indices: Sequence[Array], sizes: Sequence[int], axes: Axes) -> Array:
    """Return the number, in C order of the axes, of each element pointed to; IndexingError if there is none."""
    places = [
        _counted(np.asarray(index), *of) for index, *of in zip(indices, sizes, axes, strict=True)
    ]
    total = places[0]
    for place, size in zip(places[1:], sizes[1:], strict=True):
        total = total * size + place
    return total


def _counted(index: Array, size: int, axis: int) -> Array:
    """Return indices counted from the front; IndexingError if there is no such element."""
    if not index.size:
        return index.astype(np.intp)
    if index.dtype.kind == "i" and int(index.view(f"u{index.dtype.itemsize}").max()) < size:
        return index.astype(np.intp, copy=False)  # one pass: negative ones are the largest here
    low, high = int(index.min()), int(index.max())
    if low < -size or high >= size:
        first = index[(index < -size) | (index >= size)].flat[0]
        message = f"index {first} is out of bounds for axis {axis} with size {size}"
        raise _out_of_bounds(IndexError(message))
    place = index.astype(np.intp, copy=False)
    return np.where(place < 0, place + size, place) if low < 0 else place


@spells("take_along_axis")
def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    """Select along one axis; the other axes broadcast."""
    try:
        return np.take_along_axis(x, indices, axis)
    except IndexError as error:
        raise _out_of_bounds(error) from error


@spells("scatter")
def scatter(x: Array, value: Array, *arguments: Any, out: Array | None = None) -> Array:
    """Replace elements in a copy of `x`, or in `out`, which holds the elements of `x` already."""
    *indices, axes, position = arguments
    result = np.array(x) if out is None else out
    place = _own_place(axes)
    if place != position and np.ndim(value):  # a number goes everywhere
        ndim = np.broadcast(*indices).ndim
        value = np.moveaxis(value, _block(ndim, position), _block(ndim, place))
    try:
        result[_key(result.ndim, indices, axes)] = value
    except IndexError as error:
        raise _out_of_bounds(error) from error
    return result


@spells("set_slice")
def set_slice(
    x: Array, value: Array, starts: Shape, sizes: Shape, steps: Shape, *, out: Array | None = None
) -> Array:
    """Replace a slice of a copy of `x`, or of `out`, which holds the elements of `x` already."""
    place = slices(starts, sizes, steps)
    if out is not None:
        result = out
    elif x.nbytes > _SMALL and 2 * prod(sizes) > x.size and set(steps) == {1}:
        result = _copy_around(x, place)
    else:
        result = np.array(x)
    result[place] = value
    return result


# bytes that are copied while Python takes a few slices
_SMALL = 1 << 16
# bytes in a row of memory below which a copy of its ends takes longer than a copy of the row
_SHORT_ROW = 1024


def _copy_around(x: Array, place: tuple[slice, ...]) -> Array:
    """Return a copy of `x` in which anything may stand in `place`: what is written next need not be written twice."""
    result = np.empty_like(x)
    inside = [slice(None)] * x.ndim
    for axis, part in enumerate(place):
        if x.shape[axis] * abs(x.strides[axis]) < _SHORT_ROW:
            result[tuple(inside)] = x[tuple(inside)]
            return result
        for beside in (slice(0, part.start), slice(part.stop, None)):
            inside[axis] = beside
            result[tuple(inside)] = x[tuple(inside)]
        inside[axis] = part
    return result
