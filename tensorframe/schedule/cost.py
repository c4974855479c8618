"""Costs: bytes moved, floating-point operations and peak memory, known before anything runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorframe.backends.transfer import is_shared
from tensorframe.graph.device import Device
from tensorframe.graph.op import Kind
from tensorframe.graph.region import RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.schedule.plan import Plan, Slot, Step, StepKind


def charge(step: Step, inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
    """Fill in what a step reads, writes and computes. Views move nothing, nor do devices that share memory."""
    if step.is_view or (
        step.kind is StepKind.TRANSFER and is_shared(inputs[0].device, step.device)
    ):
        return
    step.bytes_read = sum(slot.nbytes for slot in inputs)
    step.bytes_written = sum(slot.nbytes for slot in outputs)
    shapes = [shape for shape, _ in step.region.inputs]
    for one in step.region.ops:
        step.flops += _flops(one, [shapes[at] for at in one.inputs])
        shapes.append(one.shape)


def _flops(one: RegionOp, operands: Sequence[Shape]) -> float:
    """Return the operations of one op: per element read where it combines them, else per element made."""
    kind = one.op.kind
    if kind is Kind.CONTRACT:
        # every element of the result sums products over the axes that it lacks
        letters = math.prod(one.shape) * (operands[0][-1] if operands[0] else 1)
        return 2.0 * letters
    combines = kind in (Kind.REDUCE, Kind.SCAN, Kind.LIBRARY)
    return one.op.cost * math.prod(operands[0] if combines and operands else one.shape)


def peak_bytes(plan: Plan, leaves_counted: bool = True) -> dict[Device, int]:
    """Return the most bytes that live at once on each device while the plan runs, its inputs included."""
    live: dict[Device, int] = {}
    owned = [0] * len(plan.slots)
    if leaves_counted:
        for at in range(plan.leaves):
            _add(live, plan.slots[at], owned, at)
    peak = dict(live)
    for step in plan.steps:
        for slot, donor in zip(step.outputs, step.donors, strict=True):
            if step.is_view or donor is not None:
                continue
            _add(live, plan.slots[slot], owned, slot)
        for device, size in live.items():
            peak[device] = max(peak.get(device, 0), size)
        for slot in step.frees:
            if owned[slot]:
                live[plan.slots[slot].device] -= owned[slot]
                owned[slot] = 0
    return peak


def _add(live: dict[Device, int], slot: Slot, owned: list[int], at: int) -> None:
    owned[at] = slot.nbytes
    live[slot.device] = live.get(slot.device, 0) + slot.nbytes
