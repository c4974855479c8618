"""Staging: transfers through memory that the driver does not have to copy from itself, in pieces that overlap.

They have a stream of their own. Copies to the device are followed by the stream of kernels piece by piece, so that an
interrupt between two of them leaves nothing that a kernel could overtake.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from tensorframe.backends.critical import critical_section
from tensorframe.backends.device.queue import Bytes

# Bytes of a piece: enough for the bus to run at full speed, and two of them stay in the processor's cache.
_PIECE = 4 << 20
_PIECES = 2


class Staging:
    """Pinned memory of a stream of copies. Where the system grants none, the driver copies by itself."""

    def __init__(self, stream: Any, kernels: Any, *, pinned: bool = True) -> None:
        """`kernels` is the stream that follows copies to the device."""
        self._stream, self._kernels = stream, kernels
        self._pieces: list[tuple[Bytes, Any]] | None = None if pinned else []

    def write(self, address: int, data: Bytes) -> None:
        """Copy bytes to the device; `data` may change as soon as this returns."""
        pieces = self._pinned()
        if not pieces:
            with critical_section():
                self._copy(address, _address(data), data.size, cupy.cuda.runtime.memcpyHostToDevice)
                self._stream.synchronize()
            return
        for slot, first, last in _ranges(data.size):
            memory, event = pieces[slot]
            event.synchronize()  # its last transfer
            memory[: last - first] = data[first:last]
            with critical_section():
                self._copy(
                    address + first,
                    _address(memory),
                    last - first,
                    cupy.cuda.runtime.memcpyHostToDevice,
                )
                event.record(self._stream)
                self._kernels.wait_event(event)

    def read(self, address: int, nbytes: int) -> Bytes:
        """Wait for everything before, and return a copy of bytes of the device."""
        data = np.empty(nbytes, np.uint8)
        pieces = self._pinned()
        if not pieces:
            self._copy(_address(data), address, nbytes, cupy.cuda.runtime.memcpyDeviceToHost)
            self._stream.synchronize()
            return data
        waiting: list[tuple[int, int, int]] = []
        for slot, first, last in _ranges(nbytes):
            if len(waiting) == _PIECES:
                self._take(data, *waiting.pop(0))
            memory, event = pieces[slot]
            event.synchronize()
            with critical_section():  # the piece is not used again before this is over
                self._copy(
                    _address(memory),
                    address + first,
                    last - first,
                    cupy.cuda.runtime.memcpyDeviceToHost,
                )
                event.record(self._stream)
            waiting.append((slot, first, last))
        for piece in waiting:
            self._take(data, *piece)
        return data

    def _take(self, data: Bytes, slot: int, first: int, last: int) -> None:
        assert self._pieces is not None
        memory, event = self._pieces[slot]
        event.synchronize()
        data[first:last] = memory[: last - first]

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        cupy.cuda.runtime.memcpyAsync(target, source, nbytes, kind, self._stream.ptr)

    def _pinned(self) -> list[tuple[Bytes, Any]]:
        if self._pieces is None:
            try:
                self._pieces = [_piece() for _ in range(_PIECES)]
            except (MemoryError, RuntimeError):  # containers limit what may be pinned
                self._pieces = []
        return self._pieces


def _piece() -> tuple[Bytes, Any]:
    memory = cupy.cuda.alloc_pinned_memory(_PIECE)
    return np.frombuffer(memory, np.uint8, _PIECE), cupy.cuda.Event(disable_timing=True)


def _ranges(nbytes: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number of a piece of memory, and the range of bytes that goes through it."""
    for number, first in enumerate(range(0, nbytes, _PIECE)):
        yield number % _PIECES, first, min(first + _PIECE, nbytes)


def _address(data: Bytes) -> int:
    address: int = data.__array_interface__["data"][0]
    return address
