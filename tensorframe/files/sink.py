"""Sinks: arrays that lie elsewhere, written by windows, and there for others when they are complete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from tensorframe.graph.node import Node
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


class Copies:
    """Sinks that are given the same: those of one value that has several names."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks

    def write(self, window: Window, array: Array) -> None:
        """Write to each."""
        for sink in self._sinks:
            sink.write(window, array)

    def flush(self) -> None:
        """Flush each."""
        for sink in self._sinks:
            sink.flush()

    def close(self) -> None:
        """Close each."""
        for sink in self._sinks:
            sink.close()

    def abort(self) -> None:
        """Abort each."""
        for sink in self._sinks:
            sink.abort()


def sink_of_each(values: Iterable[Node], sinks: Iterable[Sink]) -> dict[Node, Sink]:
    """Return what each value is written to: those that come more than once, as equal ones do, to all of their sinks."""
    by_node: dict[Node, list[Sink]] = {}
    for value, sink in zip(values, sinks, strict=True):
        by_node.setdefault(value, []).append(sink)
    return {value: own[0] if len(own) == 1 else Copies(own) for value, own in by_node.items()}
