"""Trials: kernels that a device runs when it is opened, since its interface does not say how it computes them.

Which threads a subgroup has, neither WebGPU nor OpenCL specifies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import uint32
from tensorframe.kernel import ir

Array = np.ndarray[Any, Any]
# runs a kernel on arrays of one length, and returns its outputs
Run = Callable[[ir.Kernel, list[Array]], list[Array]]


def run_on(queue: Queue, kernel: ir.Kernel, operands: list[Array]) -> list[Array]:
    """Run a kernel on arrays of one length, with its text as the queue prints it now."""
    size, nbytes = operands[0].size, operands[0].nbytes
    buffers = [queue.allocate(nbytes) for _ in (*kernel.inputs, *kernel.outputs)]
    for buffer, operand in zip(buffers, operands, strict=False):
        queue.write(buffer, 0, operand.view(np.uint8))
    words = np.array([size] + [0] * len(kernel.inputs), np.uint32)
    queue.launch(queue.build(kernel), -(-size // kernel.lanes), buffers, words)
    results = [queue.read(buffer, 0, nbytes) for buffer in buffers[len(operands) :]]
    for memory in buffers:
        queue.release(memory)
    return [data.view(operands[0].dtype) for data in results]


def joins(lanes: int, run: Run) -> bool:
    """Whether the threads of a group are joined in the order that `ir.levels` gives."""
    values = np.arange(1, lanes + 1, dtype=np.uint32)
    (results,) = run(_joining(lanes), [values])
    for size in ir.levels(lanes):
        values = reduce(_mixed, values.reshape(-1, size).T)
    return bool((results == values).all())


def _mixed(x: Any, y: Any) -> Any:
    """Return what tells the order of its operands."""
    return x * 31 + y


def _joining(lanes: int) -> ir.Kernel:
    """Return a kernel of groups that join their elements, one of each thread."""
    source, output = ir.Buffer("x0", uint32, ir.Role.INPUT), ir.Buffer("y0", uint32, ir.Role.OUTPUT)
    total, other, lane = (
        ir.variable("r", uint32),
        ir.variable("r_other", uint32),
        ir.index("lane", uint32),
    )
    count, zero = ir.literal(lanes, uint32), ir.literal(0, uint32)

    def by_all(statement: ir.Statement) -> ir.Loop:
        return ir.Loop(lane, zero, count, (statement,), over=ir.ParallelAxis.LANES)

    joined = total * ir.literal(31, uint32) + other
    body = (
        by_all(ir.Set(total, ir.load(source, lane))),
        ir.Combine(total, other, joined),
        by_all(ir.Store(output, lane, total)),
    )
    # as many times as there are threads: how a trial's loop ends
    row, last = ir.index("row", uint32), ir.argument(ir.STOP.name, uint32)
    loop = ir.Loop(row, zero, last, body, parallel=True, over=ir.ParallelAxis.GROUPS)
    return ir.Kernel((source,), (output,), (), (), (loop,), lanes=lanes)
