"""Scans across blocks: totals of blocks, what comes before each, and blocks that go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import Array, Layer, array_of, new_name
from tensorframe.backends.dask.joins import ufunc_of
from tensorframe.backends.dask.layers import blocks_of
from tensorframe.backends.dask.partials import Extended, Partial, alone, total_dtype
from tensorframe.backends.dask.programs import by_one_thread, run_region
from tensorframe.backends.dask.reductions import Operand
from tensorframe.backends.dask.tasks import BlockCall, NamedCall, owned
from tensorframe.dtypes import DType
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.ops.reduction import CUMULATIVE_SUM, PROD, SUM
from tensorframe.quick_dataclasses import dataclass
from tensorframe.schedule.blocks import Block, extents


def scan(region: Region, value: int, given: Mapping[int, Any], limit: int) -> Array:
    """Return a scan as an array: totals of blocks, what comes before each, and blocks that go on from there."""
    entry = region.ops[value - len(region.inputs)]
    operand = Operand(region, entry.inputs[0], given, limit)
    (axis,) = entry.attrs
    name = operand.name(entry.op)
    held = total_dtype(entry.op, entry.dtype)
    op = SUM if entry.op is CUMULATIVE_SUM else PROD
    left = [Partial(op, held)]
    before = operand.partial((axis,), left, new_name(f"{name}.part"))
    part = next(iter(before))[0]
    counts = [len(own.sizes) for own in operand.grid.axes]
    for line in product(
        *[range(1 if position == axis else n) for position, n in enumerate(counts)]
    ):
        keys = [(part, *line[:axis], number, *line[axis + 1 :]) for number in range(counts[axis])]
        key = (f"{name}.before", *line)
        before[key] = Task(key, OffsetsCall(op, axis), *map(TaskRef, keys))
    most = counts[axis] * operand.bytes_left((axis,), left)
    offsets = Layer(part, before, operand.arrays, most)
    call = NamedCall(name, ScanCall(operand.call, entry.op, axis, held, entry.dtype))
    tasks = {}
    for index, block, spans, references in blocks_of(operand.grid, operand.inputs):
        own = TaskRef((f"{name}.before", *index[:axis], 0, *index[axis + 1 :]))
        key = (name, *index)
        tasks[key] = Task(key, call, block, spans, index[axis], own, *references)
    return array_of(name, tasks, operand.grid.chunks, entry.dtype, [offsets, *operand.arrays])


@dataclass(frozen=True, slots=True)
class OffsetsCall:
    """A task that takes the totals of all blocks along an axis, and gives what comes before each of them."""

    op: Op
    axis: int

    def __call__(self, *blocks: Any) -> Any:
        """Return the offsets, one behind the other along the axis."""
        ufunc = ufunc_of(self.op)
        totals = [alone(block) for block in blocks]
        first = np.full_like(totals[0], ufunc.identity)
        line = np.concatenate([first, *totals[:-1]], self.axis)
        with np.errstate(all="ignore"):
            return ufunc.accumulate(line, self.axis, dtype=line.dtype)


@dataclass(frozen=True, slots=True)
class ScanCall:
    """A task that scans a block along an axis, from what comes before it on."""

    call: BlockCall
    op: Op
    axis: int
    held: DType
    dtype: DType

    def __call__(self, block: Block, spans: Any, index: int, offsets: Any, *parts: Any) -> Any:
        """Return the block of the scan; `at` is its number along the axis."""
        made, inputs = self.call.prepared(block, spans, parts)
        scan = Extended(made)
        wide = scan.cast(scan.value, self.held)
        shape = scan.kind_of(wide)[0]
        last = scan.add(self.op, (self.axis,), (wide,), shape, self.held)
        with by_one_thread(alone=False), np.errstate(all="ignore"):
            (scanned,) = run_region(scan.region((last,)), inputs)
            if index:
                own = np.take(offsets, [index], self.axis)
                scanned = ufunc_of(self.op)(own, scanned)
            return owned(np.asarray(scanned).astype(self.dtype, copy=False))

    def scratch(self, block: Block, spans: Any, *_: Any) -> int:
        """Return the bytes that it takes beside blocks: the scan before it is rounded, and before it goes on."""
        wide = prod(extents(block)) * self.held.itemsize
        return 2 * wide + self.call.scratch(block, spans)
