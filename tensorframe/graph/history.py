"""History: the inputs of nodes that are computed while a gradient is being recorded.

A computed node drops its inputs. Inside a differentiated function values may be looked at, printed or branched on,
and the way from the result back to the arguments must not end there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# node -> the inputs that it had; None where nothing is being recorded
history: ContextVar[dict[Any, tuple[Any, ...]] | None] = ContextVar(
    "tensorframe_history", default=None
)

# One for each that has to find nodes where others need values alone: a gradient that is being recorded, and a call
# whose nodes are remembered, which makes what it sees of a computed tensor of that, each time. By any thread: where
# there is none, nobody need look further.
needing_nodes: list[None] = []


@contextmanager
def all_as_nodes() -> Iterator[None]:
    """Let whatever is recorded in the block be nodes, and none of them a value at once."""
    needing_nodes.append(None)
    try:
        yield
    finally:
        needing_nodes.pop()


@contextmanager
def recording_history() -> Iterator[dict[Any, tuple[Any, ...]]]:
    """Keep the inputs of nodes that are computed in the block; inner blocks share those of the outermost one."""
    kept = history.get()
    if kept is not None:
        yield kept
        return
    kept = {}
    token = history.set(kept)
    try:
        with all_as_nodes():
            yield kept
    finally:
        history.reset(token)
