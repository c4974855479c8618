"""Tallies: calls with their total, shortest and longest time, added up many at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tensorframe.backends.spans import Span
from tensorframe.cached import cached_property
from tensorframe.graph.node import Node
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.runtime.execution.events import Source
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

# runs in a row each: their times in nanoseconds
Times = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(slots=True)
class Made:
    """A kernel that was made, and the step that needed it, if one did: its ops, and the line that recorded it."""

    span: Span
    name: str = ""
    site: Site | None = None


@dataclass(slots=True)
class OpenSpan:
    """Work that no run contains so far, and the kernels made in it."""

    began: int
    ended: int
    made: list[Made]
    planned: bool


@dataclass(slots=True)
class ThreadTime:
    """What a thread has spent inside tensorframe, in nanoseconds."""

    number: int
    """The position among the threads of a profile, from 1."""
    name: str
    busy: int = 0
    open_spans: list[OpenSpan] = field(default_factory=list)

    def absorb_nested(self, began: int) -> list[OpenSpan]:
        """Take out the work that began since, and so is part of what began then and ends now."""
        nested = []
        while self.open_spans and self.open_spans[-1].began >= began:
            nested.append(self.open_spans.pop())
        return nested

    def settle(self) -> None:
        """Count work that nothing contains."""
        self.busy += self._uncounted
        self.open_spans.clear()

    @property
    def total(self) -> int:
        """Nanoseconds until now."""
        return self.busy + self._uncounted

    @property
    def _uncounted(self) -> int:
        return sum(span.ended - span.began for span in self.open_spans)


class Tally:
    """Calls of one thing; times are nanoseconds."""

    __slots__ = ("calls", "counted", "fastest", "nbytes", "on_device", "site", "slowest", "total")

    def __init__(self, site: Site | None = None) -> None:
        self.site = site
        self.calls = 0
        self.total = 0
        self.fastest = 0
        self.slowest = 0
        self.counted = 0  # calls of which the device has counted the time
        self.on_device = 0
        self.nbytes = 0  # of copies that no plan knows of

    def add(self, total: int, calls: int = 1, fastest: int = -1, slowest: int = -1) -> None:
        """Add calls that took so long together; of a single one its time is all there is to say."""
        fastest = total if fastest < 0 else fastest
        self.fastest = min(self.fastest, fastest) if self.calls else fastest
        self.slowest = max(self.slowest, total if slowest < 0 else slowest)
        self.calls += calls
        self.total += total


class Log:
    """Times of runs of one kind in one thread, `length` of them each, that wait to be added up.

    Only that thread writes. What waits are numbers in one list: with a list for each run, the garbage collector would
    look through all of them, which took longer than everything else about them.
    """

    def __init__(self, thread: ThreadTime, length: int) -> None:
        self.thread = thread
        self.length = length
        self.waiting: list[int] = []

    def taken(self) -> Times | None:
        """Take what waits out of the log; None if there is nothing."""
        count = len(self.waiting)  # the thread may add to it meanwhile
        if not count:
            return None
        times = np.fromiter(self.waiting, np.int64, count)
        del self.waiting[:count]
        return times.reshape(-1, self.length)


class SmallTally(Log):
    """Runs of small graphs whose last op was recorded by one line."""

    def __init__(self, last: Node, thread: ThreadTime) -> None:
        super().__init__(thread, 2)
        self.op = last.op
        self.device = last.device
        self.tally = Tally(last.site)

    def add_up(self, times: Times) -> None:
        """Add runs."""
        spent = times[:, 1] - times[:, 0]
        self.tally.add(int(spent.sum()), len(spent), int(spent.min()), int(spent.max()))


class PlanTally(Log):
    """Runs of one plan whose steps were recorded by the same lines."""

    def __init__(
        self, source: Source, plan: Plan, sites: Sequence[Site | None], thread: ThreadTime
    ) -> None:
        super().__init__(thread, len(plan.steps) + 3)
        self.plan = plan
        self.source = source
        self.sites = sites
        self.runs = 0
        self.unfinished = 0
        self.planned = 0  # runs for which the plan was made
        self.around = 0  # nanoseconds in runs that are neither steps nor spans
        self._latest: Sequence[int] = ()  # the steps of the last run that was added

    @cached_property
    def steps(self) -> list[Tally]:
        """A tally for each step: made when there is something to add, which is later than the first run."""
        return [Tally(site) for site in self.sites]

    def add_up(self, times: Times) -> None:
        """Add runs that have done every step, and reported no span besides."""
        gaps = np.diff(times, axis=1)
        self._latest = gaps[-1, 1:-1].tolist()
        before, *totals, after = gaps.sum(axis=0).tolist()
        self.runs += len(times)
        self.around += before + after
        low, high = gaps.min(axis=0).tolist()[1:-1], gaps.max(axis=0).tolist()[1:-1]
        for tally, total, fastest, slowest in zip(self.steps, totals, low, high, strict=True):
            tally.add(total, len(times), fastest, slowest)

    def add_closely(self, stamps: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int]:
        """Add a run that broke off, or in which spans were reported: those that begin and end so.

        Their time is not that of the step around them. Returns the step for each span, -1 where it is in none.
        """
        gaps = [after - before for before, after in pairwise(stamps)]
        places = [min(bisect_right(stamps, began), len(gaps)) - 1 for began, _ in spans]
        for place, (began, ended) in zip(places, spans, strict=True):
            gaps[place] -= ended - began
        done = max(len(stamps) - 3, 0)
        self.runs += 1
        self.unfinished += done < len(self.steps)
        for tally, gap in zip(self.steps, gaps[1 : 1 + done], strict=False):
            tally.add(gap)
        self.around += gaps[0] + sum(gaps[1 + done :])
        self._latest = gaps[1 : 1 + done]
        return [place - 1 if place <= min(done + 1, len(self.steps)) else -1 for place in places]

    def add_device_times(self, times: Sequence[int | None]) -> None:
        """Add what devices have counted for the steps of a run."""
        for tally, time in zip(self.steps, times, strict=False):
            if time is not None:
                tally.counted += 1
                tally.on_device += time

    def remember(self) -> None:
        """Keep the times of the last run in the plan, where `explain` shows them."""
        latest = self.waiting[-self.length :]
        gaps = [after - before for before, after in pairwise(latest[1:-1])] or self._latest
        for step, gap in zip(self.plan.steps, gaps, strict=False):
            step.seconds = gap * 1e-9
