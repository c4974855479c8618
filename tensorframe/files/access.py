"""Access: bytes of files at positions, and errors that say which bytes of which file could not be had."""

from __future__ import annotations

import errno
import os
from typing import IO

from tensorframe.errors import FileFormatError, ReadError, WriteError

# Systems read and write at most some 2 GiB at once.
_MOST = 1 << 30
_CAN_READ_AT = hasattr(os, "preadv")
_CAN_WRITE_AT = hasattr(os, "pwrite")


def broken(path: str, problem: str, *suggestions: str) -> FileFormatError:
    """Return the error for a file that is not what it should be."""
    return FileFormatError(f"{path}: {problem}", suggestions=suggestions)


def read_at(file: IO[bytes], path: str, position: int, buffer: memoryview) -> None:
    """Fill a buffer with a file's bytes from a position on."""
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
    """Wait until the disk has what was written to a file."""
    try:
        getattr(os, "fdatasync", os.fsync)(file.fileno())
    except OSError as error:
        raise write_error(path, "writing failed", error) from error
