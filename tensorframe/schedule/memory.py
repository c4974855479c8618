"""Memory: when each value dies, and whose memory a new value may take over."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.op import Kind
from tensorframe.schedule.plan import Plan, Step


def share_storage(plan: Plan) -> None:
    """Fill in `frees` and `donors` of every step.

    A value dies after its last use, a view keeping what it looks into alive. An output of an elementwise or
    scatter step takes over the memory of an operand of its own shape and dtype that dies in that very step. The
    executor still checks that nobody else sees that memory.
    """
    last_use = _last_uses(plan)
    owned: set[int] = set()  # slots with memory of their own: neither given to the plan nor views
    for at, step in enumerate(plan.steps):
        dying = [slot for slot in dict.fromkeys(step.inputs) if last_use[slot] == at]
        step.frees = tuple(slot for slot in dying if slot >= plan.leaves)
        step.donors = _donors(step, plan, [slot for slot in dying if slot in owned])
        if not step.is_view:
            owned.update(step.outputs)


def _last_uses(plan: Plan) -> list[int]:
    end = len(plan.steps)
    last = [-1] * len(plan.slots)
    for at, step in enumerate(plan.steps):
        for slot in (*step.inputs, *step.outputs):
            last[slot] = max(last[slot], at)
    for slot in plan.outputs:
        last[slot] = end
    for step in reversed(plan.steps):
        if step.is_view:
            for slot in step.inputs:
                last[slot] = max(last[slot], *[last[output] for output in step.outputs])
    return last


def _donors(step: Step, plan: Plan, dying: Sequence[int]) -> tuple[int | None, ...]:
    sink = step.region.ops[-1].op.kind
    free = list(dying)
    if sink is Kind.SCATTER:
        free = [slot for slot in free if slot == step.inputs[0]]
    elif sink is not Kind.MAP:
        free = []
    donors: list[int | None] = []
    read_until = _last_reads(step)
    first = len(step.inputs)
    for output, value in zip(step.outputs, step.region.outputs, strict=True):
        donor = next(
            (
                slot
                for slot in free
                if plan.slots[slot] == plan.slots[output] and read_until[slot] <= value - first
            ),
            None,
        )
        if donor is not None:
            free.remove(donor)
        donors.append(donor)
    return tuple(donors)


def _last_reads(step: Step) -> dict[int, int]:
    """Return the last op of the region that reads each input: only it, or a later one, may write over it."""
    return {
        step.inputs[at]: number
        for number, one in enumerate(step.region.ops)
        for at in one.inputs
        if at < len(step.inputs)
    }
