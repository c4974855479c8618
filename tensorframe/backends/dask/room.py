"""Room: how many bytes one task may take, before any of a plan's tasks runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tensorframe.backends import host_memory
from tensorframe.backends.selection import show_bytes

# Bytes that every worker has: nobody is asked for less.
_ALWAYS = 256 << 20

_client: ContextVar[Any] = ContextVar("tensorframe_dask_client", default=None)


@contextmanager
def of_client(client: Any) -> Iterator[None]:
    """Have tasks that are made in a block compared with the memory of a client's workers; of this machine for None."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def check_room(size: int) -> None:
    """Raise MemoryError if no worker can have so many bytes at once."""
    if size <= _ALWAYS:
        return
    client = _client.get()
    if client is None:
        room, who = host_memory.available(), "this machine has"
    else:
        from tensorframe.backends.dask.cluster import largest_worker  # it asks the scheduler

        room, who = largest_worker(client), "no worker has more than"
    if room is not None and size > room:
        raise MemoryError(
            f"one task takes {show_bytes(size)} with its operands, {who} {show_bytes(room)}"
        )
