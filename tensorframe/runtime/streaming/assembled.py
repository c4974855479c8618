"""Assembled results: a sink in memory, for streams whose roots are wanted there."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.graph.node import Node
from tensorframe.rewrite.views import Window
from tensorframe.runtime.execution.leaves import placed
from tensorframe.runtime.streaming.partial_aggregates import Array


class Assembled:
    """A sink in memory: the array that the blocks of a root are put together in."""

    def __init__(self, like: Node) -> None:
        self.array: Array = np.empty(like.shape, like.dtype)
        self._like = like

    def open(self, shape: Any, dtype: Any) -> None:
        """Do nothing: there is room."""

    def write(self, window: Window, array: Array) -> None:
        """Put a block where it belongs."""
        self.array[window.key()] = array

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def abort(self) -> None:
        """Do nothing."""

    def storage(self) -> Any:
        """Return the storage of the result, on its device."""
        return placed(self.array, self._like.device)
