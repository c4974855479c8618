"""Editing: places along an axis added and taken away."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.errors import IndexingError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.indexing.index_nodes import as_array
from tensorframe.frontend.indexing.searching import take
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.manipulation.views import joined, moveaxis, part_of
from tensorframe.frontend.operands import along, expanded, operand, with_axes
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import broadcast

__all__ = ["append", "delete", "insert"]

# Places up to which what is between them is copied piece by piece, at the speed of memory; more are gathered.
_FEW = 8


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """Return `values` joined after `arr` along `axis`; both flattened if it is None.

    >>> tfr.append(tfr.asarray([1, 2]), 3).tolist()
    [1, 2, 3]
    >>> tfr.append(tfr.asarray([[1, 2], [3, 4]]), tfr.asarray([[5], [6]]), axis=1).tolist()
    [[1, 2, 5], [3, 4, 6]]
    """
    return concat([arr, values], axis=axis)


@memoized
def delete(arr: ArrayLike, obj: Any, axis: int | None = None) -> Tensor:
    """Return `arr` without the places `obj` of `axis`, or of the flattened tensor.

    `obj` is an index, several, a slice or a mask; tensors among these are computed.

    >>> tfr.delete(tfr.asarray([1, 2, 3, 4]), [0, 2]).tolist()
    [2, 4]
    >>> tfr.delete(tfr.asarray([[1, 2, 3], [4, 5, 6]]), 1, axis=1).tolist()
    [[1, 3], [4, 6]]
    """
    tensor, dimension = along("delete", arr, axis)
    size = tensor.shape[dimension]
    places = _places("delete", obj, size, size - 1)
    gaps = _gaps(places, size)
    if gaps is None:
        return take(tensor, np.delete(np.arange(size), places), axis=dimension)
    ends = [0, *[end for gap in gaps for end in gap], size]
    kept = list(zip(ends[::2], ends[1::2], strict=True))
    pieces = [_piece(tensor, dimension, *bounds) for bounds in kept if bounds[0] < bounds[1]]
    return joined(pieces, dimension) if pieces else _piece(tensor, dimension, 0, 0)


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Tensor:
    """Return `arr` with `values` put before the places `obj` of `axis`, or of the flattened tensor.

    `obj` is an index, several, a slice or a mask; tensors among these are computed. `values` is converted to the dtype
    of `arr` and broadcasts to what is put in.

    >>> tfr.insert(tfr.asarray([1, 2, 3]), 1, 9).tolist()
    [1, 9, 2, 3]
    >>> tfr.insert(tfr.asarray([[1, 2], [3, 4]]), 1, 9, axis=1).tolist()
    [[1, 9, 2], [3, 9, 4]]
    """
    tensor, dimension = along("insert", arr, axis)
    size = tensor.shape[dimension]
    places = _places("insert", obj, size, size)
    # an integer stays one: NumPy, and so we, gives it a whole block, whose first axis runs along `dimension`
    new = with_axes(operand(values, dtype=tensor.dtype), tensor.ndim)
    if new.ndim > 1 and not isinstance(places, slice) and places.ndim == 0:
        new = moveaxis(new, 0, dimension)
    count = _how_many(places, size)
    count = new.shape[dimension] if count == 1 else count
    shape = (*tensor.shape[:dimension], count, *tensor.shape[dimension + 1 :])
    if new.shape != shape and broadcast("insert", new.shape, shape) != shape:
        raise ShapeError(f"insert: values of shape {new.shape} do not broadcast to {shape}")
    part = expanded(new, shape)
    if not isinstance(places, slice) and places.dtype.kind in "iu" and 0 < places.size <= _FEW:
        return joined(_parted(tensor, dimension, _from_front(places, size), part), dimension)
    order = np.insert(np.arange(size), places, np.arange(size, size + count))
    return take(joined([tensor, part], dimension), order, axis=dimension)


def _parted(tensor: Tensor, axis: int, places: list[int], part: Tensor) -> list[Tensor]:
    """Return the pieces of `tensor` between the places, and those of `part` that come there, in order."""
    whole = len(places) == 1
    pieces, last = [], 0
    for number in sorted(
        range(len(places)), key=places.__getitem__
    ):  # equal places in the order given
        pieces.append(_piece(tensor, axis, last, places[number]))
        pieces.append(part if whole else _piece(part, axis, number, number + 1))
        last = places[number]
    pieces.append(_piece(tensor, axis, last, tensor.shape[axis]))
    return [piece for piece in pieces if piece.shape[axis]] or [tensor]


def _piece(tensor: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """Return the places from `start` to `stop` of an axis."""
    return part_of(tensor, axis, start, stop - start)


def _gaps(places: Any, size: int) -> list[tuple[int, int]] | None:
    """Return the stretches, in ascending order, that few places or a slice without gaps are; None for others."""
    if isinstance(places, slice):
        start, stop, step = places.indices(size)
        if step == -1:
            start, stop = stop + 1, start + 1
        return [(start, max(start, stop))] if abs(step) == 1 else None
    if places.dtype.kind == "b" or places.size > _FEW:
        return None
    return [(place, place + 1) for place in sorted(set(_from_front(places, size)))]


def _from_front(places: Any, size: int) -> list[int]:
    return [place + size if place < 0 else place for place in places.reshape(-1).tolist()]


def _places(name: str, obj: Any, size: int, last: int) -> Any:
    """Return what NumPy's index arithmetic takes: a slice, or an array of indices from -size to `last`, or a mask."""
    if isinstance(obj, slice):
        return obj
    if type(obj) is int and -size <= obj <= last:
        return np.asarray(obj)
    places = as_array(operand(obj))
    if places.ndim > 1:
        raise IndexingError(f"{name}: places are one or a vector of them, got shape {places.shape}")
    if places.size == 0:
        return places.astype(np.int64)
    if places.dtype.kind == "b":
        if places.shape != (size,):
            raise IndexingError(
                f"{name}: a mask of shape {places.shape} does not fit {size} places"
            )
    elif places.dtype.kind not in "iu":
        raise IndexingError(f"{name}: places are integers, a slice or a mask, got {places.dtype}")
    elif (places > last).any() or (places < -size).any():
        wrong = places[(places > last) | (places < -size)].flat[0]
        raise IndexingError(f"{name}: place {wrong} is out of bounds for an axis of size {size}")
    return places


def _how_many(places: Any, size: int) -> int:
    if isinstance(places, slice) or places.dtype.kind == "b":
        return len(np.arange(size)[places])
    return int(places.size)
