"""The host's memory: how much this process may have, and how much of it is free now."""

from __future__ import annotations

import os
import sys

_GROUP = "/sys/fs/cgroup"  # where containers find their own limits


def total() -> int | None:
    """Return the bytes of memory that there are, within the container's limit; None where nothing tells."""
    known = [size for size in (_physical()[0], _number(f"{_GROUP}/memory.max")) if size is not None]
    return min(known, default=None)


def available() -> int | None:
    """Return the bytes that programs can still have without swapping; None where nothing tells."""
    known = [size for size in (_free(), _left_in_group()) if size is not None]
    return min(known, default=None)


def _free() -> int | None:
    try:
        text = _text("/proc/meminfo")
    except OSError:
        return _physical()[1]
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    kibibytes = fields.get("MemAvailable", "").split()
    return int(kibibytes[0]) << 10 if kibibytes else _physical()[1]


def _left_in_group() -> int | None:
    limit, used = _number(f"{_GROUP}/memory.max"), _number(f"{_GROUP}/memory.current")
    if limit is None or used is None:
        return None
    # pages of files count as used, but those that nobody has read for a while are given up when need be
    used -= _statistics().get("inactive_file", 0)
    return max(limit - used, 0)


def _statistics() -> dict[str, int]:
    try:
        lines = _text(f"{_GROUP}/memory.stat").splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, value in map(str.split, lines)}


def _text(path: str) -> str:
    # without pathlib, which costs 3 ms of an import that nobody else needs it for
    with open(path, encoding="ascii") as file:
        return file.read()


def _number(path: str) -> int | None:
    """Return the number in a file; None if it is not there, or says "max"."""
    try:
        return int(_text(path))
    except (OSError, ValueError):
        return None


def _physical() -> tuple[int | None, int | None]:
    """Return the bytes in all and free, as the system's own call tells."""
    if sys.platform == "win32":
        return _windows()
    return _pages("SC_PHYS_PAGES"), _pages("SC_AVPHYS_PAGES")


def _pages(name: str) -> int | None:
    try:
        count, size = os.sysconf(name), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):  # macOS has no count of free pages
        return None
    return count * size if count > 0 else None


def _windows() -> tuple[int | None, int | None]:
    """Return what GlobalMemoryStatusEx says: the structure's fields, in order, after its own size."""
    import ctypes

    status = (ctypes.c_uint64 * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(status):  # type: ignore[attr-defined,unused-ignore]
        return None, None
    return status[1], status[2]
