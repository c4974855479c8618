"""Gathers and scatters as NumPy indexing; scatters replace elements in a copy, or in a buffer that is given up."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.backends.numpy.movement import slices
from tensorframe.errors import IndexingError
from tensorframe.graph.shape import Shape

Array = Any
Axes = tuple[int, ...]


def _key(ndim: int, indices: list[Array], axes: Axes) -> tuple[Any, ...]:
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
        return np.take(x, indices[0], axis=axes[0])
    return x[_key(x.ndim, indices, axes)]


@spells("gather")
def gather(x: Array, *arguments: Any) -> Array:
    """Select elements; bounds are checked here, where the indices are known."""
    *indices, axes, at = arguments
    try:
        found = _select(x, indices, axes)
    except IndexError as error:
        raise _out_of_bounds(error) from error
    place = _own_place(axes)
    if place == at:
        return found
    ndim = np.broadcast(*indices).ndim
    return np.moveaxis(found, _block(ndim, place), _block(ndim, at))


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
    *indices, axes, at = arguments
    result = np.array(x) if out is None else out
    place = _own_place(axes)
    if place != at:
        ndim = np.broadcast(*indices).ndim
        value = np.moveaxis(value, _block(ndim, at), _block(ndim, place))
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
    result = np.array(x) if out is None else out
    result[slices(starts, sizes, steps)] = value
    return result
