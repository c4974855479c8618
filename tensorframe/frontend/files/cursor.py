"""Cursors: a compressed member is gone through once, forwards, by who reads its windows in order."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from typing import IO

from tensorframe.files.access import broken
from tensorframe.forks import new_lock
from tensorframe.frontend.files.segment import Stamp, open_to_read
from tensorframe.frontend.files.zip_errors import zip_errors

SKIP = 1 << 20  # bytes that are unpacked at a time to be passed over


class Cursor:
    """A place in an unpacked member; what lies before it is unpacked again, from the beginning on."""

    def __init__(self, path: str, name: str, stamp: Stamp, member: str, size: int) -> None:
        """`size` is the number of unpacked bytes: when they were all read, the file is closed."""
        self._path = path
        self._name = name
        self._stamp = stamp
        self._member = member
        self._size = size
        self._lock = new_lock()
        self._open = ExitStack()
        self._stream: IO[bytes] | None = None
        self._position = 0

    def read_at(self, position: int, buffer: memoryview) -> None:
        """Fill a buffer with the unpacked bytes from a position on; the checksum is compared at their end."""
        with self._lock:
            try:
                with zip_errors(self._path):
                    self._go_to(position)
                    self._take(buffer)
            except BaseException:
                self._close()
                raise
            if self._position == self._size:
                self._close()

    def _go_to(self, position: int) -> None:
        if self._stream is None or position < self._position:
            self._close()
            file = self._open.enter_context(open_to_read(self._path))
            self._stamp.check(file, self._path)
            archive = self._open.enter_context(zipfile.ZipFile(file))
            self._stream = self._open.enter_context(archive.open(self._member))
        skipped = bytearray(min(SKIP, position - self._position))
        while self._position < position:
            self._take(memoryview(skipped)[: position - self._position])

    def _take(self, buffer: memoryview) -> None:
        assert self._stream is not None
        done = 0
        while done < len(buffer):
            # not readinto, which unpacks all that is asked for into memory of its own
            data = self._stream.read(min(SKIP, len(buffer) - done))
            if not data:
                raise broken(
                    self._path, f"{self._name!r} unpacks to fewer bytes than its header says"
                )
            buffer[done : done + len(data)] = data
            done += len(data)
            self._position += len(data)

    def __del__(self) -> None:
        self._open.close()

    def _close(self) -> None:
        self._open.close()
        self._open = ExitStack()
        self._stream = None
        self._position = 0
