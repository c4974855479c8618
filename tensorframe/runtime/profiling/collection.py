"""Collecting: what plans, small graphs and all around them took, added up exactly and kept for a timeline.

Runs come from any thread, often every few microseconds. Their times wait in a log of their kind, which is added up
when it is long: in the middle of a loop, that would cost what the loop is timed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import current_thread, get_ident
from time import perf_counter_ns

import numpy as np

from tensorframe.backends.device.memory import Statistics
from tensorframe.backends.device.watching import Watch
from tensorframe.backends.spans import Span, Work, join, leave
from tensorframe.forks import new_reentrant_lock
from tensorframe.graph.node import Node
from tensorframe.runtime.execution.events import Source
from tensorframe.runtime.profiling.tallies import (
    Made,
    OpenSpan,
    PlanTally,
    SmallTally,
    Tally,
    ThreadTime,
    Times,
)
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site

# times in one log that wait to be added up: half a megabyte
_WAITING = 1 << 14

# spans in one thread without a run that may still turn out to be parts of a longer one
_OPEN_SPANS = 1024

# what a timeline is made of: runs of one kind, or a span
Kept = tuple[PlanTally | SmallTally, Times] | Span


class Collection:
    """A collector that adds up what it is told; `limit` is how many times it keeps for a timeline."""

    def __init__(self, limit: int) -> None:
        self.began = self.ended = 0
        self.owner = 0  # the thread that collects
        self.threads: dict[int, ThreadTime] = {}
        self.plans: list[PlanTally] = []
        self.small: list[SmallTally] = []
        self.copies: dict[
            tuple[str, str], Tally
        ] = {}  # by name and where: those that no plan knows of
        self.made: list[Made] = []
        self.ahead: dict[str, int] = {}  # nanoseconds of kernels compiled before they were needed
        self.opened: dict[str, None] = {}  # devices and backends, in order
        self.spent = dict.fromkeys(Work, 0)  # nanoseconds, without other work inside
        self.counts = dict.fromkeys(Work, 0)
        self.memory: dict[str, Statistics] = {}
        self.kept: list[Kept] = []
        self.dropped = 0  # runs and spans beyond the limit
        self.cut: int | None = None  # the beginning of the first of these
        self._room = limit
        self._lock = new_reentrant_lock()
        self._device_times: dict[int, Sequence[int | None]] = {}  # of the run that ends next
        self._latest: dict[tuple[int, int], PlanTally] = {}
        self._small: dict[tuple[int, int, int, int, int], SmallTally] = {}
        self._watch: Watch | None = None

    def begin(self) -> None:
        """Collect from now on."""
        self.owner = get_ident()
        self._watch = Watch()
        join(self)
        self.began = perf_counter_ns()

    def end(self) -> None:
        """Collect no longer."""
        self.ended = perf_counter_ns()
        for tally in self.plans:
            tally.remember()  # for those who explain a plan; all else is added up when somebody looks
        leave(self)
        self.look_at_memory()
        if self._watch is not None:
            self._watch.end()
            self._watch = None

    def look_at_memory(self) -> None:
        """Note what the devices' memory is like now."""
        if self._watch is not None:
            self.memory = self._watch.statistics()

    def run(
        self,
        source: Source,
        plan: Plan,
        sites: Sequence[Site | None],
        stamps: Sequence[int],
        thread: int,
        /,
    ) -> None:
        """Take a run of a plan."""
        tally = self._latest.get((id(plan), thread))
        if tally is None or (tally.sites is not sites and tally.sites != sites):
            tally = self._tally(source, plan, sites, thread)
        if self._device_times:
            tally.add_device_times(self._device_times.pop(thread, ()))
        open_spans = tally.thread.open_spans
        if len(stamps) != tally.length or (open_spans and open_spans[-1].began >= stamps[0]):
            self._add_closely(tally, stamps)
            return
        tally.waiting.extend(stamps)
        if len(tally.waiting) >= _WAITING:
            self._add_up(tally)

    def device_times(self, times: Sequence[int | None], thread: int, /) -> None:
        """Take what devices have counted for the steps of the run that is reported next."""
        self._device_times[thread] = times

    def small_run(self, last: Node, stamps: Sequence[int], thread: int, /) -> None:
        """Take a run of a small graph."""
        code, offset = last.site or (None, 0)
        # by identity: hashing code takes longer than all else here
        key = (id(last.op), id(last.device), id(code), offset, thread)
        tally = self._small.get(key)
        if tally is None:
            tally = self._small_tally(key, last)
        tally.waiting.extend(stamps)
        if len(tally.waiting) >= _WAITING:
            self._add_up(tally)

    def span(self, span: Span, /) -> None:
        """Take a span of work beside steps."""
        with self._lock:
            time = self._met(span.thread)
            inside = time.absorb_nested(span.began)
            made = [kernel for nested in inside for kernel in nested.made]
            if span.work in (Work.COMPILE, Work.LOAD):
                made.append(Made(span))
                self.made.append(made[-1])
            if span.work is Work.AHEAD:
                self.ahead[span.name] = span.ended - span.began
            if span.work is Work.OPEN:
                self.opened.setdefault(span.where)
            if span.work is Work.TRANSFER:
                copies = self.copies.setdefault((span.name, span.where), Tally())
                copies.add(span.ended - span.began)
                copies.nbytes += span.nbytes
            length = span.ended - span.began - sum(nested.ended - nested.began for nested in inside)
            self.spent[span.work] += length
            self.counts[span.work] += 1
            if len(time.open_spans) >= _OPEN_SPANS:
                time.settle()
            time.open_spans.append(OpenSpan(span.began, span.ended, made, span.work is Work.PLAN))
            if self._fits(1, span.began):
                self.kept.append(span)

    def add_up(self) -> None:
        """Add up what has come until now."""
        for plan in list(self.plans):
            self._add_up(plan)
        for small in list(self.small):
            self._add_up(small)

    def _met(self, thread: int) -> ThreadTime:
        # asked in that thread: later it may be gone
        number = len(self.threads) + 1
        return self.threads.setdefault(thread, ThreadTime(number, current_thread().name))

    def _tally(
        self, source: Source, plan: Plan, sites: Sequence[Site | None], thread: int
    ) -> PlanTally:
        with self._lock:
            time = self._met(thread)
            for tally in self.plans:
                known = tally.plan is plan and tally.thread is time and tally.source is source
                if known and tally.sites == sites:
                    break
            else:
                tally = PlanTally(source, plan, sites, time)
                self.plans.append(tally)
            self._latest[id(plan), thread] = tally
            return tally

    def _small_tally(self, key: tuple[int, int, int, int, int], last: Node) -> SmallTally:
        with self._lock:
            tally = self._small[key] = SmallTally(last, self._met(key[-1]))
            self.small.append(tally)
            return tally

    def _add_up(self, tally: PlanTally | SmallTally) -> None:
        with self._lock:
            times = tally.taken()
            if times is None:
                return
            tally.add_up(times)
            tally.thread.busy += int((times[:, -1] - times[:, 0]).sum())
            self._keep(tally, times)

    def _add_closely(self, tally: PlanTally, stamps: Sequence[int]) -> None:
        """Add a run that needs a closer look: it broke off, or spans were reported in it."""
        with self._lock:
            time = tally.thread
            inside = time.absorb_nested(stamps[0])
            time.settle()
            time.busy += stamps[-1] - stamps[0]
            tally.planned += any(span.planned for span in inside)
            steps = tally.add_closely(stamps, [(span.began, span.ended) for span in inside])
            for span_inside, step in zip(inside, steps, strict=True):
                for made in span_inside.made if step >= 0 else ():
                    made.name, made.site = tally.plan.steps[step].name, tally.sites[step]
            self._keep(tally, np.array([stamps]))

    def _keep(self, tally: PlanTally | SmallTally, times: Times) -> None:
        """Keep what a timeline shows, the first runs; the sums are those of all."""
        count, length = times.shape
        fitting = min(self._room // length, count)
        if fitting:
            self.kept.append((tally, times[:fitting]))
            self._room -= fitting * length
        if fitting < count:
            self._leave_out(count - fitting, int(times[fitting, 0]))

    def _fits(self, length: int, began: int) -> bool:
        if self._room >= length:
            self._room -= length
            return True
        self._leave_out(1, began)
        return False

    def _leave_out(self, count: int, began: int) -> None:
        """Note what is not kept; a timeline ends before the first of it, or it would have holes."""
        self._room = 0
        self.dropped += count
        self.cut = began if self.cut is None else min(self.cut, began)
