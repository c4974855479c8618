"""Collecting: what plans, small graphs and all around them took, added up exactly and kept for a timeline.

Runs come as plain tuples, from any thread, and wait in a list: adding them up in the middle of a loop would cost what
the loop is timed for. Every few thousand of them are added up at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Lock, current_thread, get_ident
from time import perf_counter_ns
from typing import Any

from tensorframe.backends.device.memory import Statistics
from tensorframe.backends.device.watching import Watch
from tensorframe.backends.spans import Span, Work, collect
from tensorframe.graph.device import Device
from tensorframe.graph.op import Op
from tensorframe.runtime.events import Run, SmallRun, Source
from tensorframe.runtime.tallies import PlanTally, Tally
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

# runs and spans that wait to be added up: a few megabytes
_WAITING = 16384

# spans in one thread without a run that may still turn out to be parts of a longer one
_LOOSE = 1024

Item = Run | SmallRun | Span

# what tells small graphs apart: op, device, number of ops, and the place in the code that recorded the last one
SmallKey = tuple[Op, Device, int, int, int]


@dataclass(slots=True)
class Made:
    """A kernel that was made, and the line of the step that needed it, if a step did."""

    span: Span
    name: str = ""
    site: Site | None = None


@dataclass(slots=True)
class _Loose:
    """Work that no run contains so far, and the kernels made in it."""

    began: int
    ended: int
    made: list[Made]
    planned: bool


@dataclass(slots=True)
class ThreadTime:
    """What a thread has spent inside tensorframe, in nanoseconds."""

    name: str
    busy: int = 0
    loose: list[_Loose] = field(default_factory=list)

    def swallow(self, began: int) -> list[_Loose]:
        """Take out the work that began since, and so is part of what began then and ends now."""
        found = []
        while self.loose and self.loose[-1].began >= began:
            found.append(self.loose.pop())
        return found

    def settle(self) -> None:
        """Count work that nothing contains."""
        self.busy += self._uncounted
        self.loose.clear()

    @property
    def total(self) -> int:
        """Nanoseconds until now."""
        return self.busy + self._uncounted

    @property
    def _uncounted(self) -> int:
        return sum(one.ended - one.began for one in self.loose)


class Collection:
    """A collector that adds up what it is told; `limit` is how many steps and spans it keeps for a timeline."""

    def __init__(self, limit: int) -> None:
        self.began = self.ended = 0
        self.owner = 0  # the thread that collects
        self.threads: dict[int, ThreadTime] = {}
        self.plans: list[PlanTally] = []
        self.small: dict[SmallKey, Tally] = {}
        self.copies: dict[
            tuple[str, str], Tally
        ] = {}  # by name and where: those that no plan knows of
        self.made: list[Made] = []
        self.spent = dict.fromkeys(Work, 0)  # nanoseconds, without other work inside
        self.counts = dict.fromkeys(Work, 0)
        self.memory: dict[str, Statistics] = {}
        self.kept: list[Item] = []
        self.dropped = 0  # steps and spans beyond the limit
        self._room = limit
        self._waiting: list[Item] = []
        self._lock = Lock()
        self._found: dict[tuple[int, Source], list[PlanTally]] = {}
        self._watch: Watch | None = None
        self._stack = ExitStack()

    def begin(self) -> None:
        """Collect from now on."""
        self.owner = get_ident()
        self._watch = Watch()
        self._stack.callback(self._watch.end)
        self._stack.enter_context(collect(self))
        self.began = perf_counter_ns()

    def end(self) -> None:
        """Collect no longer."""
        self.ended = perf_counter_ns()
        self.add_up()
        self._stack.close()
        self._watch = None

    def run(self, run: tuple[Any, ...], /) -> None:
        """Take a run of a plan or of a small graph."""
        if run[-1] not in self.threads:
            self._meet(run[-1])
        self._waiting.append(run)
        if len(self._waiting) >= _WAITING:
            self.add_up()

    def span(self, span: Span, /) -> None:
        """Take work that was told by itself."""
        if span.thread not in self.threads:
            self._meet(span.thread)
        self._waiting.append(span)

    def _meet(self, thread: int) -> None:
        # asked in that thread: later it may be gone
        self.threads.setdefault(thread, ThreadTime(current_thread().name))

    def add_up(self) -> None:
        """Add up what has come until now."""
        with self._lock:
            count = len(self._waiting)  # other threads append meanwhile
            batch = self._waiting[:count]
            del self._waiting[:count]
            for item in batch:
                if type(item) is Span:
                    self._add_span(item)
                elif item[0] is Source.SMALL:  # type: ignore[index]
                    self._add_small(item)  # type: ignore[arg-type]
                else:
                    self._add_run(item)  # type: ignore[arg-type]
            for tally in self.plans:
                tally.add_up()
            if self._watch is not None:
                self.memory = self._watch.found()

    def _add_run(self, run: Run) -> None:
        source, plan, sites, stamps, thread = run
        tally = self._tally(source, plan, sites)
        time = self.threads[thread]
        time.busy += stamps[-1] - stamps[0]
        self._keep(run, len(stamps))
        inside: list[_Loose] = []
        if time.loose:
            inside = time.swallow(stamps[0])
            time.settle()
        if not inside and len(stamps) == len(plan.steps) + 3:
            tally.add(stamps)
            return
        tally.planned += any(one.planned for one in inside)
        steps = tally.add_closely(stamps, [(one.began, one.ended) for one in inside])
        for one, at in zip(inside, steps, strict=True):
            for made in one.made if at >= 0 else ():
                made.name, made.site = plan.steps[at].name, sites[at]

    def _tally(self, source: Source, plan: Plan, sites: Sequence[Site | None]) -> PlanTally:
        found = self._found.setdefault((id(plan), source), [])
        for tally in found:
            if tally.sites is sites or tally.sites == sites:
                return tally
        tally = PlanTally(plan, source, sites)
        found.append(tally)
        self.plans.append(tally)
        return tally

    def _add_small(self, run: SmallRun) -> None:
        _, op, device, site, count, (began, ended), thread = run
        # by identity: hashing code takes longer than what is counted here
        place = (0, 0) if site is None else (id(site[0]), site[1])
        key = (op, device, count, *place)
        tally = self.small.get(key)
        if tally is None:
            tally = self.small[key] = Tally(site)
        tally.add(ended - began)
        self.threads[thread].busy += ended - began
        self._keep(run, 1)

    def _add_span(self, span: Span) -> None:
        time = self.threads[span.thread]
        inside = time.swallow(span.began)
        made = [one for loose in inside for one in loose.made]
        if span.work in (Work.COMPILE, Work.LOAD):
            made.append(Made(span))
            self.made.append(made[-1])
        if span.work is Work.TRANSFER:
            copies = self.copies.setdefault((span.name, span.where), Tally())
            copies.add(span.ended - span.began)
            copies.nbytes += span.nbytes
        length = span.ended - span.began - sum(one.ended - one.began for one in inside)
        self.spent[span.work] += length
        self.counts[span.work] += 1
        if len(time.loose) >= _LOOSE:
            time.settle()
        time.loose.append(_Loose(span.began, span.ended, made, span.work is Work.PLAN))
        self._keep(span, 1)

    def _keep(self, item: Item, count: int) -> None:
        """Keep what a timeline shows, the first ones; the sums are those of all."""
        if self._room >= count:
            self._room -= count
            self.kept.append(item)
        else:
            self._room = 0  # or later short ones would leave holes that look like nothing happened
            self.dropped += count
