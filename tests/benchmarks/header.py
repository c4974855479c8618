"""The header: when, on what hardware, with which versions, how, and how busy the machine was with other things."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tests.benchmarks.effort import Effort
from tests.benchmarks.machine import Others, blas, cores, cpu, load_average
from tests.benchmarks.peers import Peer

# running processes before, and cores that others used meanwhile, above which figures are not to be trusted
BUSY_BEFORE = 1.0
BUSY_DURING = 0.6


@dataclass(frozen=True)
class Header:
    """What a table is worth nothing without."""

    date: str
    cpu: str
    cores: int
    system: str
    contestants: tuple[str, ...]
    versions: dict[str, str]
    alone: dict[str, str]
    missing: tuple[str, ...]
    blas: str = ""
    effort: str = ""
    load_before: float | None = None
    load_after: float | None = None
    others: float | None = None

    @classmethod
    def now(cls, known: Sequence[Peer], peers: Sequence[Peer], effort: Effort) -> Header:
        """Return the header of a run that starts, of the peers among those that are known."""
        return cls(
            date=datetime.now().astimezone().isoformat(" ", "minutes"),
            cpu=cpu(),
            cores=cores(),
            system=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            contestants=tuple(peer.name for peer in peers),
            versions={peer.distribution: peer.version for peer in peers},
            alone={peer.name: peer.alone for peer in peers if peer.alone},
            missing=tuple(peer.missing for peer in known if peer.missing),
            blas=blas(),
            effort=str(effort),
            load_before=load_average(),
        )

    def after(self, others: Others) -> Header:
        """Return the header of the same run at its end."""
        return replace(self, load_after=load_average(), others=others.cores())

    @property
    def is_busy(self) -> bool:
        """Whether others used so much of the machine that the figures are not to be trusted."""
        if self.others is not None:  # a load before may be that of what has ended by then
            return self.others > BUSY_DURING
        return self.load_before is not None and self.load_before > BUSY_BEFORE

    def lines(self) -> list[str]:
        """Return the header, a fact per line."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        facts = [self.date, f"{self.cpu}, {self.cores} cores", self.system, versions]
        if self.blas:
            facts.append(f"BLAS of NumPy and tensorframe: {self.blas}")
        if self.missing:
            facts.append(f"not installed, and left out: {', '.join(self.missing)}")
        exceptions = "; ".join(f"one for {name} in {what}" for name, what in self.alone.items())
        threads = f"{self.cores} threads for each" + (f", {exceptions}" if exceptions else "")
        facts += [threads, self.effort]
        loads = (self.load_before, self.load_after)
        if None not in loads:
            facts.append("load average before and after: {:.2f}, {:.2f}".format(*loads))
        if self.others is not None:
            facts.append(f"cores that other processes used during the run: {self.others:.2f}")
        if self.is_busy:
            facts.append(
                "WARNING: the machine was busy with other things; do not quote these figures"
            )
        return facts
