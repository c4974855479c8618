"""Recording: the shape, dtype and device of a new node, by the rules of its row."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from tensorframe.dtypes import DType, bool_
from tensorframe.graph.device import Device
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.holding import holder
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.op import Kind, Op, dtype_error, find, same
from tensorframe.graph.shape import Shape, broadcast, check_size
from tensorframe.graph.tracing import TracedNumber, current
from tensorframe.site import Site, recording_site

_REDUCE = Kind.REDUCE


def record(
    op: Op,
    inputs: tuple[Node, ...],
    *attrs: Any,
    device: Device | None = None,
    site: Site | None = None,
) -> Node:
    """Return the node of `op` applied to inputs that already have the dtype the row computes in.

    Errors of the row's rules raise here, at the user's line, which is `site` where that is known already.
    """
    first = inputs[0]
    own = first.dtype
    if own not in op.accepts:
        raise dtype_error(op, tuple(node.dtype for node in inputs))
    shapes = (first.shape,) if len(inputs) == 1 else tuple([node.shape for node in inputs])
    if op.shape is None:
        shape = broadcast(op.name, *shapes)
    else:
        shape = op.shape(shapes, *attrs)
        # those of a reduction are smaller than what has been checked
        if shape is not shapes[0] and op.kind is not _REDUCE:
            check_size(op.name, shape)
    dtype = own if op.result is same else op.result(own, *attrs)
    if device is None:
        device = first.device
    if dtype is not own or device is not first.device:
        device = holder(device, dtype, op.name)
    return new_node(op, inputs, attrs, shape, dtype, device, site or recording_site())


def source(op: Op, shape: Shape, dtype: DType, device: Device, *attrs: Any) -> Node:
    """Return a node without inputs: a constant, arange, full."""
    return Node(op, (), attrs, check_size(op.name, shape), dtype, device, recording_site())


def constant(
    value: complex | TracedNumber, dtype: DType, device: Device, site: Site | None
) -> Node:
    """Return the 0-d node of a Python or NumPy number."""
    return Node(find("constant"), (), (value,), (), dtype, device, site)


def cast(node: Node, dtype: DType) -> Node:
    """Return `node` converted to `dtype`; a constant converts at once, at no cost."""
    own = node.dtype
    if own is dtype or own == dtype:
        return node
    if not node.inputs and node.op.name == "constant":
        value = node.attrs[0]
        convert = partial(_converted, source=node.dtype, target=dtype)
        number = value.then(convert) if type(value) is TracedNumber else convert(value)
        return constant(number, dtype, node.device, node.site)
    device = holder(node.device, dtype, "cast")
    return new_node(find("cast"), (node,), (dtype,), node.shape, dtype, device, node.site)


def shared_cast(node: Node, dtype: DType) -> Node:
    """Return `node` converted to `dtype`, by a cast that somebody waits for or refers to, if there is one.

    A loop converts the same operand in each turn. What looks at nodes, such as a gradient, has casts of its own.
    """
    if node.dtype is dtype or needing_nodes or current.get() is not None:
        return cast(node, dtype)
    known = getattr(node, "converted", None)
    converted: Node | None = None if known is None else known()
    if converted is None or converted.dtype is not dtype:
        converted = cast(node, dtype)
        if converted.inputs:
            node.converted = ref(converted)
    return converted


def _converted(value: complex, source: DType, target: DType) -> complex:
    """Return a number of dtype `source` as a cast on a device would: rounded to `source` first, wrapped, cut off."""
    with np.errstate(all="ignore"):
        rounded = np.asarray(value).astype(source)
        if rounded.dtype.kind == "c" and target.kind not in "cb":
            rounded = rounded.real
        number = rounded.astype(target).item()
    # bfloat16 comes out as a scalar of its own
    return number if isinstance(number, complex | float | int) else float(number)


def record_map(op: Op, operands: tuple[Node, ...], device: Device, site: Site | None) -> Node:
    """Return the node of an elementwise row: operands promoted, cast and broadcast; conditions are truth values."""
    compute, dtype = op.resolve(tuple([node.dtype for node in operands[op.conditions :]]))
    shapes = [node.shape for node in operands]
    shape = shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast(op.name, *shapes)
    inputs = tuple(
        [
            shared_cast(node, compute if index >= op.conditions else bool_)
            for index, node in enumerate(operands)
        ]
    )
    return Node(op, inputs, (), shape, dtype, holder(device, dtype, op.name), site)


def is_constant(node: Node) -> bool:
    """Whether the node is a number known while recording; one that was computed is an array of its device."""
    return node.storage is None and node.op.kind is Kind.SOURCE and node.op.name == "constant"
