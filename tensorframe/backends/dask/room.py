"""Room: how many bytes one task may take on a cluster, before any of a plan's tasks runs.

Tasks that run in this process are compared with its memory together: see `within.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tensorframe.backends.selection import show_bytes

# Bytes that every worker has: nobody is asked for less.
_ALWAYS = 256 << 20

_client: ContextVar[Any] = ContextVar("tensorframe_dask_client", default=None)


@contextmanager
def of_client(client: Any) -> Iterator[None]:
    """Have tasks that are made in a block compared with the memory of a client's workers; with nothing for None."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def check_room(size: int) -> None:
    """Raise MemoryError if no worker can have so many bytes at once."""
    client = _client.get()
    if size <= _ALWAYS or client is None:
        return
    from tensorframe.backends.dask.cluster import largest_worker  # it asks the scheduler

    room = largest_worker(client)
    if room is not None and size > room:
        raise MemoryError(
            f"one task takes {show_bytes(size)} with its operands, no worker has more than "
            f"{show_bytes(room)}"
        )
