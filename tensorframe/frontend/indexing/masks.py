"""Masks where arrays lie in blocks: what they select is found beside the blocks, and only its size comes here."""

from __future__ import annotations

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import bool_
from tensorframe.frontend.dispatch import apply, handle_on
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.history import history
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import DATA
from tensorframe.ops.elementwise import NOT_EQUAL, REMAINDER
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.execution.failures import explain_leaf


def in_blocks(device: Device) -> bool:
    """Whether masks of a device's tensors are to stay there: no gradient needs to know what they select."""
    return capabilities(device).chunked and history.get() is None


def selected(node: Node, mask: Node) -> Tensor | None:
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
