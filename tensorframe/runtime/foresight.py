"""Foresight: before a plan runs for the first time, its programs begin to make their kernels, all at once.

Kernels depend on how operands lie in memory, which is known of leaves, and follows step by step for the rest. What the
programs begin is compiled before the first step, by this thread and others.
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
    steps = zip(plan.steps, programs, strict=True)
    regions = [step.region for step, program in steps if foresees(program)]
    largest = max([prod(slot.shape) * slot.dtype.itemsize for slot in plan.slots], default=0)
    if len(regions) < 2 or len(set(regions)) > _MOST or largest > _LARGE:
        return
    # where addresses are short, kernels are made when they are needed
    with spanned(Work.LAYOUT, "kernels of later steps", "llvm"), suppress(OSError):
        stand_ins = StandIns(largest, often=often)
        values = list(slots)
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
    for finish in afterwards:
        finish()


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
