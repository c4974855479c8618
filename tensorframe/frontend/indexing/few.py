"""Few elements of computed tensors in host memory: what a key selects is there at once, and nothing is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.config import Process, overridden
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import recordings
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import DATA

_blank = object.__new__
# Bounds of slices that are numbers now: those of others may be computed, or unknown while a function is traced.
_BOUNDS: frozenset[type] = frozenset({int, type(None)})


def few_viewed(node: Node, *key: Any) -> Tensor | None:
    """Return the few elements that integers and slices select of a computed tensor in host memory; None for all else.

    Nothing is recorded, unless for a gradient: to record it and look it up takes longer. Views of many elements are,
    since plans fuse them.
    """
    storage = node.storage
    if storage is None or type(storage.handle) is not np.ndarray or recordings:
        return None
    for item in key:
        kind = type(item)
        if kind is slice:
            if not (
                type(item.start) in _BOUNDS
                and type(item.stop) in _BOUNDS
                and type(item.step) in _BOUNDS
            ):
                return None
        elif kind is not int:
            return None
    try:
        view = storage.handle[key]
    except (IndexError, ValueError):
        return None  # which `parse` explains
    if view.size > (overridden() or Process.base).small_size:
        return None
    return viewed(view, view.shape, node)


def viewed(array: np.ndarray[Any, Any], shape: Shape, node: Node) -> Tensor:
    """Return a view of the array of a computed node, or some of its elements, as a tensor that is computed, too."""
    source = node.storage
    if type(source) is not Storage and array.base is not None:
        storage: Storage = source.viewed(array)  # in a file, at whose size it looks
    else:  # constructors written out: loops over elements come by here
        storage = _blank(Storage)
        storage.device = node.device
        storage.handle = array
        storage.dtype = node.dtype
        storage.shape = shape
    handle = _blank(Tensor)
    handle.node = part = new_node(DATA, (), (), shape, node.dtype, node.device, None)
    part.storage = storage
    return handle
