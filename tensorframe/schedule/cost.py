"""The cost model: bytes moved and floating-point operations, known before anything runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tensorframe.backends.transfer import is_shared
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import CONVOLUTION, multiplications
from tensorframe.schedule.plan import Slot, Step, StepKind


def charge(step: Step, inputs: Sequence[Slot], outputs: Sequence[Slot]) -> None:
    """Fill in what a step reads, writes and computes. Views move nothing, nor do devices that share memory."""
    if step.is_view or (
        step.kind is StepKind.TRANSFER and is_shared(inputs[0].device, step.device)
    ):
        return
    step.bytes_read = sum(slot.nbytes for slot in inputs)
    step.bytes_written = sum(slot.nbytes for slot in outputs)
    shapes = [shape for shape, _ in step.region.inputs]
    for op in step.region.ops:
        if op.op.kind is Kind.MAP:
            step.flops += op.op.cost * math.prod(op.shape)
        else:
            step.flops += flops(op.op, op.shape, [shapes[source] for source in op.inputs])
        shapes.append(op.shape)


def flops(op: Op, shape: Shape, operands: Sequence[Shape]) -> float:
    """Return the operations of one op: per element read where it combines them, else per element made."""
    if op is CONVOLUTION:
        return 2.0 * multiplications(operands[1], shape)
    if op.kind is Kind.CONTRACT:
        # every element of the result sums products over the axes that it lacks
        letters = math.prod(shape) * (operands[0][-1] if operands[0] else 1)
        return 2.0 * letters
    combines = op.kind in (Kind.REDUCE, Kind.SCAN, Kind.LIBRARY, Kind.FORMULA)
    return op.cost * math.prod(operands[0] if combines and operands else shape)
