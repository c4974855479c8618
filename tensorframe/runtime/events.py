"""Events: what the executor does, told to whoever listens, and runs with their times, told to whoever collects.

Progress bars listen: they hear of each step as it begins and as it ends. Profiles collect: a run is told in one piece
when it is over, a list of times that costs a tenth of a microsecond per step, so that short steps can be timed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from threading import get_ident
from time import perf_counter_ns

from tensorframe.backends.spans import collectors
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.schedule.plan import Plan
from tensorframe.site import Site


class Moment(Enum):
    """When an event happens."""

    PLAN_STARTED = "plan started"
    STEP_STARTED = "step started"
    STEP_FINISHED = "step finished"
    PLAN_FINISHED = "plan finished"
    PLAN_MADE = "plan made"


@dataclass(frozen=True, slots=True)
class Event:
    """One moment of one plan; `step` is an index into `plan.steps`, or None for the whole plan."""

    moment: Moment
    plan: Plan
    step: int | None = None


class Source(Enum):
    """Where a run comes from."""

    EVALUATED = "evaluated"  # a graph was captured, and its plan looked up or made
    REPLAYED = "replayed"  # a jitted function was called
    SMALL = "small"  # no plan: ops of small arrays, one by one


# What collectors get when a run is over, plain tuples as they are made between steps: the source, the plan, the lines
# that recorded its steps, the times, the thread. Times are that of the beginning, that before the first step, those
# after each step that was done, and that of the end; all but the beginning and the end are missing if preparing the
# plan failed.
Run = tuple[Source, Plan, Sequence[Site | None], Sequence[int], int]

# Of a small graph: the source, its last op, its device, the line that recorded it, how many ops there were, the
# beginning and the end, the thread.
SmallRun = tuple[Source, Op, Device, Site | None, int, Sequence[int], int]


def tell_run(source: Source, plan: Plan, sites: Sequence[Site | None], stamps: list[int]) -> None:
    """Tell collectors of a run that is over now."""
    stamps.append(perf_counter_ns())
    run = (source, plan, sites, stamps, get_ident())
    for collector in tuple(collectors):
        collector.run(run)


def tell_small(last: Node, count: int, stamps: list[int]) -> None:
    """Tell collectors of a small graph that is computed now."""
    stamps.append(perf_counter_ns())
    run = (Source.SMALL, last.op, last.device, last.site, count, stamps, get_ident())
    for collector in tuple(collectors):
        collector.run(run)


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
    try:
        yield
    finally:
        listeners.remove(listener)
