"""Control groups: the limits that Linux sets to a group of processes, of version 1 and 2, from this process's own up.

A process is in a group that is in a group, and each may have a limit: the kernel ends a process when any of them is
reached. `root` is where the files are looked for, since tests have trees of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

# Version 1 writes the largest number of whole pages where there is no limit.
_NO_LIMIT = 1 << 62


class Group(NamedTuple):
    """A group with a limit: bytes that it may have, and that it has without those the kernel gives up first."""

    limit: int
    used: int


class _Version(NamedTuple):
    """How the files of a version are called."""

    limits: tuple[str, ...]
    used: str
    files: tuple[str, ...]  # in memory.stat: pages of files, which go when memory is short
    dirty: tuple[str, ...]  # those of them that have to be written before


_ONE = _Version(
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
    ("total_dirty", "total_writeback"),
)
# beyond `high` a group is slowed down until it is of no use
_TWO = _Version(
    ("memory.max", "memory.high"),
    "memory.current",
    ("inactive_file", "active_file"),
    ("file_dirty", "file_writeback"),
)


def groups(root: str = "/") -> list[Group]:
    """Return the groups with a limit that this process is in, the innermost first; none where there are none."""
    try:
        membership = text(os.path.join(root, "proc/self/cgroup")).splitlines()
    except OSError:
        return []
    mounts = _mounts(root)
    collected: list[Group] = []
    for line in membership:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            collected += _upwards(root, mounts.get("cgroup2", ("/sys/fs/cgroup", "/")), path, _TWO)
        elif "memory" in controllers.split(","):
            collected += _upwards(
                root, mounts.get("cgroup", ("/sys/fs/cgroup/memory", "/")), path, _ONE
            )
    return collected


def _mounts(root: str) -> dict[str, tuple[str, str]]:
    """Return, by kind of file system, where groups of memory are mounted, and which group is seen there."""
    try:
        lines = text(os.path.join(root, "proc/self/mountinfo")).splitlines()
    except OSError:
        return {}
    mounts = {}
    for line in lines:
        place, _, source = line.partition(" - ")
        fields, kind = place.split(), source.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "memory" in kind[2].split(",")):
            mounts[kind[0]] = (fields[4], fields[3])
    return mounts


def _upwards(root: str, mount: tuple[str, str], path: str, version: _Version) -> Iterator[Group]:
    """Yield what has a limit between a group and the outermost one that is seen here."""
    point, seen = mount
    inner = path.removeprefix(seen.rstrip("/")).strip("/")
    parts = inner.split("/") if inner else []
    if ".." in parts:  # a group outside of what is mounted: its own limits are not to be seen
        parts = []
    for depth in range(len(parts), -1, -1):
        group = _read(os.path.join(root, point.lstrip("/"), *parts[:depth]), version)
        if group is not None:
            yield group


def _read(folder: str, version: _Version) -> Group | None:
    """Return the limit and the use of a group; None where there is no limit, or no such folder."""
    known = [number(os.path.join(folder, name)) for name in version.limits]
    statistics = _statistics(os.path.join(folder, "memory.stat"))
    known.append(
        statistics.get("hierarchical_memory_limit")
    )  # of groups further out that are not seen
    limits = [limit for limit in known if limit is not None and limit < _NO_LIMIT]
    used = number(os.path.join(folder, version.used))
    if not limits or used is None:
        return None
    files = sum(statistics.get(name, 0) for name in version.files)
    dirty = sum(statistics.get(name, 0) for name in version.dirty)
    return Group(min(limits), max(used - max(files - dirty, 0), 0))


def _statistics(path: str) -> dict[str, int]:
    try:
        fields = [line.split() for line in text(path).splitlines()]
        return {name: int(value) for name, value in fields}
    except (OSError, ValueError):
        return {}


def text(path: str) -> str:
    """Return what a file of the system's says."""
    # without pathlib, which costs 3 ms of an import that nobody else needs it for
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read()


def number(path: str) -> int | None:
    """Return the number in a file; None if it is not there, or says "max"."""
    try:
        return int(text(path))
    except (OSError, ValueError):
        return None
