"""Object code on disk: one file per kernel, found by a hash of everything that it depends on.

Nothing here ever fails: a disk that cannot be read or written, or a file that is not what was written, is a kernel
that is not there. Files appear whole or not at all, so any number of processes may share a folder.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count

from tensorframe import config

SUFFIX = ".kernel"
_PART = ".part"  # of a file that is being written
_MAGIC = b"tensorframe 1"
_HEADER = struct.Struct("<16s32s32sQ")  # magic, key, checksum, bytes of object code
_HOUR = 3600.0
_WRITES_BETWEEN_COUNTS = 64  # other processes write too: what lies in the folder is counted again
_serial = count()


@dataclass
class Statistics:
    """What this process has asked for."""

    hits: int = 0
    misses: int = 0
    compilations: int = 0


@dataclass
class _Size:
    """What lies in a folder, as far as this process knows."""

    folder: str = ""
    bytes: int = 0
    writes: int = 0


statistics = Statistics()
_size = _Size()


def folder() -> str | None:
    """Return where object code is kept, or None where there is no place for it or none is wanted."""
    options = config.get()
    if not options.cache_bytes:
        return None
    if options.cache_dir:
        return os.path.abspath(os.path.expanduser(options.cache_dir))
    base = _user_cache()
    return os.path.join(base, "tensorframe", "kernels") if os.path.isabs(base) else None


def _user_cache() -> str:
    """Return the platform's folder for what programs can make again; it is relative where the user has no home."""
    if sys.platform == "win32":
        return os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches")
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")


def problem(where: str | None) -> str | None:
    """Return why a folder is not used, or None. Object code is run, so nobody else may be able to write it."""
    if where is None:
        wanted = config.get().cache_bytes
        return "the user has no home" if wanted else "the option cache_bytes is 0"
    try:
        found = os.stat(where)
    except FileNotFoundError:
        return None  # it is made when there is something to keep
    except OSError as error:
        return error.strerror
    if sys.platform == "win32":  # the rights of the user's own folder are inherited
        return None
    if found.st_uid != os.geteuid():
        return "the directory belongs to another user"
    return "other users may write to the directory" if found.st_mode & 0o022 else None


def read(key: bytes) -> bytes | None:
    """Return the object code that was written under a key of 32 bytes, if it is there and whole."""
    where = folder()
    code = None
    if where is not None and problem(where) is None:
        with suppress(OSError):
            code = _read(os.path.join(where, key.hex() + SUFFIX), key)
    if code is None:
        statistics.misses += 1
    else:
        statistics.hits += 1
    return code


def _read(path: str, key: bytes) -> bytes | None:
    with open(path, "rb") as file:
        content = file.read()
        age = time.time() - os.fstat(file.fileno()).st_mtime
    code = content[_HEADER.size :]
    if content[: _HEADER.size] != _header(key, code):
        return None
    if age > _HOUR:
        with suppress(OSError):  # a folder that can only be read
            os.utime(path)  # the files that were used last are kept
    return code


def _header(key: bytes, code: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, key, sha256(code).digest(), len(code))


def write(key: bytes, code: bytes) -> None:
    """Keep object code under a key."""
    where = folder()
    size = _HEADER.size + len(code)
    if where is None or size > config.get().cache_bytes:
        return
    with suppress(OSError):
        os.makedirs(where, mode=0o700, exist_ok=True)
        if problem(where) is None:
            replace_file(os.path.join(where, key.hex() + SUFFIX), _header(key, code) + code)
            _keep_within_limit(where, size)


def replace_file(path: str, content: bytes) -> None:
    """Put a file of the user's own in place: whole, whoever reads meanwhile; OSError where that cannot be done."""
    part = f"{path}.{os.getpid()}.{next(_serial)}{_PART}"
    try:
        # O_EXCL: never through a link that somebody has put there
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with open(os.open(part, flags, 0o600), "wb") as file:
            file.write(content)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _keep_within_limit(where: str, added: int) -> None:
    limit = config.get().cache_bytes
    _size.bytes += added
    _size.writes += 1
    if _size.folder != where or _size.bytes > limit or _size.writes >= _WRITES_BETWEEN_COUNTS:
        _size.folder, _size.bytes, _size.writes = where, _trim(where, limit), 0


def _trim(where: str, limit: int) -> int:
    """Remove the files that were not used for longest, and what interrupted writers left; return the bytes kept."""
    now = time.time()
    found = []
    for entry in entries(where):
        with suppress(OSError):
            state = entry.stat()
            if entry.name.endswith(_PART) and now - state.st_mtime > _HOUR:
                os.unlink(entry.path)
            else:
                found.append((state.st_mtime, state.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return total
    for _, size, path in sorted(found):
        if total <= limit * 0.9:  # room for the next ones
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size
    return total


def entries(where: str) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a folder that are of this module's making."""
    with suppress(OSError), os.scandir(where) as found:
        yield from [one for one in found if one.name.endswith((SUFFIX, _PART))]


def sizes(where: str | None) -> list[int]:
    """Return the bytes of each kernel in a folder."""
    found = []
    for entry in entries(where) if where is not None else ():
        with suppress(OSError):  # another process may remove it now
            found.append(entry.stat().st_size)
    return found


def clear() -> None:
    """Remove all object code from the folder."""
    where = folder()
    if where is None or problem(where) is not None:
        return
    for entry in entries(where):
        with suppress(OSError):
            os.unlink(entry.path)
    _size.folder = ""
