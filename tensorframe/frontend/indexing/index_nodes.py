"""Index tensors: positions along an axis as nodes, their bounds checked as soon as their elements are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import int64, uint64
from tensorframe.errors import IndexingError
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on, holds
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import cast, constant, record_map
from tensorframe.ops.elementwise import MAXIMUM, MINIMUM
from tensorframe.site import recording_site

Array = np.ndarray[Any, Any]

_UNSIGNED = {np.dtype(f"i{size}"): np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_LARGEST = 2**31 - 2  # the size of an axis whose positions, and one beyond either end, fit 32 bits


def as_array(item: Any) -> Array:
    """Return the elements of an array or Tensor as NumPy holds them."""
    return item._array() if isinstance(item, Tensor) else item


def check_bounds(index: int, axis: int, size: int) -> int:
    """Return `index` counted from the front; IndexingError if there is no such element."""
    if -size <= index < size:
        return index + size if index < 0 else index
    raise out_of_bounds(index, axis, size)


def out_of_bounds(index: int, axis: int, size: int) -> IndexingError:
    """Return the error for an index that no element has."""
    message = f"index {index} is out of bounds for axis {axis} with size {size}"
    return IndexingError(
        message, suggestions=(f"an index from {-size} to {size - 1}",) if size else ()
    )


def index_node(item: Any, axis: int, size: int, device: Device, *, checked: bool = False) -> Node:
    """Return the node of an index tensor; bounds are checked now if its elements are known, else when it runs.

    `checked` says that whoever calls knows the elements to be within bounds.
    """
    if isinstance(item, Tensor):
        known = item.node
        while known.op.kind is Kind.TRANSFER and known.inputs:
            known = known.inputs[0]
        here = known.storage is not None and isinstance(known.storage.handle, np.ndarray)
        if here and not checked:
            _check_all(known.storage.handle, axis, size)
        node = cast(item.node, int64) if item.dtype == uint64 else item.node
        return node if holds(device, node.dtype) else _narrowed(node, size, device)
    _check_all(item, axis, size)
    return positions_node(np.array(item), size, device)


def positions_node(positions: Array, size: int, device: Device) -> Node:
    """Return positions below `size` as the integers that the device holds; the array becomes the node's own."""
    dtype = default_on(device, int64) if size < _LARGEST else int64
    return data_node(positions.astype(dtype, copy=False), device)


def _narrowed(node: Node, size: int, device: Device) -> Node:
    """Return an index tensor in the integers that the device holds; what is out of bounds stays so."""
    dtype = default_on(device, node.dtype)
    if size >= _LARGEST or dtype == node.dtype:
        return node
    for op, bound in ((MINIMUM, size), (MAXIMUM, -size - 1)):
        limit = constant(bound, node.dtype, node.device, recording_site())
        node = record_map(op, (node, limit), node.device, recording_site())
    return cast(node, dtype)


def _check_all(indices: Array, axis: int, size: int) -> None:
    if indices.size == 0:
        return
    # one pass does where none counts from the end: as unsigned numbers, such are the largest
    unsigned = _UNSIGNED.get(indices.dtype)
    words = indices if unsigned is None else indices.view(unsigned)
    if np.maximum.reduce(words, axis=None) < size:  # `max` is this, after half a microsecond
        return
    for reduce in (np.minimum.reduce, np.maximum.reduce):
        check_bounds(int(reduce(indices, axis=None)), axis, size)
