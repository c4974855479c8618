"""Events: what the executor does, told to whoever listens; progress bars and profiles are listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from tensorframe.schedule.plan import Plan


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
