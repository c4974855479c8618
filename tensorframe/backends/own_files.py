"""The user's own files: read and written where no other user could have changed them, for what is run or trusted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

from tensorframe import config

PART = ".part"  # of a file that is being written

_BINARY = getattr(os, "O_BINARY", 0)
# not through links; and a pipe is opened without waiting for its writer, only to be refused
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OTHERS_MAY_WRITE = 0o022
_serial = count()


def problem(where: str | None) -> str | None:
    """Return why a folder is not used, or None. Object code is run, so no other user may be able to write it."""
    if where is None:
        wanted = config.get().cache_bytes
        return "the user has no home" if wanted else "the option cache_bytes is 0"
    try:
        status = os.stat(where)
    except FileNotFoundError:
        return None  # it is made when there is something to keep
    except OSError as error:
        return error.strerror
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    return _foreign(status, "directory")


def _foreign(status: os.stat_result, what: str) -> str | None:
    """Return why others may have written something, None if it is the user's alone."""
    if sys.platform == "win32":  # the rights of the user's own folder are inherited
        return None
    if status.st_uid != os.geteuid():
        return f"the {what} belongs to another user"
    return f"other users may write to the {what}" if status.st_mode & _OTHERS_MAY_WRITE else None


def read(path: str, most: int, *, refresh_after: float | None = None) -> bytes:
    """Return what is in a regular file of the user's own, of `most` bytes; OSError for any other, whatever it is.

    What was last touched `refresh_after` seconds ago, or longer, is touched: the files used last are kept.
    """
    with open(os.open(path, _READ), "rb") as file:
        status = os.fstat(file.fileno())
        # of the open file: the path may stand for another one by now
        if not stat.S_ISREG(status.st_mode) or _foreign(status, "file") or status.st_size > most:
            raise OSError(f"{path} is not what was written there")
        # not `most`, which is what Python would allocate first
        content = file.read(status.st_size)
        if refresh_after is not None and _age(status) > refresh_after:
            with suppress(OSError):  # a folder that can only be read
                os.utime(file.fileno() if os.utime in os.supports_fd else path)
    return content


def _age(status: os.stat_result) -> float:
    import time

    return time.time() - status.st_mtime


def replace(path: str, content: bytes) -> None:
    """Put a file of the user's own in place: atomically; OSError where that cannot be done."""
    part = f"{path}.{os.getpid()}.{next(_serial)}{PART}"
    try:
        # O_EXCL: never through a link that was put there
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        with open(os.open(part, flags, 0o600), "wb") as file:
            file.write(content)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def entries(where: str, *suffixes: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Yield the regular files of a folder whose names end so, and what is known of each; links, pipes are none."""
    with suppress(OSError), os.scandir(where) as listed:
        for entry in listed:  # tens of thousands: a list of them would be as many megabytes
            if not entry.name.endswith(suffixes):
                continue
            with suppress(OSError):  # another process may remove it now
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(state.st_mode):
                    yield entry, state
