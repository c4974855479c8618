"""Copies between the host and a device of OpenCL: on a queue of their own, through pinned memory where that helps.

Drivers copy from and to a program's memory by way of memory that the device can reach. Pieces of that which stay mapped
save one copy, and two of them overlap: the host fills one while the device has the other. Where a device works in the
host's memory there is nothing to gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyopencl as cl

from tensorframe.backends.critical import critical_section
from tensorframe.backends.device.queue import Bytes

# Bytes of a piece: enough for the bus to run at full speed, and two of them stay in the processor's cache.
_PIECE = 4 << 20
_PIECES = 2


class _Piece:
    """Pinned memory that host and device see, and the event of the copy that uses it."""

    def __init__(self, context: Any, queue: Any) -> None:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        self._buffer = cl.Buffer(context, flags, _PIECE)
        access: Any = cl.map_flags.READ | cl.map_flags.WRITE
        mapped: Any = cl.enqueue_map_buffer(
            *(queue, self._buffer, access, 0, (_PIECE,)), np.dtype(np.uint8), is_blocking=True
        )
        self.memory: Bytes = mapped[0]
        self.copy: Any = None

    def wait(self) -> None:
        """Wait until nothing uses it; raise what went wrong, once."""
        copy, self.copy = self.copy, None
        if copy is not None:
            copy.wait()


class Copies:
    """Copies that are over when their method returns, on the queue that they are given."""

    def __init__(self, context: Any, device: Any) -> None:
        self._context = context
        self._suits = not device.host_unified_memory
        self.queue: Any = cl.CommandQueue(context, device)
        """That of copies, for those that do not wait for all kernels."""
        self.is_pinned = self._suits
        """Whether they go through pinned memory."""
        self._pieces: list[_Piece] | None = None

    def write(self, queue: Any, buffer: Any, offset: int, data: Bytes, after: Any) -> None:
        """Copy bytes of the host into a buffer, after these events."""
        pieces = self._mapped() if self.is_pinned else ()
        if not pieces:
            cl.enqueue_copy(
                queue, buffer, data, dst_offset=offset, is_blocking=True, wait_for=after
            )
            return
        try:
            for piece, first, last in _ranges(pieces, data.nbytes):
                piece.wait()
                part = piece.memory[: last - first]
                part[:] = data[first:last]
                with critical_section():  # an interrupt would lose the event
                    piece.copy = cl.enqueue_copy(
                        *(queue, buffer, part),
                        dst_offset=offset + first,
                        is_blocking=False,
                        wait_for=after,
                    )
                queue.flush()
            for piece in pieces:
                piece.wait()
        except BaseException:
            queue.finish()  # since the buffer may be used for something else
            raise

    def read(self, queue: Any, buffer: Any, offset: int, nbytes: int, after: Any) -> Bytes:
        """Return a copy of bytes of a buffer, as they are after these events."""
        data = np.empty(nbytes, np.uint8)
        pieces = self._mapped() if self.is_pinned else ()
        if not pieces:
            cl.enqueue_copy(
                queue, data, buffer, src_offset=offset, is_blocking=True, wait_for=after
            )
            return data
        under_way: list[tuple[_Piece, int, int]] = []
        for piece, first, last in _ranges(pieces, nbytes):
            if len(under_way) == len(pieces):
                _take(data, *under_way.pop(0))
            piece.wait()
            with critical_section():
                piece.copy = cl.enqueue_copy(
                    *(queue, piece.memory[: last - first], buffer),
                    src_offset=offset + first,
                    is_blocking=False,
                    wait_for=after,
                )
            queue.flush()
            under_way.append((piece, first, last))
        for each in under_way:
            _take(data, *each)
        return data

    def touch(self, buffer: Any) -> None:
        """Write to a new buffer, and wait: drivers find out then that there is no memory for it."""
        cl.enqueue_fill_buffer(self.queue, buffer, np.zeros(1, np.uint8), 0, 1).wait()

    def pin(self, pinned: bool | None) -> None:
        """Use pinned memory from now on, or none, or what suits the device."""
        self.queue.finish()
        self.is_pinned, self._pieces = self._suits if pinned is None else pinned, None

    def close(self) -> None:
        """Release the queue, and what is pinned."""
        self.queue.finish()
        self._pieces = self.queue = self._context = None

    def _mapped(self) -> Sequence[_Piece]:
        """Return the pinned pieces; none where there are none to be had."""
        if self._pieces is None:
            try:
                self._pieces = [_Piece(self._context, self.queue) for _ in range(_PIECES)]
            except cl.Error:  # systems limit what may be pinned
                self._pieces = []
        return self._pieces


def _take(data: Bytes, piece: _Piece, first: int, last: int) -> None:
    piece.wait()
    data[first:last] = piece.memory[: last - first]


def _ranges(pieces: Sequence[_Piece], nbytes: int) -> Iterator[tuple[_Piece, int, int]]:
    """Yield a piece of memory, and the range of bytes that goes through it."""
    for number, first in enumerate(range(0, nbytes, _PIECE)):
        yield pieces[number % len(pieces)], first, min(first + _PIECE, nbytes)
