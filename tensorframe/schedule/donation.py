"""Donation: a plan that may write over some of the values that it is given, and frees them when they are used up."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tensorframe.schedule.memory import share_storage
from tensorframe.schedule.peak import peak_bytes
from tensorframe.schedule.plan import Plan, Step


def with_donations(plan: Plan, donated: Collection[int]) -> Plan:
    """Return a plan of its own for the same values, whose steps take over the memory of the leaves `donated`.

    What is an output itself is not taken over. A step that could write over a leaf runs after the others that read it.
    """
    given = frozenset(donated).difference(plan.outputs)
    own = replace(plan, steps=[replace(step) for step in plan.steps], runner=None, outlook=None)
    own.steps = _readers_first(own, given)
    share_storage(own, given)
    own.peak = peak_bytes(own)
    return own


def _readers_first(plan: Plan, donated: frozenset[int]) -> list[Step]:
    """Return the steps with each that takes a donated leaf, and gives its like, after the last other reader of it."""
    steps = list(plan.steps)
    for step in plan.steps:
        taken = [slot for slot in step.inputs if slot in donated and _gives_like(plan, step, slot)]
        if taken and not step.is_view:
            _delay(steps, step, _seen_through(plan, taken))
    return steps


def _gives_like(plan: Plan, step: Step, slot: int) -> bool:
    return any(plan.slots[output] == plan.slots[slot] for output in step.outputs)


def _seen_through(plan: Plan, slots: Collection[int]) -> set[int]:
    """Return slots and the views of them."""
    seen = set(slots)
    for step in plan.steps:
        if step.is_view and not seen.isdisjoint(step.inputs):
            seen.update(step.outputs)
    return seen


def _delay(steps: list[Step], step: Step, slots: set[int]) -> None:
    """Move a step behind the last one that reads `slots`, as far as what needs the step's own results allows."""
    start = steps.index(step)
    made = set(step.outputs)
    target = start
    for index in range(start + 1, len(steps)):
        inputs = steps[index].inputs
        if not made.isdisjoint(inputs):
            break
        if not slots.isdisjoint(inputs):
            target = index
    steps.insert(target, steps.pop(start))
