"""Masks: what they select, in host memory at once; where arrays lie in blocks, there, and only its size comes here."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import bool_
from tensorframe.frontend.dispatch import apply, handle_on
from tensorframe.frontend.indexing.few_elements import viewed
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.history import history
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import DATA
from tensorframe.ops.elementwise import NOT_EQUAL, REMAINDER
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.execution.failures import explain_leaf

# Bytes of a tensor up to which a mask selects in one thread, and what is selected is no matter of memory limits.
_SELECTED_AT_ONCE = 1 << 24
# Elements of a mask from which positions are worth a second call.
_BY_POSITIONS = 1024
# Elements of a mask whose positions are in the cache when they are used.
_BLOCK = 1 << 15


def elements_where(node: Node, mask: Node) -> Tensor | None:
    """Return the elements of a tensor where a mask holds, in host memory or in blocks; None where they are recorded.

    The mask is computed in any case, with what it selects from: to select at once takes less time than to find the
    positions that a look-up would be recorded for.
    """
    if in_blocks(node.device):
        return _selected_in_blocks(node, mask)
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
    elements = _selected_on_host(array, holds)
    return viewed(elements, elements.shape, node)


def in_blocks(device: Device) -> bool:
    """Whether masks of a device's tensors are to stay there: no gradient needs to know what they select."""
    return capabilities(device).chunked and history.get() is None


def _selected_in_blocks(node: Node, mask: Node) -> Tensor | None:
    """Return the elements of a tensor in blocks where a mask of its first axes holds; None if the host finds them."""
    count = len(mask.shape)
    if not count or mask.shape != node.shape[:count] or 0 in node.shape:
        return None
    if mask.device is not node.device:
        mask = Tensor(mask).to_device(node.device).node
    if mask.storage is None or node.storage is None:
        evaluate((mask, node))
    return _found(mask, node)


def positions(tensor: Tensor) -> Tensor | None:
    """Return where a tensor in blocks is not zero, in its flattened elements; None where the host finds out."""
    node = tensor.node
    if not in_blocks(node.device) or not node.shape or 0 in node.shape:
        return None
    mask = node if node.dtype is bool_ else apply(NOT_EQUAL, tensor, 0).node
    if mask.storage is None:
        evaluate((mask,))
    return _found(mask, None)


def coordinates(flat: Tensor, shape: Shape) -> tuple[Tensor, ...]:
    """Return the index along each axis of a tensor of `shape` of elements that are counted in C order."""
    rest, along = flat, []
    for size in reversed(shape[1:]):
        along.append(apply(REMAINDER, rest, size))
        rest = rest // size
    return (rest, *reversed(along))


def _selected_on_host(
    array: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
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


def _found(mask: Node, values: Node | None) -> Tensor | None:
    if mask.storage is None or (values is not None and values.storage is None):
        return None
    try:
        storage = backend_of(mask.device).boolean_mask(
            mask.storage, None if values is None else values.storage
        )
    except MemoryError as error:
        explain_leaf(error, mask if values is None else values)
    return None if storage is None else _computed(storage)


def _computed(storage: Storage) -> Tensor:
    """Return the tensor of values that are there, and that nothing recorded."""
    node = new_node(DATA, (), (), storage.shape, storage.dtype, storage.device, None)
    node.storage = storage
    return handle_on(node)
