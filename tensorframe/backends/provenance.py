"""Provenance: the step of a plan that a program runs for, which backends of clusters name their tasks by.

The executor sets it where a device `chunked`; elsewhere nothing is known, and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tensorframe.quick_dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Provenance:
    """What is known of the step that runs: its place in the plan, its ops in short, and the line that recorded it."""

    step: int = 0
    ops: str = ""
    line: str = ""
    """The last part of the file's name, or the cell, and the line: `analysis.py:12`."""
    alone: bool = False
    """Whether it is the only step and nobody watches the run: what it gives may be there before the plan's end."""
    layers: dict[str, int] = field(default_factory=dict)
    """Step by the name of each layer of tasks that programs of this run made."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes that a task of a layer takes, with its operands."""

    def step_of(self, key: str) -> int | None:
        """Return the step that made a task, by the text of its key; None for what is not of this run."""
        return next((step for name, step in self.layers.items() if name in key), None)

    def size_of(self, key: str) -> int | None:
        """Return the bytes that a task takes, by the text of its key; None where that is not known."""
        return next((size for name, size in self.sizes.items() if name in key), None)


_current: ContextVar[Provenance | None] = ContextVar("tensorframe_provenance", default=None)


@contextmanager
def known(provenance: Provenance) -> Iterator[None]:
    """Have programs of a block know what they run for."""
    token = _current.set(provenance)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Provenance | None:
    """Return what is known of the step that runs; None outside of plans of chunked devices."""
    return _current.get()
