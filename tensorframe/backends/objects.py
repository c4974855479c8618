"""Object code on disk: one file per kernel, found by a hash of everything that it depends on.

Nothing here ever fails: a disk that cannot be read or written, or a file that is not what was written, by this user
and nobody else, is a kernel that is not there. Files appear whole or not at all, so any number of processes may share
a folder.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import suppress

from tensorframe import config
from tensorframe.backends import own_files
from tensorframe.digests import sha256
from tensorframe.quick_dataclasses import dataclass

SUFFIX = ".kernel"
_MAGIC = b"tensorframe 1"
_HEADER = struct.Struct("<16s32s32sQ")  # magic, key, checksum, bytes of object code
_HOUR = 3600.0
_WRITES_BETWEEN_COUNTS = 64  # other processes write too: what lies in the folder is counted again


@dataclass
class Statistics:
    """What this process has looked up."""

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


def read(key: bytes) -> bytes | None:
    """Return the object code that was written under a key of 32 bytes, if it is there and whole."""
    where = folder()
    code = None
    if where is not None and own_files.problem(where) is None:
        with suppress(OSError):
            code = _read(os.path.join(where, key.hex() + SUFFIX), key)
    if code is None:
        statistics.misses += 1
    else:
        statistics.hits += 1
    return code


def is_there(key: bytes) -> bool:
    """Whether there is a file for a key; `read` says whether it is any good."""
    where = folder()
    return where is not None and os.path.exists(os.path.join(where, key.hex() + SUFFIX))


def _read(path: str, key: bytes) -> bytes | None:
    content = own_files.read(path, config.get().cache_bytes, refresh_after=_HOUR)
    code = content[_HEADER.size :]
    return code if content[: _HEADER.size] == _header(key, code) else None


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
        if own_files.problem(where) is None:
            own_files.replace(os.path.join(where, key.hex() + SUFFIX), _header(key, code) + code)
            _keep_within_limit(where, size)


def _keep_within_limit(where: str, added: int) -> None:
    limit = config.get().cache_bytes
    _size.bytes += added
    _size.writes += 1
    if _size.folder != where or _size.bytes > limit or _size.writes >= _WRITES_BETWEEN_COUNTS:
        _size.folder, _size.bytes, _size.writes = where, _trim(where, limit), 0


def _trim(where: str, limit: int) -> int:
    """Remove the files that were not used for longest, and what interrupted writers left; return the bytes kept."""
    now = time.time()
    total = 0
    for entry, state in own_files.entries(where, SUFFIX, own_files.PART):
        if entry.name.endswith(own_files.PART) and now - state.st_mtime > _HOUR:
            with suppress(OSError):
                os.unlink(entry.path)
        else:
            total += state.st_size
    return (
        total if total <= limit else _without_oldest(where, limit * 0.9)
    )  # room for the next ones


def _without_oldest(where: str, limit: float) -> int:
    """Remove the files that were not used for longest until the others keep to a limit; return the bytes kept."""
    known = sorted(
        (state.st_mtime, state.st_size, entry.name)
        for entry, state in own_files.entries(where, SUFFIX, own_files.PART)
    )
    total = sum(size for _, size, _ in known)
    for _, size, name in known:
        if total <= limit:
            break
        with suppress(OSError):
            os.unlink(os.path.join(where, name))
            total -= size
    return total


def sizes(where: str | None) -> list[int]:
    """Return the bytes of each kernel in a folder."""
    if where is None:
        return []
    return [state.st_size for _, state in own_files.entries(where, SUFFIX)]


def clear() -> None:
    """Remove all object code from the folder."""
    where = folder()
    if where is None or own_files.problem(where) is not None:
        return
    for entry, _ in own_files.entries(where, SUFFIX, own_files.PART):
        with suppress(OSError):
            os.unlink(entry.path)
    _size.folder = ""
