"""The timeline: what was kept of a profile as slices of time in lanes, for pictures and for trace viewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorframe.backends.spans import Span, Work
from tensorframe.runtime.events import Run, SmallRun, Source
from tensorframe.runtime.profile import Collection
from tensorframe.runtime.records import kind_of, line_of, where
from tensorframe.schedule.plan import Step

PLANNING, MAKING, TRANSFERS, HOST = "planning", "kernels made", "transfers", "runs"

_GROUPS = {
    Work.PLAN: PLANNING,
    Work.PREPARE: PLANNING,
    Work.LAYOUT: MAKING,
    Work.COMPILE: MAKING,
    Work.LOAD: MAKING,
    Work.TRANSFER: TRANSFERS,
}


@dataclass(frozen=True, slots=True)
class Lane:
    """Where slices stand below each other in time: a device, or a kind of work, and a thread."""

    group: str
    """The device's name, or PLANNING, MAKING, TRANSFERS or HOST: runs as a whole."""
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
    """Yield what was kept, run by run: first the run, then its steps."""
    for item in collection.kept:
        if type(item) is Span:
            yield _of_span(collection, item)
        elif item[0] is Source.SMALL:  # type: ignore[index]
            yield _of_small(collection, item)  # type: ignore[arg-type]
        else:
            yield from _of_run(collection, item)  # type: ignore[arg-type]


def _lane(collection: Collection, group: str, thread: int) -> Lane:
    number = 1 + list(collection.threads).index(thread)
    return Lane(group, number, collection.threads[thread].name)


def _of_span(collection: Collection, span: Span) -> Slice:
    lane = _lane(collection, _GROUPS[span.work], span.thread)
    facts = {"where": span.where, "bytes": span.nbytes}
    facts = {name: fact for name, fact in facts.items() if fact}
    start = collection.began
    return Slice(lane, span.work.value, span.name, span.began - start, span.ended - start, facts)


def _of_small(collection: Collection, run: SmallRun) -> Slice:
    _, op, device, site, count, (began, ended), thread = run
    lane = _lane(collection, str(device), thread)
    facts: dict[str, Any] = {"line": ": ".join(line_of(site)), "ops": count}
    start = collection.began
    return Slice(lane, "small", op.name, began - start, ended - start, facts)


def _of_run(collection: Collection, run: Run) -> Iterator[Slice]:
    source, plan, sites, stamps, thread = run
    times = [stamp - collection.began for stamp in stamps]
    facts: dict[str, Any] = {"steps": len(plan.steps), "source": source.value}
    name = plan.steps[-1].name if plan.steps else "nothing to do"
    yield Slice(_lane(collection, HOST, thread), "run", name, times[0], times[-1], facts)
    done = zip(plan.steps, sites, times[1:], times[2:-1], strict=False)
    for at, (step, site, began, ended) in enumerate(done):
        kind = kind_of(step)
        group = TRANSFERS if kind == "transfer" else str(step.device)
        facts = {"step": at, "line": ": ".join(line_of(site)), **_costs(step)}
        facts |= {"where": where(plan, step)} if kind == "transfer" else {}
        yield Slice(_lane(collection, group, thread), kind, step.name, began, ended, facts)


def _costs(step: Step) -> dict[str, float]:
    found = {
        "bytes read": step.bytes_read,
        "bytes written": step.bytes_written,
        "flops": step.flops,
    }
    return {name: count for name, count in found.items() if count}
