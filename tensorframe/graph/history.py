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

# One for each gradient that is being recorded, by any thread: where there is none, nobody need ask for a history. So it
# is with calls whose nodes are remembered: what they see of a computed tensor has to be made of that, each time.
recordings: list[None] = []


@contextmanager
def recording_history() -> Iterator[dict[Any, tuple[Any, ...]]]:
    """Keep the inputs of nodes that are computed in the block; inner blocks share those of the outermost one."""
    kept = history.get()
    if kept is not None:
        yield kept
        return
    kept = {}
    recordings.append(None)
    token = history.set(kept)
    try:
        yield kept
    finally:
        history.reset(token)
        recordings.pop()
