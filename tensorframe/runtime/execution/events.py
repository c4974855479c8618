"""Events: what the executor does, for listeners, and runs with their times, for collectors.

Progress bars listen: they hear of each step as it begins and as it ends. Profiles collect: a run is told in one piece
when it is over, a list of times that costs a tenth of a microsecond per step, so that short steps can be timed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from threading import get_ident
from time import perf_counter_ns
from typing import Protocol

from tensorframe.backends import spans
from tensorframe.backends.spans import Span
from tensorframe.graph.node import Node
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site


class Moment(Enum):
    """When an event happens."""

    PLAN_STARTED = "plan started"
    STEP_STARTED = "step started"
    STEP_FINISHED = "step finished"
    PLAN_FINISHED = "plan finished"
    PLAN_MADE = "plan made"


class Event(NamedTuple):
    """One moment of one plan; `step` is an index into `plan.steps`, or None for the whole plan."""

    moment: Moment
    plan: Plan
    step: int | None = None


class Source(Enum):
    """Where a run comes from."""

    EVALUATED = "evaluated"  # a graph was captured, and its plan looked up or made
    REPLAYED = "replayed"  # a jitted function was called


class Collector(Protocol):
    """What collects; all methods are called in the thread that did the work.

    `stamps` are nanoseconds. Of plans: the beginning, before the first step, after each step that was done, the end;
    all but the beginning and the end are missing if preparing the plan failed. Of small graphs: beginning and end.
    `sites` are the lines that recorded the steps; `last` is what a small graph computed.
    """

    def span(self, span: Span, /) -> None:
        """Take a span of work beside steps."""

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

    def device_times(self, times: Sequence[int | None], thread: int, /) -> None:
        """Take what devices have counted for the steps of the run that is reported next."""

    def small_run(self, last: Node, stamps: Sequence[int], thread: int, /) -> None:
        """Take a run of a small graph."""


def tell_run(source: Source, plan: Plan, sites: Sequence[Site | None], stamps: list[int]) -> None:
    """Tell collectors of a run that is over now."""
    stamps.append(perf_counter_ns())
    for collector in spans.collectors:
        collector.run(source, plan, sites, stamps, get_ident())


def tell_device_times(times: Sequence[int | None]) -> None:
    """Tell collectors what devices counted for the steps of the run that is told next, in nanoseconds."""
    for collector in spans.collectors:
        collector.device_times(times, get_ident())


def tell_small(last: Node, stamps: list[int]) -> None:
    """Tell collectors of a small graph that is computed now."""
    stamps.append(perf_counter_ns())
    for collector in spans.collectors:
        collector.small_run(last, stamps, get_ident())


Listener = Callable[[Event], None]

listeners: list[Listener] = []


def tell(moment: Moment, plan: Plan, step: int | None = None) -> None:
    """Call every listener; costs one test where there is none."""
    if listeners:
        event = Event(moment, plan, step)
        for listener in tuple(listeners):
            listener(event)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call `listener` with every event of every thread while the `with` block runs."""
    listeners.append(listener)
    spans.onlookers.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
        spans.onlookers.remove(listener)
