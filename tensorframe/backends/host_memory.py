"""The host's memory: how much this process may have, and how much of it is free now.

What there is, is the least of what several say: the machine, the groups of processes that containers and schedulers
make (`control_groups.py`), the limits of the process itself, and the environment of a scheduler's job. `root` is where
the system's files are looked for, since tests have trees of their own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping

from tensorframe.backends.control_groups import groups, text
from tensorframe.quick_tuples import NamedTuple

_MEBI = 1 << 20
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+)", re.MULTILINE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


class Share(NamedTuple):
    """What somebody gives this process: bytes in all and left now, None where that is not known, and who it is."""

    giver: str
    total: int | None
    left: int | None


def total(root: str = "/") -> int | None:
    """Return the bytes of memory that there are within every limit; None where nothing tells."""
    return total_and_available(root)[0]


def available(root: str = "/") -> int | None:
    """Return the bytes that programs can still have without swapping; None where nothing tells."""
    return total_and_available(root)[1]


def total_and_available(root: str = "/") -> tuple[int | None, int | None]:
    """Return both, which takes as long as one."""
    known = list(shares(root))
    totals = [share.total for share in known if share.total is not None]
    lefts = [share.left for share in known if share.left is not None]
    return min(totals, default=None), min(lefts, default=None)


def shares(root: str = "/", environ: Mapping[str, str] = os.environ) -> Iterator[Share]:
    """Yield what each of those gives who have a say."""
    yield Share("the machine", _physical()[0], _free(root))
    for group in groups(root):
        yield Share("the control group", group.limit, max(group.limit - group.used, 0))
    yield from _of_the_process(root)
    job = _of_the_job(environ)
    if job is not None:
        yield Share("the scheduler's job", job, max(job - own(root), 0))


def own(root: str = "/") -> int:
    """Return the bytes that this process has to itself, pages of files left out; 0 where the system does not tell."""
    pages = _pages_of_the_process(root)
    return max(pages[1] - pages[2], 0) * _page() if pages else 0


def _of_the_process(root: str) -> Iterator[Share]:
    """Yield the limits of addresses and of data that the process was started with, or set itself: see `ulimit`."""
    if sys.platform == "win32":
        return
    import resource

    pages = _pages_of_the_process(root)
    for giver, limit, place in (
        ("RLIMIT_AS", resource.RLIMIT_AS, 0),
        ("RLIMIT_DATA", resource.RLIMIT_DATA, 5),
    ):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield Share(giver, soft, max(soft - pages[place] * _page(), 0) if pages else None)


def _pages_of_the_process(root: str) -> list[int]:
    """Return the process's pages: of addresses, in memory, of these shared, of code, 0, of data; none if not known."""
    try:
        return [int(field) for field in text(os.path.join(root, "proc/self/statm")).split()]
    except (OSError, ValueError):
        return []


def _of_the_job(environ: Mapping[str, str]) -> int | None:
    """Return the bytes that a scheduler gave the job on this machine, where its environment tells.

    Slurm counts in MiB. Grid Engine says what one slot has. PBS, LSF and HTCondor tell nothing here: they set limits of
    the process, or groups.
    """
    for name, count in (
        ("SLURM_MEM_PER_NODE", None),
        ("SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"),
        ("SLURM_MEM_PER_GPU", "SLURM_GPUS_ON_NODE"),
    ):
        each = _whole(environ.get(name))
        if each:  # 0 is all that the machine has
            return each * _MEBI * ((_whole(environ.get(count)) or 1) if count else 1)
    for name in ("SGE_HGR_m_mem_free", "SGE_HGR_h_vmem"):
        written = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)", environ.get(name, "").lower())
        if written is not None:
            slots = _whole(environ.get("NSLOTS")) or 1
            return int(float(written[1]) * (1 << _UNITS[written[2]])) * slots or None
    return None


def _whole(written: str | None) -> int | None:
    return int(written) if written and written.isascii() and written.isdecimal() else None


def _free(root: str) -> int | None:
    try:
        line = _AVAILABLE.search(text(os.path.join(root, "proc/meminfo")))
    except OSError:
        line = None
    return int(line[1]) << 10 if line else _physical()[1]


def _page() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _physical() -> tuple[int | None, int | None]:
    """Return the bytes in all and free, as the system's own call tells."""
    if sys.platform == "win32":
        return _windows()
    return _pages("SC_PHYS_PAGES"), _pages("SC_AVPHYS_PAGES")


def _pages(name: str) -> int | None:
    try:
        count, size = os.sysconf(name), _page()
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
