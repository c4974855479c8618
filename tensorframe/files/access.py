"""Access: bytes of files at positions, and errors that name the file and the bytes that could not be read.

Streaming reads a file once, piece by piece, `passing_through` the page cache: pieces are evicted after they were read,
since a file larger than memory would evict them anyway, and pages that were just freed are filled two to three times as
fast as pages that a virtual machine gets from its host. The file stays open in between, so that readahead goes on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import IO

from tensorframe.errors import FileFormatError, ReadError, WriteError

# Systems read and write at most some 2 GiB at once.
_MOST = 1 << 30
_CAN_READ_AT = hasattr(os, "preadv")
_CAN_WRITE_AT = hasattr(os, "pwrite")
_CAN_LEAVE_CACHE = hasattr(os, "posix_fadvise") and hasattr(os, "RWF_NOWAIT")
# Bytes that are read before they are evicted: the call takes the system up to a millisecond.
_LONG = 8 << 20
# Bytes of reads that stay: pieces that a window is picked from, since the next window is picked from them, too.
_SHORT = 1 << 20
# Bytes before a read that are evicted with it: pages that the system treats as one stay unless all of them are named.
_BEFORE = 4 << 20
_passing: ContextVar[_Passing | None] = ContextVar("tensorframe_passing", default=None)


def broken(path: str, problem: str, *suggestions: str) -> FileFormatError:
    """Return the error for a file that is not what it should be."""
    return FileFormatError(f"{path}: {problem}", suggestions=suggestions)


class _Passing:
    """The files that a thread reads once: open ones, which of these the system had in memory before, what was read."""

    def __init__(self) -> None:
        self.open: dict[str, IO[bytes]] = {}
        self._cached: dict[int, bool] = {}
        self._read: list[tuple[int, int, int]] = []  # handle, position, count: not evicted yet
        self._since = 0  # bytes of these

    def note(self, file: IO[bytes], position: int, count: int) -> None:
        """Take note of a read, and evict those noted once they are many bytes."""
        if not _CAN_LEAVE_CACHE or count <= _SHORT or self.was_cached(file):
            return
        self._read.append((file.fileno(), position, count))
        self._since += count
        if self._since >= _LONG:
            for handle, start, length in self._read:
                before = min(start, _BEFORE)
                os.posix_fadvise(handle, start - before, before + length, os.POSIX_FADV_DONTNEED)
            self._read.clear()
            self._since = 0

    def was_cached(self, file: IO[bytes]) -> bool:
        """Whether the middle of a file was in the page cache when this was first called; False where that is unknown.

        The answer is stored: the call itself starts readahead there.
        """
        handle = file.fileno()
        if handle not in self._cached:
            middle = os.fstat(handle).st_size // 2
            try:
                self._cached[handle] = os.preadv(handle, [bytearray(1)], middle, os.RWF_NOWAIT) == 1
            except OSError:
                self._cached[handle] = False
        return self._cached[handle]


@contextmanager
def passing_through() -> Iterator[None]:
    """Have files be read once by this thread: long reads leave the cache, but of files that were there before."""
    passing = _Passing()
    before = _passing.set(passing)
    try:
        yield
    finally:
        _passing.reset(before)
        for file in passing.open.values():
            file.close()


def reading(path: str, opened: Callable[[str], IO[bytes]]) -> AbstractContextManager[IO[bytes]]:
    """Return a file that is opened for a block, or for all that this thread reads `passing_through`."""
    passing = _passing.get()
    if passing is None:
        return opened(path)
    if path not in passing.open:
        passing.open[path] = opened(path)
    return nullcontext(passing.open[path])


def read_at(file: IO[bytes], path: str, position: int, buffer: memoryview) -> None:
    """Fill a buffer with a file's bytes from a position on."""
    passing = _passing.get()
    if passing is None:
        _fill(file, path, position, buffer)
        return
    for start in range(0, len(buffer), _LONG):
        part = buffer[start : start + _LONG]
        _fill(file, path, position + start, part)
        passing.note(file, position + start, len(part))


def _fill(file: IO[bytes], path: str, position: int, buffer: memoryview) -> None:
    done = 0
    while done < len(buffer):
        try:
            count = _read(file, position + done, buffer[done : done + _MOST])
        except OSError as error:
            raise read_error(path, position + done, error) from error
        if not count:
            asked = f"bytes {position} to {position + len(buffer)} were asked for"
            problem = f"truncated: it ends at byte {position + done}, and {asked}"
            raise broken(path, problem, "fetch or write the file again")
        done += count


def write_at(file: IO[bytes], path: str, position: int, buffer: memoryview) -> None:
    """Write a buffer to a file from a position on."""
    done = 0
    while done < len(buffer):
        try:
            done += _write(file, position + done, buffer[done : done + _MOST])
        except OSError as error:
            raise write_error(path, f"writing failed at byte {position + done}", error) from error


def read_error(path: str, position: int, error: OSError) -> ReadError:
    """Return the error for bytes that the system does not give."""
    failed = ReadError(
        f"{path}: reading failed at byte {position}: {error.strerror or error}",
        suggestions=("try again: networks fail for a moment", "a copy of the file on another disk"),
    )
    failed.errno = error.errno
    return failed


def write_error(path: str, what: str, error: OSError) -> WriteError:
    """Return the error for a file that the system does not make."""
    hints = ["a path on another disk"]
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hints.insert(0, "make room: the old file stays until the new one is complete")
    failed = WriteError(
        f"{path}: {what}: {error.strerror or error}; nothing of it is left",
        suggestions=hints,
    )
    failed.errno = error.errno
    return failed


def _read(file: IO[bytes], position: int, buffer: memoryview) -> int:
    if _CAN_READ_AT:
        return os.preadv(file.fileno(), [buffer], position)
    file.seek(position)  # the file was opened by who reads, and nobody else has it
    return file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]


def _write(file: IO[bytes], position: int, buffer: memoryview) -> int:
    if _CAN_WRITE_AT:
        return os.pwrite(file.fileno(), buffer, position)
    file.seek(position)
    return file.write(buffer)


def to_disk(file: IO[bytes], path: str) -> None:
    """Wait until the disk has what was written to a file; a thread that is `passing_through` has it leave the cache."""
    try:
        getattr(os, "fdatasync", os.fsync)(file.fileno())
    except OSError as error:
        raise write_error(path, "writing failed", error) from error
    if _CAN_LEAVE_CACHE and _passing.get() is not None:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
