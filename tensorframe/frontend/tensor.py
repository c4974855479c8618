"""Tensor: a handle on a node of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.runtime.evaluate import evaluate


class Tensor:
    """A multi-dimensional array whose operations are recorded, and computed when a value is needed.

    Made by `asarray`, `zeros`, `arange` and the other creation functions, never by calling the class.
    """

    __slots__ = ("__weakref__", "node")

    # ndarray + Tensor asks us, not NumPy
    __array_priority__ = 1000.0

    def __init__(self, node: Node) -> None:
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self.node.dtype

    @property
    def device(self) -> Device:
        """The device that holds, or will hold, the elements."""
        return self.node.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.node.size

    def compute(self) -> Tensor:
        """Compute the elements now, keep them, and return this tensor."""
        if self.node.storage is None:
            evaluate((self.node,))
        return self

    def _array(self) -> np.ndarray[Any, Any]:
        """Return the elements as NumPy holds them; not to be written to."""
        node = self.node
        if node.storage is None:
            evaluate((node,))
        array: np.ndarray[Any, Any] = node.storage.handle
        return array

    def numpy(self, *, copy: bool = False) -> np.ndarray[Any, Any]:
        """Return the elements as a NumPy array: a read-only view, or a writable copy."""
        array = self._array()
        if copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = False
        return view

    def item(self) -> Any:
        """Return the only element as a Python number."""
        return self._array().item()
