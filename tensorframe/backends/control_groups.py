"""Control groups: the limits that Linux sets to a group of processes, of version 1 and 2, from this process's own up.

A process is in a group that is in a group, and each may have a limit: the kernel ends a process when any of them is
reached. `root` is where the files are looked for, since tests have trees of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

from tensorframe.quick_tuples import NamedTuple

# Version 1 writes the largest number of whole pages where there is no limit.
_NO_LIMIT = 1 << 62


class Group(NamedTuple):
    """A group with a limit: bytes that it may have, and that it has without those the kernel gives up first."""

    limit: int
    used: int


class _Version(NamedTuple):
    """How the files of a version are called, and what is looked for in memory.stat."""

    limits: tuple[str, ...]
    used: str
    files: tuple[str, ...]  # pages of files, which go when memory is short
    dirty: tuple[str, ...]  # those of them that have to be written before
    above: str  # the limit of groups further out, those that are not seen among them


_ONE = _Version(
    ("memory.limit_in_bytes",),
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
    ("total_dirty", "total_writeback"),
    "hierarchical_memory_limit",
)
# beyond `high` a group is slowed down until it is of no use
_TWO = _Version(
    ("memory.max", "memory.high"),
    "memory.current",
    ("inactive_file", "active_file"),
    ("file_dirty", "file_writeback"),
    "",
)


def groups(root: str = "/") -> list[Group]:
    """Return the groups with a limit that this process is in, the innermost first; none where there are none."""
    try:
        membership = text(os.path.join(root, "proc/self/cgroup"))
    except OSError:
        return []
    collected = [
        _read(folder, version, is_outermost=is_outermost)
        for folder, version, is_outermost in _folders(root, membership)
    ]
    return [group for group in collected if group is not None]


@lru_cache(4)
def _folders(root: str, membership: str) -> list[tuple[str, _Version, bool]]:
    """Return where the groups are that a process is in, each with whether it is the outermost that is seen.

    File systems of groups are mounted when a machine starts, so a process looks once for as long as it is in a group.
    """
    mounts = _mounts(root)
    collected: list[tuple[str, _Version, bool]] = []
    for line in membership.splitlines():
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


def _upwards(
    root: str, mount: tuple[str, str], path: str, version: _Version
) -> Iterator[tuple[str, _Version, bool]]:
    """Yield the folders of a group and of those around it, up to the outermost one that is seen here."""
    point, seen = mount
    inner = path.removeprefix(seen.rstrip("/")).strip("/")
    parts = inner.split("/") if inner else []
    if ".." in parts:  # a group outside of what is mounted: its own limits are not to be seen
        parts = []
    for depth in range(len(parts), -1, -1):
        yield os.path.join(root, point.lstrip("/"), *parts[:depth]), version, not depth


def _read(folder: str, version: _Version, *, is_outermost: bool) -> Group | None:
    """Return the limit and the use of a group; None where there is no limit, or no such folder.

    What memory.stat says of limits further out is asked of the outermost group alone, whose use is the largest.
    """
    known = [number(os.path.join(folder, name)) for name in version.limits]
    limits = [limit for limit in known if limit is not None and limit < _NO_LIMIT]
    looks_above = bool(is_outermost and version.above)
    if not limits and not looks_above:
        return None
    statistics = _statistics(os.path.join(folder, "memory.stat"), version)
    above = statistics.get(version.above, _NO_LIMIT) if looks_above else _NO_LIMIT
    limit = min([*limits, above])
    used = number(os.path.join(folder, version.used)) if limit < _NO_LIMIT else None
    if used is None:
        return None
    files = sum(statistics.get(name, 0) for name in version.files)
    dirty = sum(statistics.get(name, 0) for name in version.dirty)
    return Group(limit, max(used - max(files - dirty, 0), 0))


def _statistics(path: str, version: _Version) -> dict[str, int]:
    """Return what is looked for in a group's statistics: some of fifty lines."""
    try:
        lines = _line_of(version).findall(text(path))
    except OSError:
        return {}
    return {name: int(value) for name, value in lines}


@lru_cache(2)
def _line_of(version: _Version) -> re.Pattern[str]:
    names = [name for name in (*version.files, *version.dirty, version.above) if name]
    return re.compile(rf"^({'|'.join(names)}) (\d+)$", re.MULTILINE)


def text(path: str) -> str:
    """Return what a file of the system's says."""
    # without pathlib, which costs 3 ms of an import that nobody else needs it for, and without a buffer for few bytes
    with open(path, "rb", buffering=0) as file:
        return file.readall().decode("ascii", "replace")


def number(path: str) -> int | None:
    """Return the number in a file; None if it is not there, or says "max"."""
    try:
        return int(text(path))
    except (OSError, ValueError):
        return None
