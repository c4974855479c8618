"""Assignment: `x[key] = value` as a new tensor behind the same handle."""

from __future__ import annotations

from dataclasses import replace
from sys import getrefcount
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.config import Process, overridden
from tensorframe.dtypes import BOOL, FORMAT, INTEGER, DType
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.dispatch import device_of
from tensorframe.frontend.indexing.chained_assignment import TEMPORARY, warn_of_chained_assignment
from tensorframe.frontend.indexing.few_elements import few_replaced
from tensorframe.frontend.indexing.index_nodes import index_node
from tensorframe.frontend.indexing.items import NO_VIEW, leading_views, reshaped, view_of
from tensorframe.frontend.indexing.numpy_keys import BOUNDS
from tensorframe.frontend.indexing.selection import Selection, parse
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
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.op import Op
from tensorframe.graph.record import cast, record, record_map
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.elementwise import WHERE
from tensorframe.ops.indexing import GATHER, SCATTER, SET_SLICE, selected_shape
from tensorframe.ops.movement import EXPAND
from tensorframe.site import recording_site


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
        part = view_of(node, selection)
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
    count, view = leading_views.get((node.shape, start, stop, step), NO_VIEW)
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
    part = view_of(node, selection)
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
    values = reshaped(values, tuple(selection.sizes))
    if selection.is_whole(node.shape) and values.device is node.device:
        return values
    return record(SET_SLICE, (node, values), *selection.view, device=node.device)


def _fit(values: Node, shape: Shape) -> Node:
    """Return `values` broadcast to the selection; leading axes of size 1 are dropped, as in NumPy."""
    surplus = max(len(values.shape) - len(shape), 0)
    if values.shape[:surplus] == (1,) * surplus:
        values = reshaped(values, values.shape[surplus:])
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
    mask = reshaped(as_node(key), key.shape + (1,) * len(rest))
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


setattr(Tensor, "__setitem__", setitem)  # noqa: B010 - its own name says more in this module
