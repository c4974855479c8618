"""Indexing: `x[key]` as views and gathers."""

from __future__ import annotations

from math import prod
from operator import mod
from typing import Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.config import Process, overridden
from tensorframe.dtypes import BOOL, INTEGER
from tensorframe.frontend.dispatch import device_of, handle_on
from tensorframe.frontend.indexing import masks
from tensorframe.frontend.indexing.few_elements import (
    few_gathered,
    few_selected,
    few_sliced,
    few_viewed,
    viewed,
)
from tensorframe.frontend.indexing.index_nodes import index_node, out_of_bounds
from tensorframe.frontend.indexing.numpy_keys import BOUNDS
from tensorframe.frontend.indexing.selection import Selection, parse
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.record import record
from tensorframe.graph.shape import MAX_NDIM, Shape, check_size
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.movement import RESHAPE, SLICE
from tensorframe.runtime.eager.scalars import SCALARS, Number, scalar_node
from tensorframe.site import recording_site

# Slices of the first axis, by the shape and their bounds: how many elements they have, and the attributes of the view.
leading_views: dict[tuple[Any, ...], tuple[int, tuple[Shape, Shape, Shape]]] = {}
_VIEWS_KEPT = 1024
# Rows up to which a slice is few elements in most programs.
_FEW = 4096
# Starts and steps of views, by the number of axes.
_ZEROS, _ONES = (tuple([(number,) * count for count in range(MAX_NDIM + 1)]) for number in (0, 1))
NO_VIEW: tuple[int, tuple[Shape, Shape, Shape]] = (0, ((), (), ()))


def getitem(tensor: Tensor, key: Any) -> Tensor:
    """Return the elements that `key` selects, as NumPy does; nothing computes, unless `key` holds a mask.

    Integers, slices, None and ... give views; integer tensors, arrays and lists gather. Of a computed tensor, few
    elements at integers, slices or computed positions are there at once. Masks are computed at once, since the result's
    shape depends on them. IndexingError if an index is out of bounds.
    """
    if type(key) is slice:
        node = tensor.node
        part = _many_leading(node, key) if node.shape and node.shape[0] > _FEW else None
        if part is None:
            part = few_sliced(node, key)
        if part is None:
            part = _leading(tensor.node, key)
        if part is not None:
            return part
    elif type(key) is int:
        node = tensor.node
        if node.storage is not None:
            row = _row(node, key)
            if row is not None:
                return row
        key = (key,)
        if node.shape:
            return _element(node, key)
    if type(key) is tuple and 0 < len(key) <= len(tensor.node.shape):
        for item in key:
            if type(item) is not int:
                break
        else:
            return _element(tensor.node, key)
        few = few_viewed(tensor.node, *key)
        if few is not None:
            return few
    node = tensor.node
    if type(key) is Tensor or type(key) is np.ndarray:
        gathered = few_gathered(node, key)
        if gathered is not None:
            return gathered
    if type(key) is Tensor and type(key.node) is Number:
        row = few_selected(node, key)
        if row is not None:
            return row
    if type(key) is Tensor and key.node.dtype in INTEGER and node.shape:  # in a third of the time
        index = index_node(key, 0, node.shape[0], node.device)
        inputs = (node, index)
        device = node.device
        if index.device is not device:
            return handle_on(record(GATHER, inputs, (0,), 0, device=device_of(inputs)))
        shape = check_size("gather", index.shape + node.shape[1:])
        return handle_on(
            new_node(GATHER, inputs, ((0,), 0), shape, node.dtype, device, recording_site())
        )
    if type(key) is Tensor and key.node.dtype in BOOL:
        chosen = masks.elements_where(node, key.node)
        if chosen is not None:
            return chosen
    else:
        selected = few_selected(node, key)
        if selected is not None:
            return selected
    selection = parse(node, key)
    return handle_on(_gather(view_of(node, selection), selection))


def _row(node: Node, position: int) -> Tensor | None:
    """Return what `_element` returns of one integer, where it is a view of computed host memory: in half the time."""
    storage, shape = node.storage, node.shape
    if not shape or needing_nodes or not -shape[0] <= position < shape[0]:
        return None
    array = storage.handle
    if type(array) is not np.ndarray:
        return None
    if len(shape) == 1 and type(storage) is Storage:
        value = array[position]
        if type(value) in SCALARS:
            return handle_on(scalar_node(value, node.dtype, node.device))
    return viewed(array[position, ...], shape[1:], node)


def _element(node: Node, key: tuple[int, ...]) -> Tensor:
    """Return the part at integers for the leading axes; on the way of every loop over elements, hence terse.

    In host memory the part of a computed tensor is a view already: nothing is recorded, unless for a gradient.
    """
    shape = node.shape
    for axis, index in enumerate(key):
        size = shape[axis]
        if not -size <= index < size:
            raise out_of_bounds(index, axis, size)
    rest = shape[len(key) :]
    array: Any = None if node.storage is None else node.storage.handle
    if type(array) is np.ndarray and not needing_nodes:
        if not rest and type(node.storage) is Storage:
            value = array[key]
            if type(value) in SCALARS:
                return handle_on(scalar_node(value, node.dtype, node.device))
        return viewed(array[(*key, ...)], rest, node)  # type: ignore[arg-type]
    count, more = len(key), len(rest)
    sizes = (*_ONES[count], *rest)
    # a remainder counts from the front, and map ends with the key
    view = ((*map(mod, key, shape), *_ZEROS[more]), sizes, _ONES[count + more])
    site = recording_site(3)
    part = new_node(SLICE, (node,), view, sizes, node.dtype, node.device, site)
    return handle_on(new_node(RESHAPE, (part,), (rest,), rest, node.dtype, node.device, site))


def _leading(node: Node, key: slice) -> Tensor | None:
    """Return some of the first axis; None where `parse` has more to say, since it is one element, or wrong."""
    shape = node.shape
    try:
        start, stop, step = key.indices(shape[0])
    except Exception:
        return None
    size = len(range(start, stop, step))
    if size < 2:
        return None
    if step == 1 and size == shape[0]:
        return handle_on(node)
    rest = shape[1:]
    sizes = (size, *rest)
    view = ((start, *[0] * len(rest)), sizes, (step, *[1] * len(rest)))
    if type(key.start) in BOUNDS and type(key.stop) in BOUNDS and type(key.step) in BOUNDS:
        if len(leading_views) >= _VIEWS_KEPT:
            leading_views.clear()
        leading_views[shape, key.start, key.stop, key.step] = (prod(sizes), view)
    return handle_on(
        new_node(SLICE, (node,), view, sizes, node.dtype, node.device, recording_site())
    )


def _many_leading(node: Node, key: slice) -> Tensor | None:
    """Return what `_leading` returned of a slice before, if that is many elements; None for all else."""
    start, stop, step = key.start, key.stop, key.step
    if type(start) not in BOUNDS or type(stop) not in BOUNDS or type(step) not in BOUNDS:
        return None  # equal, and not the same
    count, view = leading_views.get((node.shape, start, stop, step), NO_VIEW)
    if count <= (overridden() or Process.base).small_size:
        return None
    site = recording_site(3)
    return handle_on(new_node(SLICE, (node,), view, view[1], node.dtype, node.device, site))


def view_of(node: Node, selection: Selection) -> Node:
    """Return the slice of a selection, under its shape: no larger than the node, so nothing is to be checked."""
    for axis, positions in selection.windows:
        node = record(GATHER, (node, positions), (axis,), axis, device=device_of((node, positions)))
    if not selection.is_whole(node.shape):
        view, site = selection.view, recording_site()
        node = new_node(SLICE, (node,), view, view[1], node.dtype, node.device, site)
    return reshaped(node, tuple(selection.shape))


def reshaped(node: Node, shape: Shape) -> Node:
    """Return the elements under another shape of as many."""
    if node.shape == shape:
        return node
    if len(shape) > MAX_NDIM:
        check_size("reshape", shape)
    site = recording_site()
    return new_node(RESHAPE, (node,), (shape,), shape, node.dtype, node.device, site)


def _gather(node: Node, selection: Selection) -> Node:
    if not selection.axes:
        return node
    inputs = (node, *selection.indices)
    return record(
        GATHER, inputs, tuple(selection.axes), selection.position, device=device_of(inputs)
    )


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - its own name says more in this module
