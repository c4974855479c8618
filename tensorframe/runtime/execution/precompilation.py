"""Precompilation: before a plan runs for the first time, its programs begin to make their kernels, all at once.

Kernels depend on how operands lie in memory, which is known of leaves, and follows step by step for the rest. What the
programs begin is compiled before the first step, by this thread and others. Plans of tiles begin before their leaves
are read (`foresee_tile`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, afterwards, foresee, foresees
from tensorframe.backends.registry import capabilities
from tensorframe.backends.spans import Work, spanned
from tensorframe.schedule.plan import Plan, Step, StepKind

# Bytes of a value beyond which kernels take no time beside the rest.
_LARGE = 1 << 32
# Regions whose programs are looked at: as many kernels are remembered until they are needed. Steps may share one.
_MOST = 96


def foresee_all(
    programs: Sequence[Program], plan: Plan, slots: Sequence[Any], *, often: bool = False
) -> None:
    """Have the programs of a plan's steps begin to make their kernels; `slots` are its values before the first step.

    Of a plan that is to run `often` they make those as well that pay after some runs.
    """
    # a single kernel is made by the step that is about to need it
    if _regions(programs, plan) > 1 and _foreseen(programs, plan, slots, often=often):
        for finish in afterwards:
            finish()


def foresee_tile(programs: Sequence[Program], plan: Plan, *, waits: bool) -> None:
    """Have the kernels of a tile's plan be made while its leaves are read, which lie in C order.

    If the caller `waits` for them anyway it compiles, too.
    """
    if _regions(programs, plan) and _foreseen(programs, plan, None) and waits:
        for finish in afterwards:
            finish()


def _regions(programs: Sequence[Program], plan: Plan) -> int:
    """Return how many steps have kernels that can be foreseen: 0 where there are too many."""
    steps = zip(plan.steps, programs, strict=True)
    regions = [step.region for step, program in steps if foresees(program)]
    return len(regions) if len(set(regions)) <= _MOST else 0


def _foreseen(
    programs: Sequence[Program],
    plan: Plan,
    slots: Sequence[Any] | None,
    *,
    often: bool = False,
) -> bool:
    """Have the kernels of all steps begun; without `slots`, of stand-ins for the leaves. Return whether that was so."""
    largest = max([prod(slot.shape) * slot.dtype.itemsize for slot in plan.slots], default=0)
    if largest > _LARGE:
        return False
    # where addresses are short, kernels are made when they are needed
    with spanned(Work.LAYOUT, "kernels of later steps", "llvm"), suppress(OSError):
        stand_ins = StandIns(largest, often=often)
        values = _leaves(plan, stand_ins) if slots is None else list(slots)
        for step, program in zip(plan.steps, programs, strict=True):
            operands = [values[slot] for slot in step.inputs]
            outputs = None
            if all(operand is not None for operand in operands):
                outputs = _outputs(step, program, operands, stand_ins)
            for place, slot in enumerate(step.outputs):
                if outputs is not None:
                    values[slot] = outputs[place]
                elif capabilities(step.device).host_memory:
                    values[slot] = stand_ins.new(plan.slots[slot].shape, plan.slots[slot].dtype)
    return True


def _leaves(plan: Plan, stand_ins: StandIns) -> list[Any]:
    """Return the slots of a plan before its first step, with stand-ins for the leaves in host memory."""
    values = [plan.literals.get(slot) for slot in range(len(plan.slots))]
    for slot, leaf in enumerate(plan.slots[: plan.leaves]):
        if capabilities(leaf.device).host_memory:
            values[slot] = stand_ins.new(leaf.shape, leaf.dtype)
    return values


def _outputs(
    step: Step, program: Program, operands: Sequence[Any], stand_ins: StandIns
) -> Sequence[Any] | None:
    if foresees(program):
        return foresee(program, operands, stand_ins)
    is_seen = step.kind is not StepKind.TRANSFER and step.is_view
    if is_seen and capabilities(step.device).host_memory:
        with suppress(Exception):  # raised when it runs
            return program(operands, (None,) * len(step.outputs))
    return None
