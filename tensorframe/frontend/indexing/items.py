"""Indexing: `x[key]` as views and gathers, `x[key] = value` as a new tensor behind the same handle."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from operator import mod
from sys import getrefcount
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.storage import Storage
from tensorframe.config import Process, overridden
from tensorframe.dtypes import BOOL, FORMAT, INTEGER, DType
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.dispatch import device_of, handle_on
from tensorframe.frontend.indexing import masks
from tensorframe.frontend.indexing.chained_assignment import TEMPORARY, warn_of_chained_assignment
from tensorframe.frontend.indexing.few_elements import (
    few_gathered,
    few_replaced,
    few_selected,
    few_sliced,
    few_viewed,
    viewed,
)
from tensorframe.frontend.indexing.numpy_keys import BOUNDS
from tensorframe.frontend.indexing.selection import Selection, index_node, out_of_bounds, parse
from tensorframe.frontend.operand_nodes import (
    PYTHON_NUMBERS,
    SEQUENCES,
    as_node,
    new_constant,
    plain,
    weak_constant,
)
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import history, needing_nodes
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.op import Op
from tensorframe.graph.record import cast, record, record_map
from tensorframe.graph.shape import MAX_NDIM, Shape, broadcast, check_size
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.elementwise import WHERE
from tensorframe.ops.indexing import GATHER, SCATTER, SET_SLICE, selected_shape
from tensorframe.ops.movement import EXPAND, RESHAPE, SLICE
from tensorframe.runtime.eager.scalars import SCALARS, Number, known
from tensorframe.runtime.evaluate import evaluate
from tensorframe.site import recording_site

# Bytes of a tensor up to which a mask selects in one thread, and what is selected is no matter of memory limits.
_SELECTED_AT_ONCE = 1 << 24
# Elements of a mask from which positions are worth a second call.
_BY_POSITIONS = 1024
# Elements of a mask whose positions are in the cache when they are used.
_BLOCK = 1 << 15
# Slices of the first axis, by the shape and their bounds: how many elements they have, and the attributes of the view.
_leading_views: dict[tuple[Any, ...], tuple[int, tuple[Shape, Shape, Shape]]] = {}
_VIEWS_KEPT = 1024
# Rows up to which a slice is few elements in most programs.
_FEW = 4096
# Starts and steps of views, by the number of axes.
_ZEROS, _ONES = (tuple([(number,) * count for count in range(MAX_NDIM + 1)]) for number in (0, 1))
_NO_VIEW: tuple[int, tuple[Shape, Shape, Shape]] = (0, ((), (), ()))


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
        chosen = _masked(node, key.node)
        if chosen is not None:
            return chosen
    else:
        selected = few_selected(node, key)
        if selected is not None:
            return selected
    selection = parse(node, key)
    return handle_on(_gather(_view(node, selection), selection))


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
            return handle_on(known(value, node.dtype, node.device))
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
                return handle_on(known(value, node.dtype, node.device))
        return viewed(array[(*key, ...)], rest, node)  # type: ignore[arg-type]
    count, more = len(key), len(rest)
    sizes = (*_ONES[count], *rest)
    # a remainder counts from the front, and map ends with the key
    view = ((*map(mod, key, shape), *_ZEROS[more]), sizes, _ONES[count + more])
    site = recording_site(3)
    part = new_node(SLICE, (node,), view, sizes, node.dtype, node.device, site)
    return handle_on(new_node(RESHAPE, (part,), (rest,), rest, node.dtype, node.device, site))


def _masked(node: Node, mask: Node) -> Tensor | None:
    """Return the elements of a tensor where a mask holds, in host memory or in blocks; None where they are recorded.

    The mask is computed in any case, with what it selects from: to select at once takes less time than to find the
    positions that a look-up would be recorded for.
    """
    if masks.in_blocks(node.device):
        return masks.selected(node, mask)
    count = len(mask.shape)
    if not count or mask.shape != node.shape[:count] or node.nbytes > _SELECTED_AT_ONCE:
        return None
    if history.get() is not None:
        return None  # a gradient needs to know where elements are from
    if mask.storage is None:
        evaluate((mask, node))
    if node.storage is None or mask.storage is None:
        return None
    array, holds = node.storage.handle, mask.storage.handle
    if type(array) is not np.ndarray or type(holds) is not np.ndarray:
        return None
    chosen = _selected(array, holds)
    return viewed(chosen, chosen.shape, node)


def _selected(array: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the elements where a mask holds.

    NumPy goes through a mask by runs, and mispredicts where each of them ends: half of random elements are selected in
    a quarter of the time by their positions, nearly all in half of it by runs. Positions of a block lie in the cache,
    and the pool has memory whose pages are there: what the system gives takes as long as to select.
    """
    size = mask.size
    if (
        size < _BY_POSITIONS
        or mask.shape != array.shape
        or not (mask.flags.c_contiguous and array.flags.c_contiguous)
    ):
        return array[mask]  # type: ignore[no-any-return]
    count = int(np.count_nonzero(mask))
    if count > size - size // 16:
        return array[mask]  # type: ignore[no-any-return]
    elements, holds = array.ravel(), mask.ravel()
    if size <= _BLOCK:
        return elements.compress(holds)
    from tensorframe.backends.host_pool import pool  # loaded by the first plan

    selected: np.ndarray[Any, Any] = pool.empty((count,), array.dtype)
    end = 0
    for block in range(0, size, _BLOCK):
        places = holds[block : block + _BLOCK].nonzero()[0]
        begin, end = end, end + places.size
        # no place is out of bounds; to raise if one were, NumPy would copy the result
        elements[block : block + _BLOCK].take(places, out=selected[begin:end], mode="clip")
    return selected


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
        if len(_leading_views) >= _VIEWS_KEPT:
            _leading_views.clear()
        _leading_views[shape, key.start, key.stop, key.step] = (prod(sizes), view)
    return handle_on(
        new_node(SLICE, (node,), view, sizes, node.dtype, node.device, recording_site())
    )


def _many_leading(node: Node, key: slice) -> Tensor | None:
    """Return what `_leading` returned of a slice before, if that is many elements; None for all else."""
    start, stop, step = key.start, key.stop, key.step
    if type(start) not in BOUNDS or type(stop) not in BOUNDS or type(step) not in BOUNDS:
        return None  # equal, and not the same
    count, view = _leading_views.get((node.shape, start, stop, step), _NO_VIEW)
    if count <= (overridden() or Process.base).small_size:
        return None
    site = recording_site(3)
    return handle_on(new_node(SLICE, (node,), view, view[1], node.dtype, node.device, site))


def _view(node: Node, selection: Selection) -> Node:
    """Return the slice of a selection, under its shape: no larger than the node, so nothing is to be checked."""
    for axis, positions in selection.windows:
        node = record(GATHER, (node, positions), (axis,), axis, device=device_of((node, positions)))
    if not selection.is_whole(node.shape):
        view, site = selection.view, recording_site()
        node = new_node(SLICE, (node,), view, view[1], node.dtype, node.device, site)
    return _reshape(node, tuple(selection.shape))


def _reshape(node: Node, shape: Shape) -> Node:
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


def setitem(tensor: Tensor, key: Any, value: Any) -> None:
    """Make `tensor` a handle on a copy in which `value` replaces the elements that `key` selects.

    No other tensor changes. The value broadcasts to the selection and is cast to the tensor's dtype: ShapeError and
    DTypeError if it cannot be. A mask is computed only if the values are one for each selected element. Few elements
    that are computed, as the key and the values are, are replaced at once.
    """
    node = tensor.node
    values = as_values(value, node)
    replaced = _many_replaced(node, key, values) if type(key) is slice else None
    if replaced is None:
        replaced = few_replaced(node, key, values)
    tensor._rebind(_replaced(node, key, values) if replaced is None else replaced)
    if getrefcount(tensor) == TEMPORARY:
        warn_of_chained_assignment(node.shape)


def _replaced(node: Node, key: Any, values: Node) -> Node:
    """Return `node` with `values` in place of the elements that `key` selects."""
    if type(key) is Tensor and key.node.dtype in INTEGER and node.shape:
        return _with_rows(node, values, key)
    masked = _where(node, key, values)
    if masked is not None:
        return masked
    selection = parse(node, key)
    if selection.axes:
        part = _view(node, selection)
        values = _scatter(part, values, selection)
    else:
        values = _fit(values, tuple(selection.shape))
    return _set_slice(node, values, selection)


def _many_replaced(node: Node, key: slice, values: Node) -> Node | None:
    """Return `node` with many values where a slice selects as many that was parsed before; None for all else.

    That is what `x[a:b] += y` assigns: it has selected them right before.
    """
    start, stop, step = key.start, key.stop, key.step
    if type(start) not in BOUNDS or type(stop) not in BOUNDS or type(step) not in BOUNDS:
        return None  # equal, and not the same
    count, view = _leading_views.get((node.shape, start, stop, step), _NO_VIEW)
    if count <= (overridden() or Process.base).small_size or values.shape != view[1]:
        return None
    if values.device is not node.device:
        return None
    device, site = node.device, recording_site()
    return new_node(SET_SLICE, (node, values), view, node.shape, node.dtype, device, site)


def combined_at(op: Op, node: Node, key: Any, value: Any) -> Node:
    """Return `node` with `value` joined by `op` to the elements that `key` selects, each time that it does."""
    assert op.combination is not None
    values = as_values(value, node)
    selection = parse(node, key)
    part = _view(node, selection)
    if selection.axes:
        values = _scatter(part, values, selection, op)
    else:
        values = _fit(values, tuple(selection.shape))
        join = op.combination.join
        values = record_map(join, (part, values), node.device, recording_site())
    return _set_slice(node, values, selection)


def _scatter(part: Node, values: Node, selection: Selection, op: Op = SCATTER) -> Node:
    axes, indices = tuple(selection.axes), selection.indices
    device_of((part, *indices))  # raises where they cannot be brought together
    wanted = selected_shape(
        part.shape, tuple([index.shape for index in indices]), axes, selection.position
    )
    inputs = (part, _fit(values, wanted), *indices)
    return record(op, inputs, axes, selection.position, device=part.device)


def _with_rows(node: Node, values: Node, key: Tensor) -> Node:
    """Return `node` with values at the positions that one index tensor gives along its first axis."""
    index = index_node(key, 0, node.shape[0], node.device)
    device_of((node, index))  # raises where they cannot be brought together
    inputs = (node, _fit(values, index.shape + node.shape[1:]), index)
    return record(SCATTER, inputs, (0,), 0, device=node.device)


def _set_slice(node: Node, values: Node, selection: Selection) -> Node:
    if selection.windows:
        (axis, positions), *rest = selection.windows
        inner = replace(selection, windows=rest)
        part = record(GATHER, (node, positions), (axis,), axis, device=node.device)
        inputs = (node, _set_slice(part, values, inner), positions)
        return record(SCATTER, inputs, (axis,), axis, device=node.device)
    values = _reshape(values, tuple(selection.sizes))
    if selection.is_whole(node.shape) and values.device is node.device:
        return values
    return record(SET_SLICE, (node, values), *selection.view, device=node.device)


def _fit(values: Node, shape: Shape) -> Node:
    """Return `values` broadcast to the selection; leading axes of size 1 are dropped, as in NumPy."""
    surplus = max(len(values.shape) - len(shape), 0)
    if values.shape[:surplus] == (1,) * surplus:
        values = _reshape(values, values.shape[surplus:])
    if values.shape == shape:
        return values
    if values.shape and (
        len(values.shape) > len(shape) or broadcast("setitem", values.shape, shape) != shape
    ):
        raise ShapeError(
            f"values of shape {values.shape} do not broadcast to the selection's shape {shape}"
        )
    return record(EXPAND, (values,), shape)


def _where(node: Node, key: Any, values: Node) -> Node | None:
    """Return the result of setting by one mask, if the values do not depend on which elements it selects."""
    if not isinstance(key, Tensor | np.ndarray) or key.dtype not in BOOL:
        return None
    ndim, shape = key.ndim, node.shape
    rest = shape[ndim:]
    if ndim > len(shape) or key.shape != shape[:ndim] or len(values.shape) > len(rest):
        return None
    mask = _reshape(as_node(key), key.shape + (1,) * len(rest))
    return record_map(WHERE, (mask, _fit(values, rest), node), node.device, recording_site())


def as_values(value: Any, target: Node) -> Node:
    """Return `value` as a node of the target's dtype, for assignment: numbers of a higher kind raise DTypeError."""
    if type(value) is Tensor and value.node.dtype is target.dtype:
        return value.node
    value = plain(value)
    if type(value) in PYTHON_NUMBERS:
        known = example(value)
        if target.dtype in BOOL and type(value) is not TracedNumber and value in (0, 1):
            known = value = bool(value)
        if dtypes.weak(known, target.dtype) != target.dtype:
            raise_unless_assignable(dtypes.of_scalar(known), target.dtype)
        # what has one element may become the value itself, which is computed then
        make = weak_constant if target.shape else new_constant
        return make(value, target.dtype, target.device)
    node = as_node(value)
    raise_unless_assignable(node.dtype, target.dtype)
    if isinstance(value, SEQUENCES):
        # straight into the target's dtype: no digit is lost, and integers that do not fit it are refused
        return operand(value, dtype=target.dtype, device=target.device).node
    return cast(node, target.dtype)


_KINDS = {"bool": 0, "unsigned": 1, "signed": 1, "float": 2, "complex": 3}


def raise_unless_assignable(dtype: DType, target: DType) -> None:
    """Raise DTypeError if `target` is of a lower kind: bool, integer, floating and complex rise in this order."""
    if _KINDS[FORMAT[dtype].kind] <= _KINDS[FORMAT[target].kind]:
        return
    # complex numbers are not converted to real ones
    real = "values.real" if FORMAT[dtype].kind == "complex" else "values"
    raise DTypeError(
        f"values of dtype {dtype} are not assigned to a tensor of dtype {target}: they would lose a part",
        suggestions=(f"{real}.astype(tfr.{target})", f"x.astype(tfr.{dtype}) to keep all of them"),
    )


# the names that Python calls, for functions whose own names say more in this module
for _name, _method in (("__getitem__", getitem), ("__setitem__", setitem)):
    setattr(Tensor, _name, _method)
