"""Liveness and buffer allocation: each value's last use, and whose memory a new value may take over."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.kernel.nest.stages import stages_of
from tensorframe.kernel.spaces.analyse import analyse
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.ops.indexing import SCATTER
from tensorframe.schedule.plan import Plan, Step

# Ops that read each element of their operands at a place that is known beforehand.
_IN_LOOPS = frozenset({Kind.MAP, Kind.REDUCE, Kind.SCAN, Kind.VIEW, Kind.SCATTER, Kind.SOURCE})


def share_storage(plan: Plan, donated: Collection[int] = ()) -> None:
    """Fill in `frees` and `donors` of every step.

    A value dies after its last use, a view keeping what it looks into alive. An output takes over the memory of an
    operand of its own shape and dtype that dies in that very step, where it may be written over. The executor still
    checks that nobody else sees that memory. Of the leaves, those `donated` are the plan's own.
    """
    last_use = _last_uses(plan)
    # what a step reads through a view dies with the view, though the step does not name it
    dying: dict[int, list[int]] = {}
    for slot, index in enumerate(last_use):
        if slot >= plan.leaves or slot in donated:
            dying.setdefault(index, []).append(slot)
    owned = set(donated)  # slots with memory of their own: neither given to the plan nor views
    for index, step in enumerate(plan.steps):
        step.frees = tuple(dying.get(index, ()))
        free = [slot for slot in dict.fromkeys(step.inputs) if last_use[slot] == index]
        step.donors = _donors(step, plan, [slot for slot in free if slot in owned])
        if not step.is_view:
            owned.update(step.outputs)


def _last_uses(plan: Plan) -> list[int]:
    end = len(plan.steps)
    last = [-1] * len(plan.slots)
    for index, step in enumerate(plan.steps):
        for slot in (*step.inputs, *step.outputs):
            last[slot] = max(last[slot], index)
    for slot in plan.outputs:
        last[slot] = end
    for step in reversed(plan.steps):
        if step.is_view:
            for slot in step.inputs:
                last[slot] = max(last[slot], *[last[output] for output in step.outputs])
    return last


def _donors(step: Step, plan: Plan, dying: Sequence[int]) -> tuple[int | None, ...]:
    donors: list[int | None] = []
    free = list(dying)
    for index, output in enumerate(step.outputs):
        alike = [slot for slot in free if plan.slots[slot] == plan.slots[output]]
        donor = next(
            (slot for slot in alike if may_overwrite(step.region, index, step.inputs.index(slot))),
            None,
        )
        if donor is not None:
            free.remove(donor)
        donors.append(donor)
    return tuple(donors)


def may_overwrite(region: Region, index: int, operand: int) -> bool:
    """Whether output number `at` may be written over an operand of its shape and dtype, element by element.

    It may where every read of the operand is at the very position that is written, and nothing that is written later
    is made of it, unless, in one pass, that is made of the output alone. A scatter by itself, or at the end, replaces
    elements of its first operand.
    """
    ops, last = region.ops, region.ops[-1]
    if last.op.kind is Kind.SCATTER and (len(ops) == 1 or last.op is SCATTER):
        # values and indices are read while elements change
        is_last = index == len(region.outputs) - 1
        reads = [source for op in ops for source in op.inputs]
        return is_last and last.inputs[0] == operand and reads.count(operand) == 1
    if ops[0].op.kind is Kind.CONTRACT:
        if operand in ops[0].inputs or any(op.op.kind is Kind.REDUCE for op in ops):
            return False  # parts of the result are written before all of it is read
        ops = tuple([op for op in ops[1:] if op.op.kind is Kind.MAP])
    if any(op.op.kind not in _IN_LOOPS for op in ops):
        return False
    region = expanded(region)
    output = region.outputs[index]
    later = {value for value in region.outputs if value > output}
    shape = region.shape_of(output)
    if all(op.op.kind is Kind.MAP and op.shape in (shape, ()) for op in ops):
        return not later & _made_of(region, operand, besides=output)
    if later & _made_of(region, operand):
        return False
    return ops is region.ops and _read_in_place(region, output, operand)


def _made_of(region: Region, operand: int, besides: int = -1) -> set[int]:
    """Return an operand and the values of a region that are made of it, not counting the ways through `besides`."""
    values = {operand}
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        if value != besides and not values.isdisjoint(op.inputs):
            values.add(value)
    return values


def _read_in_place(region: Region, output: int, operand: int) -> bool:
    """Whether loops read an operand only where they write an output, in the last pass that they take."""
    space = analyse(region)
    if isinstance(space, str):
        return False
    here = space.maps[output]
    stages = stages_of(region, space, scratch=False)
    return stages.level[output] == stages.passes and all(
        space.maps[value, index] == here
        for value, op in enumerate(region.ops, start=len(region.inputs))
        for index, source in enumerate(op.inputs)
        if source == operand
    )
