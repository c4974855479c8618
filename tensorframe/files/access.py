"""Access: bytes of files at positions, and errors that say which of them are missing."""

from __future__ import annotations

import os
from typing import IO

from tensorframe.errors import FileFormatError

# Systems read and write at most some 2 GiB at once.
_MOST = 1 << 30
_CAN_READ_AT = hasattr(os, "preadv")


def read_at(file: IO[bytes], path: str, position: int, buffer: memoryview) -> None:
    """Fill a buffer with a file's bytes from a position on; what is not there is an error."""
    done = 0
    while done < len(buffer):
        count = _read(file, position + done, buffer[done : done + _MOST])
        if not count:
            raise FileFormatError(
                f"{path}: truncated: it ends at byte {position + done}, and bytes {position} to "
                f"{position + len(buffer)} were asked for",
                suggestions=("fetch or write the file again",),
            )
        done += count


def _read(file: IO[bytes], position: int, buffer: memoryview) -> int:
    if _CAN_READ_AT:
        return os.preadv(file.fileno(), [buffer], position)
    file.seek(position)  # the file was opened by who reads, and nobody else has it
    return file.readinto(buffer)  # type: ignore[attr-defined, no-any-return]
