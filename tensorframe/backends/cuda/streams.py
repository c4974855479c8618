"""Streams of other libraries, and how our work follows theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy

from tensorframe.backends.cuda.queue import CudaQueue


class _Handle:
    """A `cudaStream_t` by its address, as CuPy takes streams over."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, and the address."""
        return 0, self._address


def stream_of(stream: Any, queue: CudaQueue) -> Any | None:
    """Return a stream as CuPy's; None for what is none.

    It is one of CuPy's, an object with `__cuda_stream__` or PyTorch's `cuda_stream`, or an address as an integer.
    """
    if hasattr(stream, "ptr") and hasattr(stream, "wait_event"):
        return stream
    address = getattr(stream, "cuda_stream", stream)
    if type(address) is int and address >= 0:
        stream = _Handle(address)
    elif not hasattr(stream, "__cuda_stream__"):
        return None
    with queue.lock:
        if hasattr(cupy.cuda.Stream, "from_external"):
            return cupy.cuda.Stream.from_external(stream)
        return cupy.cuda.ExternalStream(stream.__cuda_stream__()[1])  # before CuPy 14


@contextmanager
def in_order(queue: CudaQueue, stream: Any) -> Iterator[None]:
    """Have what the queue is given inside follow a stream's work, and what the stream is given later follow it."""
    with queue.lock:
        queue.stream.wait_event(stream.record())
        queue.note_unseen()
    yield
    with queue.lock:
        stream.wait_event(queue.stream.record())
