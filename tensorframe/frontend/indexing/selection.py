"""Selections: NumPy's indexing keys taken apart into a slice, a reshape and index tensors for some axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, INTEGER, int64
from tensorframe.errors import ArgumentError, DTypeError, IndexingError, TracingError
from tensorframe.frontend.conversion.convert import asarray, holds_elements, ragged
from tensorframe.frontend.indexing.index_nodes import (
    Array,
    as_array,
    check_bounds,
    index_node,
    positions_node,
)
from tensorframe.frontend.indexing.windows import Window, is_unknown, window_of, windowed
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.graph.record import constant
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.runtime.evaluate import evaluate
from tensorframe.site import recording_site

_KNOWN = (int, type(None))  # what bounds of slices mostly are


@dataclass(slots=True)
class Selection:
    """What a key selects, in four stages.

    Windows of axes of which slices have bounds that are not known yet; a slice, `starts, sizes, steps`, of each axis
    of the tensor; then a reshape to `shape`: axes of integers dropped, axes for None added; then the elements of its
    axes `axes` at `indices`, whose own axes follow `at` kept ones.
    """

    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    indices: list[Node] = field(default_factory=list)
    position: int = 0
    windows: list[Window] = field(default_factory=list)

    @property
    def view(self) -> tuple[Shape, Shape, Shape]:
        """The attributes of the slice."""
        return tuple(self.starts), tuple(self.sizes), tuple(self.steps)

    def is_whole(self, shape: Shape) -> bool:
        """Whether the slice takes every element of a tensor of `shape` in order."""
        return tuple(self.sizes) == shape and self.steps.count(1) == len(self.steps)

    def keep(self, size: int) -> None:
        """Take the whole of the next axis."""
        self.slice(0, size, 1)

    def slice(self, start: int, size: int, step: int) -> None:
        """Take elements `start, start + step ...` of the next axis."""
        self.pick(start, size, step)
        self.shape.append(size)

    def pick(self, start: int, size: int = 1, step: int = 1) -> None:
        """Take elements of the next axis, which is gone unless `shape` gets it too."""
        self.starts.append(start)
        self.sizes.append(size)
        self.steps.append(step)

    def index(self, index: Node) -> None:
        """Index the latest axis of `shape`."""
        self.axes.append(len(self.shape) - 1)
        self.indices.append(index)


def plain(shape: Shape, key: Any) -> Selection | None:
    """Return what a key of integers, slices, None and ... alone selects: most keys are, and need a third of the time.

    None for any other key, and where something is wrong with it, which `parse` says.
    """
    items = key if type(key) is tuple else (key,)
    starts: list[int] = []
    sizes: list[int] = []
    steps: list[int] = []
    kept: list[int] = []
    axis, count = 0, len(shape)
    for place, item in enumerate(items, 1):
        if item is None:
            kept.append(1)
            continue
        if item is Ellipsis:
            left = _left(items[place:], count - axis)
            if left < 0:
                return None
            whole = shape[axis : axis + left]
            starts += [0] * left
            sizes += whole
            steps += [1] * left
            kept += whole
            axis += left
            continue
        if axis == count:
            return None
        extent = shape[axis]
        if type(item) is slice:
            try:
                start, stop, step = item.indices(extent)
            except Exception:
                return None
            size = len(range(start, stop, step))
            if size < 2:  # there is no step, and of none no start
                start, step = (start if size else 0), 1
            kept.append(size)
        elif type(item) is int and -extent <= item < extent:
            start, size, step = (item if item >= 0 else item + extent), 1, 1
        else:
            return None
        starts.append(start)
        sizes.append(size)
        steps.append(step)
        axis += 1
    rest = shape[axis:]
    more = count - axis
    return Selection([*starts, *[0] * more], [*sizes, *rest], [*steps, *[1] * more], [*kept, *rest])


def _left(items: tuple[Any, ...], axes: int) -> int:
    """Return how many of the last axes an ellipsis leaves to itself; less than 0 where there are too few, or two."""
    for item in items:
        if item is Ellipsis:
            return -1
        if item is not None:
            axes -= 1
    return axes


def parse(node: Node, key: Any) -> Selection:
    """Return what `key` selects from a tensor; IndexingError if it is out of bounds or no index.

    Masks are computed here: how many elements they select is part of the shape.
    """
    shape, device = node.shape, node.device
    view = plain(shape, key)
    if view is not None:
        return view
    selection = _by_tensor(node, key)
    if selection is not None:
        return selection
    items = [_recognise(item) for item in (key if isinstance(key, tuple) else (key,))]
    items = _without_ellipsis(items, shape)
    _compute_masks(items, node)
    selection = Selection(windows=_take_windows(items, shape, device))
    if selection.windows:
        shape = windowed(shape, selection.windows)
    advanced: list[int] = []
    places: list[int] = []
    axis = 0
    for position, item in enumerate(items):
        before = len(selection.shape) - len(selection.axes)
        if item is Ellipsis:
            continue
        if item is None:
            selection.shape.append(1)
        elif isinstance(item, slice):
            _add_slice(selection, item, shape[axis])
        elif isinstance(item, int):
            selection.pick(check_bounds(item, axis, shape[axis]))
        elif item.dtype in BOOL:
            _add_mask(selection, as_array(item), shape, axis, device)
        else:
            selection.keep(shape[axis])
            selection.index(index_node(item, axis, shape[axis], device))
        if item is not None and not isinstance(item, slice):
            advanced.append(position)
            places.append(before)
        axis += _consumed(item)
    if selection.axes and advanced[-1] - advanced[0] == len(advanced) - 1:
        selection.position = places[0]
    return selection


def _by_tensor(node: Node, key: Any) -> Selection | None:
    """Return what one index tensor or mask for the first axis selects, the usual key of all that are no slices."""
    if type(key) is not Tensor or not node.shape:
        return None
    shape, index = node.shape, key.node
    if index.dtype in INTEGER:
        indices = index_node(key, 0, shape[0], node.device)
    elif index.dtype in BOOL and index.shape == shape[:1] and index.storage is not None:
        (positions,) = key._array().nonzero()
        indices = positions_node(positions, shape[0], node.device)
    else:
        return None
    count = len(shape)
    return Selection([0] * count, list(shape), [1] * count, list(shape), [0], [indices])


def _recognise(item: Any) -> Any:
    """Return a key's item as None, Ellipsis, a slice, an int, or an array or Tensor of integers or bools."""
    if item is None or item is Ellipsis or type(item) in (int, slice):
        return item
    if isinstance(item, Tensor):
        return _checked(item)
    if type(item) is TracedNumber and item.kind is int:
        # not known while a function is recorded: an index tensor without axes, which selects the same
        return Tensor(constant(item, int64, CPU, recording_site()))
    if isinstance(item, bool | np.bool_):
        return np.asarray(item)
    if isinstance(item, np.ndarray | Sequence) and not isinstance(item, str):
        return _checked(_from_literal(item))
    if holds_elements(item):
        return _checked(_from_elements(item))
    try:
        return operator.index(item)
    except TracingError:
        raise
    except TypeError as error:
        raise _no_index(item) from error


def _no_index(item: Any) -> IndexingError:
    return IndexingError(
        f"{type(item).__name__} {item!r} is not an index",
        suggestions=("integers, slices, None, ..., and integer or bool tensors",),
    )


def _from_elements(item: Any) -> Tensor:
    """Return another library's array as a Tensor."""
    try:
        return asarray(item)
    except DTypeError as error:
        raise _no_index(item) from error


def _from_literal(item: Any) -> Any:
    """Return a sequence of indices as an array; as a Tensor if some of them are not known yet."""
    try:
        if not isinstance(item, np.ndarray) and _is_pending(item):
            return asarray(item)
        array = np.asarray(item)
    except RecursionError:
        return asarray(item)  # which says so
    except ValueError as error:
        raise ragged("index", str(error)) from error
    return array.astype(int64) if array.size == 0 and not isinstance(item, np.ndarray) else array


def _is_pending(items: Sequence[Any]) -> bool:
    return any(
        isinstance(item, Tensor | TracedNumber)
        or (isinstance(item, list | tuple) and _is_pending(item))
        for item in items
    )


def _checked(item: Any) -> Any:
    if item.dtype not in INTEGER and item.dtype not in BOOL:
        raise IndexingError(
            f"index tensors are integer or bool, got {item.dtype}",
            suggestions=("indices.astype(tfr.int64)",),
        )
    return item


def _consumed(item: Any) -> int:
    """Return how many of the tensor's axes an item is about."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice | int):
        return 1
    return int(item.ndim) if item.dtype in BOOL else 1


def _without_ellipsis(items: list[Any], shape: Shape) -> list[Any]:
    """Return the items with slices in the place of the ellipsis, or at the end, for the axes not spoken of.

    An ellipsis that is for no axes stays: it separates the indices around it, as in NumPy.
    """
    ellipses = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexingError("an index has one ellipsis (...) at most")
    used = sum(map(_consumed, items))
    if used > len(shape):
        raise IndexingError(
            f"too many indices: a tensor of shape {shape} has {len(shape)} axes, the index is for {used}",
            suggestions=("None in the index adds an axis",),
        )
    fill: list[Any] = [slice(None)] * (len(shape) - used)
    place = ellipses[0] if ellipses else len(items)
    return items[:place] + (fill or [Ellipsis]) + items[place + 1 :]


def _take_windows(items: list[Any], shape: Shape, device: Device) -> list[Window]:
    """Put whole slices in the place of those whose bounds are not known yet; return what these show."""
    windows: list[Window] = []
    for position, item in enumerate(items):
        if type(item) is not slice or (type(item.start) in _KNOWN and type(item.stop) in _KNOWN):
            continue
        if is_unknown(item):
            axis = sum(map(_consumed, items[:position]))
            known = partial(index_node, device=device, checked=True)
            windows.append(window_of(item, axis, shape[axis], device, known))
            items[position] = slice(None)
    return windows


def _compute_masks(items: list[Any], node: Node) -> None:
    """Compute masks in one go with what they select from, which they are often made of."""
    masks = [item.node for item in items if isinstance(item, Tensor) and item.dtype in BOOL]
    if any(mask.storage is None for mask in masks):
        evaluate((*masks, node))


def _add_slice(selection: Selection, item: slice, size: int) -> None:
    try:
        start, stop, step = item.indices(size)
    except TracingError:
        raise
    except TypeError as error:
        raise IndexingError(f"{item}: slices are made of integers and None") from error
    except ValueError as error:
        raise ArgumentError(f"{item}: {error}", suggestions=("a step of 1",)) from error
    count = len(range(start, stop, step))
    selection.slice(*((start, count, step) if count > 1 else (start if count else 0, count, 1)))


def _add_mask(selection: Selection, mask: Array, shape: Shape, axis: int, device: Device) -> None:
    """Turn a mask into the positions where it holds; a 0-d mask selects from a new axis of size 1."""
    _check_mask(mask.shape, shape, axis)
    masked = shape[axis : axis + mask.ndim]
    for size in masked:
        selection.pick(0, size)
    # one axis in the place of all that the mask is for: one index tensor, whatever their number
    selection.shape.append(math.prod(masked))
    selection.index(positions_node(np.flatnonzero(mask), mask.size, device))


def _check_mask(mask: Shape, shape: Shape, axis: int) -> None:
    """Raise unless the mask has the sizes of the axes it selects from, or none, as the standard allows."""
    for offset, size in enumerate(mask):
        if size not in (shape[axis + offset], 0):
            raise IndexingError(
                f"a mask of shape {mask} does not fit a tensor of shape {shape}: "
                f"axis {axis + offset} has size {shape[axis + offset]}, the mask {size}"
            )
