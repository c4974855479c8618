"""Checksums: what members of zip files must have, compared or made while their bytes go by."""

from __future__ import annotations

import zlib
from typing import IO, Any

from tensorframe.errors import FileFormatError
from tensorframe.files.access import broken
from tensorframe.forks import new_lock
from tensorframe.quick_dataclasses import dataclass, field

CRC_BLOCK = 1 << 20


@dataclass(slots=True)
class RunningChecksum:
    """How far a stretch of a file went by in order, and the CRC-32 up to there."""

    lock: Any = field(default_factory=new_lock)
    end: int = 0
    crc: int = 0

    def begin(self, start: int, first: bytes | bytearray) -> None:
        """Begin with bytes from a position on."""
        with self.lock:
            self.crc = zlib.crc32(first)
            self.end = start + len(first)

    def take(self, start: int, following: memoryview) -> bool:
        """Go on with bytes if they follow those before; return whether they do."""
        with self.lock:
            if start != self.end:
                return False
            self.crc = zlib.crc32(following, self.crc)
            self.end += len(following)
            return True


@dataclass(frozen=True, slots=True)
class Checksum:
    """The CRC-32 that a stretch of the file must have."""

    start: int
    size: int
    crc: int
    running: RunningChecksum = field(default_factory=RunningChecksum, compare=False, repr=False)

    def check(self, file: IO[bytes], path: str, name: str) -> None:
        """Raise FileFormatError if the bytes are others."""
        file.seek(self.start)
        left, crc = self.size, 0
        while left > 0 and (block := file.read(min(CRC_BLOCK, left))):
            crc = zlib.crc32(block, crc)
            left -= len(block)
        if left or crc != self.crc:
            raise _damaged(path, name)

    def take(self, start: int, bytes_read: memoryview, path: str, name: str) -> None:
        """Go on with bytes that were read if they follow those before; FileFormatError if they are the last, and wrong.

        So who reads all of it in order, window by window, reads nothing twice. What was read otherwise is not checked.
        """
        running = self.running
        ended = running.take(start, bytes_read) and running.end == self.start + self.size
        if ended and running.crc != self.crc:
            raise _damaged(path, name)

    def __reduce__(self) -> tuple[type, tuple[int, int, int]]:
        return (Checksum, (self.start, self.size, self.crc))


def _damaged(path: str, name: str) -> FileFormatError:
    return broken(path, f"{name!r} is damaged: its CRC-32 does not match its bytes")
