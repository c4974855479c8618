"""Sinks: arrays that lie elsewhere, written by windows, and there for others when they are complete."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

Array = np.ndarray[Any, Any]


class Sink(Protocol):
    """An array that is written by windows, each element once, in any order, by one thread at a time.

    Who makes a sink opens it, and then closes or aborts it; a plan that runs only writes. `str()` names it for people.
    """

    def open(self, shape: Shape, dtype: DType) -> None:
        """Make room for an array of this shape and dtype; nobody sees it yet where that can be had."""

    def write(self, window: Window, array: Array) -> None:
        """Write the elements that a window shows; they may be changed once this returns."""

    def close(self) -> None:
        """Publish what was written, all at once: it is safe when this returns."""

    def abort(self) -> None:
        """Leave nothing of what was written, and what was there before as it was; does nothing after `close`."""
