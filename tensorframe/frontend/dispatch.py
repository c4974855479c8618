"""Dispatch: user values become operands, operands become a recorded node, the node becomes a Tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.graph.record import constant, record, record_map
from tensorframe.site import Site, recording_site
from tensorframe.ops.creation import DATA
from tensorframe.schedule.place import choose_device

PYTHON_NUMBERS = (bool, int, float, complex)


def apply(op: Op, *operands: Any) -> Tensor:
    """Record an elementwise op on Tensors, arrays and Python numbers, and return its Tensor."""
    site = recording_site()
    nodes = as_nodes(op, operands, site)
    return Tensor(record_map(op, nodes, device_of(nodes), site))


def call(op: Op, *inputs: Tensor, attrs: tuple[Any, ...] = ()) -> Tensor:
    """Record an op whose inputs already share a dtype (where it needs one) and return its Tensor."""
    nodes = tuple([tensor.node for tensor in inputs])
    return Tensor(record(op, nodes, *attrs, device=device_of(nodes)))


def device_of(nodes: tuple[Node, ...]) -> Device:
    """Return where an op on `nodes` runs."""
    device = nodes[0].device
    for node in nodes:
        if node.device is not device:
            return choose_device(nodes)
    return device


def as_nodes(op: Op, operands: tuple[Any, ...], site: Site | None) -> tuple[Node, ...]:
    """Return operands as nodes; Python numbers are weak: they take the dtype of the tensors beside them."""
    tensors = [as_node(one) if type(one) not in PYTHON_NUMBERS else None for one in operands]
    partners = [node.dtype for node in tensors[op.conditions :] if node is not None]
    like = dtypes.promote(*partners) if partners else None
    device = next((node.device for node in tensors if node is not None), CPU)
    return tuple(
        [
            weak_constant(value, like, device, site) if node is None else node
            for value, node in zip(operands, tensors, strict=True)
        ]
    )


def weak_constant(value: Any, like: DType | None, device: Device, site: Site | None) -> Node:
    """Return the constant node of a Python number beside a tensor of dtype `like`."""
    if like is None:
        return constant(value, dtypes.of_scalar(value), device, site)
    dtype = dtypes.weak(value, like)
    if dtype.kind in "iu":
        dtypes.check_fits(value, dtype)
    return constant(value, dtype, device, site)


def as_node(value: Any) -> Node:
    """Return the node of a Tensor, or of anything NumPy can make an array of."""
    if isinstance(value, Tensor):
        return value.node
    if isinstance(value, np.ndarray | np.generic):
        return data_node(np.array(value))
    raise DTypeError(
        f"{type(value).__name__} is not an operand",
        suggestions=("tfr.asarray(...) first",),
    )


def data_node(array: np.ndarray[Any, Any], device: Device = CPU) -> Node:
    """Return a computed node that shares the memory of `array`."""
    dtype = dtypes.as_dtype(array.dtype)
    if array.dtype is not dtype:
        array = array.astype(dtype)
    return Node(DATA, (), (), array.shape, dtype, device, None, Storage.of_array(device, array))
