"""Checking indices: on devices whose work goes on behind Python, a plan asks for wrong ones when it has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tensorframe.backends.device.checks import Checks, deferred
from tensorframe.runtime.execution.failures import Recorded, explain
from tensorframe.runtime.execution.observers import Action
from tensorframe.schedule.plan import Plan

Perform = Callable[[Iterable[Action], list[Any], Plan, Recorded], None]


def checking(perform: Perform) -> Perform:
    """Return what runs all steps, and then says which of them was given an index out of bounds."""

    def run(actions: Iterable[Action], slots: list[Any], plan: Plan, recorded: Recorded) -> None:
        with deferred() as checks:
            perform(_counted(actions, checks), slots, plan, recorded)
            try:
                checks.settle()
            except BaseException as error:  # distinguished in explain, which always raises
                explain(error, plan, checks.step, recorded)

    return run


def _counted(actions: Iterable[Action], checks: Checks) -> Iterator[Action]:
    """Note which step is next before it runs."""
    for action in actions:
        checks.step = action[0]
        yield action
