"""Sinks: arrays that lie elsewhere, written by windows, and there for others when they are complete."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tensorframe.rewrite.views import Window

Array = np.ndarray[Any, Any]


class Sink(Protocol):
    """An array that is written by windows, each element once, in any order, by one thread at a time.

    Who makes a sink, for an array of a certain shape and dtype, closes or aborts it; a plan that runs only writes, and
    flushes. `str()` names it for people.
    """

    def write(self, window: Window, array: Array) -> None:
        """Write the elements that a window shows; they may be changed once this returns. Raises WriteError."""

    def flush(self) -> None:
        """Have what was written leave memory: until a disk has it, the system counts it as this process's."""

    def close(self) -> None:
        """Publish what was written, all at once."""

    def abort(self) -> None:
        """Leave nothing of what was written, and what was there before as it was; does nothing after `close`."""
