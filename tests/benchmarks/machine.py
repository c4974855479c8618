"""The header: when, on what hardware, with which versions, and how busy the machine was with other things."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic

from tests.benchmarks.peers import Peer

# others' share of one core above which figures are not to be trusted
BUSY = 0.6


def cpu() -> str:
    """Return the processor's name, family, model and widest vector instructions, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    pairs = [line.partition(":") for line in text.splitlines()]
    facts = {key.strip(): value.strip() for key, _, value in pairs}
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    vectors = next((name for name in ("avx512f", "avx2", "asimd") if name in flags), None)
    numbers = [facts.get(key) for key in ("cpu family", "model")]
    family = f"family {numbers[0]} model {numbers[1]}" if all(numbers) else None
    return ", ".join(filter(None, [facts.get("model name"), family, vectors]))


def load_average() -> float | None:
    """Return the mean number of running processes over the last minute, where the system counts them."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def keep_freed_memory() -> bool:
    """Have the C library keep memory that is freed, and return whether it can.

    Left alone it gives large pieces back now and then, and whether a temporary array is new memory, which the system
    has to clear, is a matter of luck: it made 7 or 35 ms of the same expression in PyTorch.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    set_option = ctypes.CDLL(None).mallopt
    trim_threshold, mmap_threshold = -1, -3  # of malloc.h; 32 MiB is the most that the second takes
    return bool(set_option(trim_threshold, 2**31 - 1) and set_option(mmap_threshold, 32 << 20))


class Others:
    """Cores that other processes kept busy while this one ran, where the system tells."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._total = _busy_seconds()
        self._own = _own_seconds()

    def cores(self) -> float | None:
        """Return the mean since the start."""
        total = _busy_seconds()
        if total is None or self._total is None:
            return None
        used = total - self._total - (_own_seconds() - self._own)
        return max(used, 0.0) / (monotonic() - self._start)


def _own_seconds() -> float:
    return sum(os.times()[:4])  # with finished children


def _busy_seconds() -> float | None:
    """Return the processor time that all processes have used since the machine started."""
    try:
        counts = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, interrupts, soft, steal = map(int, counts)
    return (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Header:
    """What a table is worth nothing without."""

    date: str
    cpu: str
    cores: int
    system: str
    versions: dict[str, str]
    missing: tuple[str, ...]
    load_before: float | None
    keeps_memory: bool = False
    others: float | None = None

    @classmethod
    def now(cls, peers: Iterable[Peer]) -> Header:
        """Return the header of a run that starts."""
        rows = list(peers)
        return cls(
            date=datetime.now().astimezone().isoformat(" ", "minutes"),
            cpu=cpu(),
            cores=os.cpu_count() or 1,
            system=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            versions={peer.name: peer.version for peer in rows if peer.is_installed},
            missing=tuple(peer.name for peer in rows if not peer.is_installed),
            load_before=load_average(),
        )

    @property
    def is_busy(self) -> bool:
        """Whether others used so much of the machine that the figures are not to be trusted."""
        # what happened during the run says more than what was there before
        load = self.others if self.others is not None else self.load_before
        return load is not None and load > BUSY

    def lines(self) -> list[str]:
        """Return the header, a fact per line."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        facts = [self.date, f"{self.cpu}, {self.cores} cores", self.system, versions]
        if self.missing:
            facts.append(f"not installed, and left out: {', '.join(self.missing)}")
        if self.keeps_memory:
            facts.append("freed memory stays with the process, for everybody")
        if self.load_before is not None:
            facts.append(f"load average before the run: {self.load_before:.2f}")
        if self.others is not None:
            facts.append(f"cores that other processes used during the run: {self.others:.2f}")
        if self.is_busy:
            facts.append(
                "WARNING: the machine was busy with other things; do not quote these figures"
            )
        return facts
