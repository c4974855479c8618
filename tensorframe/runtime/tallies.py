"""Tallies: calls with their total, shortest and longest time, added up many at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from tensorframe.runtime.events import Source
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site


class Tally:
    """Calls of one thing; times are nanoseconds."""

    __slots__ = ("calls", "fastest", "nbytes", "site", "slowest", "total")

    def __init__(self, site: Site | None = None) -> None:
        self.site = site
        self.calls = 0
        self.total = 0
        self.fastest = 0
        self.slowest = 0
        self.nbytes = 0  # of copies that no plan knows of

    def add(self, total: int, calls: int = 1, fastest: int = -1, slowest: int = -1) -> None:
        """Add calls that took so long together; of a single one its time is all there is to say."""
        fastest = total if fastest < 0 else fastest
        self.fastest = min(self.fastest, fastest) if self.calls else fastest
        self.slowest = max(self.slowest, total if slowest < 0 else slowest)
        self.calls += calls
        self.total += total


class PlanTally:
    """Runs of one plan whose steps were recorded by the same lines."""

    def __init__(self, plan: Plan, source: Source, sites: Sequence[Site | None]) -> None:
        self.plan = plan
        self.source = source
        self.sites = sites
        self.runs = 0
        self.unfinished = 0
        self.planned = 0  # runs for which the plan was made
        self.around = 0  # nanoseconds in runs that are neither steps nor told as spans
        self.steps = [Tally(site) for site in sites]
        self._waiting: list[Sequence[int]] = []

    def add(self, stamps: Sequence[int]) -> None:
        """Add a run that has done every step, and nothing besides that was told by itself."""
        self.runs += 1
        self._waiting.append(stamps)

    def add_up(self) -> None:
        """Add what waits to the tallies: all runs in a few calls of NumPy."""
        if not self._waiting:
            return
        count, length = len(self._waiting), len(self.steps) + 3
        times = np.fromiter(chain.from_iterable(self._waiting), np.int64, count * length)
        self._waiting.clear()
        gaps = np.diff(times.reshape(count, length), axis=1)
        before, *totals, after = gaps.sum(axis=0).tolist()
        self.around += before + after
        low, high = gaps.min(axis=0).tolist()[1:-1], gaps.max(axis=0).tolist()[1:-1]
        for tally, total, fastest, slowest in zip(self.steps, totals, low, high, strict=True):
            tally.add(total, count, fastest, slowest)
        self._remember(gaps[-1, 1:-1].tolist())

    def add_closely(self, stamps: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int]:
        """Add a run that broke off, or in which something was told by itself: spans that begin and end so.

        Their time is not that of the step around them. Returns the step for each span, -1 where it is in none.
        """
        gaps = [after - before for before, after in pairwise(stamps)]
        places = [min(bisect_right(stamps, began), len(gaps)) - 1 for began, _ in spans]
        for at, (began, ended) in zip(places, spans, strict=True):
            gaps[at] -= ended - began
        done = max(len(stamps) - 3, 0)
        self.runs += 1
        self.unfinished += done < len(self.steps)
        for tally, gap in zip(self.steps, gaps[1 : 1 + done], strict=False):
            tally.add(gap)
        self.around += gaps[0] + sum(gaps[1 + done :])
        self._remember(gaps[1 : 1 + done])
        return [at - 1 if at <= min(done + 1, len(self.steps)) else -1 for at in places]

    def _remember(self, gaps: Sequence[int]) -> None:
        """Keep the times of the last run in the plan, where `explain` shows them."""
        for step, gap in zip(self.plan.steps, gaps, strict=False):
            step.seconds = gap * 1e-9
