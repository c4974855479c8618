"""Settings of the Dask device: whose scheduler runs the tasks, and how large blocks are."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.selection import as_bytes, show_bytes
from tensorframe.errors import ArgumentError
from tensorframe.quick_dataclasses import dataclass

CHUNK = 128 << 20
# A block that cannot hold one element of every dtype is none.
_LEAST = 16


@dataclass(slots=True, eq=False)
class Settings:
    """What `tfr.backends.configure("dask", ...)` says."""

    client: Any = None
    """A client of a cluster; None for whatever Dask itself would choose here."""
    chunk: int = CHUNK
    """Bytes that a block of a tensor has at most, unless what is computed needs larger ones."""

    def configure(self, options: dict[str, Any]) -> None:
        """Take new values; ArgumentError for what is no setting or no value of it, and then nothing changes."""
        unknown = [name for name in options if name not in ("client", "chunk")]
        if unknown:
            raise ArgumentError(
                f'configure("dask"): there is no setting {unknown[0]!r}',
                suggestions=("client=distributed.Client(...)", 'chunk="128 MiB"'),
            )
        client = _client(options["client"]) if "client" in options else self.client
        chunk = _chunk(options["chunk"]) if "chunk" in options else self.chunk
        self.client, self.chunk = client, chunk


def _chunk(value: Any) -> int:
    if value is None:
        return CHUNK
    size = as_bytes(value)
    if size is None or size < _LEAST:
        raise ArgumentError(
            f'configure("dask"): blocks of {show_bytes(size or 0)} hold no elements',
            suggestions=('chunk="128 MiB"',),
        )
    return size


def _client(value: Any) -> Any:
    if value is None:
        return None
    if not all(hasattr(value, name) for name in ("persist", "scatter", "cancel", "get")):
        raise ArgumentError(
            f'configure("dask"): client takes a distributed.Client, got {type(value).__name__}',
            suggestions=('client=distributed.Client("tcp://...")', "client=cluster.get_client()"),
        )
    if getattr(value, "asynchronous", False):
        raise ArgumentError(
            'configure("dask"): the client is asynchronous, and a tensor is read at once',
            suggestions=("distributed.Client(..., asynchronous=False)",),
        )
    if getattr(value, "status", "running") != "running":
        raise ArgumentError(
            f'configure("dask"): the client is {value.status}',
            suggestions=("a new distributed.Client(...)",),
        )
    return value
