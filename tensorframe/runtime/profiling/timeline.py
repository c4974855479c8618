"""The timeline: what was kept of a profile as slices of time in lanes, for pictures and for trace viewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from tensorframe.backends.spans import Span, Work
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.runtime.profiling.collection import Collection
from tensorframe.runtime.profiling.records import kind_of, line_of, where
from tensorframe.runtime.profiling.tallies import PlanTally, SmallTally, ThreadTime
from tensorframe.schedule.plan import Step

OPENING, PLANNING, MAKING = "devices opened", "planning", "kernels made"
TRANSFERS, HOST = "transfers", "runs"

_GROUPS = {
    Work.OPEN: OPENING,
    Work.PLAN: PLANNING,
    Work.PREPARE: PLANNING,
    Work.LAYOUT: MAKING,
    Work.COMPILE: MAKING,
    Work.AHEAD: MAKING,
    Work.LOAD: MAKING,
    Work.TRANSFER: TRANSFERS,
}


@dataclass(frozen=True, slots=True)
class Lane:
    """Where slices stand below each other in time: a device, or a kind of work, and a thread."""

    group: str
    """The device's name, or OPENING, PLANNING, MAKING, TRANSFERS or HOST: runs as a whole."""
    thread: int
    """Threads are numbered from 1."""
    name: str
    """The thread's."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One piece of work; times are nanoseconds since the profile began."""

    lane: Lane
    kind: str
    name: str
    began: int
    ended: int
    facts: Mapping[str, Any] = field(default_factory=dict)


def slices_of(collection: Collection) -> Iterator[Slice]:
    """Yield what was kept in order of time, of each run first the run, then its steps."""
    cut = collection.cut
    needed = {id(kernel.span): kernel.name for kernel in collection.made}
    rows: list[tuple[int, PlanTally | SmallTally | None, Sequence[int] | Span]] = []
    for entry in collection.kept:
        if isinstance(entry, Span):
            rows.append((entry.began, None, entry))
        else:
            runs, times = entry
            rows += [(row[0], runs, row) for row in times.tolist()]
    for began, tally, row in sorted(rows, key=itemgetter(0)):
        if cut is not None and began >= cut:
            return
        if isinstance(row, Span):
            yield _of_span(collection, row, needed.get(id(row), ""))
        elif isinstance(tally, SmallTally):
            yield _of_small(collection, tally, row)
        elif tally is not None:
            yield from _of_run(collection, tally, row)


def _lane(group: str, thread: ThreadTime) -> Lane:
    return Lane(group, thread.number, thread.name)


def _of_span(collection: Collection, span: Span, step: str) -> Slice:
    lane = _lane(_GROUPS[span.work], collection.threads[span.thread])
    facts = {"where": span.where, "bytes": span.nbytes, "for": step}
    facts = {name: fact for name, fact in facts.items() if fact}
    start = collection.began
    return Slice(lane, span.work.value, span.name, span.began - start, span.ended - start, facts)


def _of_small(collection: Collection, small: SmallTally, times: Sequence[int]) -> Slice:
    lane = _lane(str(small.device), small.thread)
    facts = {"line": ": ".join(line_of(small.tally.site))}
    began, ended = [stamp - collection.began for stamp in times]
    return Slice(lane, "small", small.op.name, began, ended, facts)


def _of_run(collection: Collection, tally: PlanTally, stamps: Sequence[int]) -> Iterator[Slice]:
    times = [stamp - collection.began for stamp in stamps]
    steps = tally.plan.steps
    facts: dict[str, Any] = {"steps": len(steps), "source": tally.source.value}
    name = steps[-1].name if steps else "nothing to do"
    lane = _lane(HOST, tally.thread)
    yield Slice(lane, "run", name, times[0], times[-1], facts)
    done = zip(steps, tally.sites, times[1:], times[2:-1], strict=False)
    for index, (step, site, began, ended) in enumerate(done):
        kind = kind_of(step)
        group = TRANSFERS if kind == "transfer" else str(step.device)
        facts = {"step": index, "line": ": ".join(line_of(site)), **_costs(step)}
        facts |= {"where": where(tally.plan, step)} if kind == "transfer" else {}
        lane = _lane(group, tally.thread)
        yield Slice(lane, kind, step.name, began, ended, facts)


def _costs(step: Step) -> dict[str, float]:
    costs = {
        "bytes read": step.bytes_read,
        "bytes written": step.bytes_written,
        "flops": step.flops,
    }
    return {name: count for name, count in costs.items() if count}
