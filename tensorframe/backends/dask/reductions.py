"""Reductions and scans across blocks: a task for each block of the operand, and a few that join what these leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import Array, array_of, new_name
from tensorframe.backends.dask.blocks import making, needed_along, read_apart
from tensorframe.backends.dask.grids import Grid, grid_of
from tensorframe.backends.dask.joins import (
    JoinCall,
    OffsetsCall,
    PartialCall,
    ScanCall,
    total_dtype,
)
from tensorframe.backends.dask.layers import blocks_of, call_for, is_number, task_bytes
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.tasks import NamedCall
from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.ops.reduction import CUMULATIVE_SUM, PROD, SUM

# Blocks that one task joins: a tree of them adds a fifteenth to the tasks.
_TOGETHER = 16


def crosses(region: Region, value: int, given: Mapping[int, Any], limit: int) -> bool:
    """Whether an op reduces or scans along an axis that operands are cut along, or more than fits into a block."""
    entry = region.ops[value - len(region.inputs)]
    if entry.op.kind is Kind.REDUCE:
        axes = entry.attrs[0]
    elif entry.op.kind is Kind.SCAN:
        axes = entry.attrs
    else:
        return False
    (operand,) = entry.inputs
    own, takes = making(region, (operand,), tuple(given))
    (result,) = own.outputs
    shape = own.shape_of(result)
    for axis in axes:
        if shape[axis] == 1:
            continue
        last = shape[axis] - 1
        begin = needed_along(own, result, axis, (0, 1))
        end = needed_along(own, result, axis, (last, last + 1))
        if begin is None or end is None:
            return False
        for number in begin.keys() & end.keys():
            array = given[takes[number]]
            if not is_number(array) and any(
                low != high and len(array.chunks[place]) > 1
                for place, (low, high) in enumerate(zip(begin[number], end[number], strict=True))
            ):
                return True
    is_made = all(is_number(given[take]) for take in takes)
    return is_made and prod(shape) * own.dtype_of(result).itemsize > limit


class _Operand:
    """The operand of a reduction or scan, in blocks that no array shows: their grid and what makes each."""

    def __init__(self, region: Region, value: int, given: Mapping[int, Any], limit: int) -> None:
        self.entry = region.ops[value - len(region.inputs)]
        own, takes = making(region, self.entry.inputs, tuple(given))
        self.region, sources = read_apart(own, own.outputs[0])
        self.inputs = [given[takes[source]] for source in sources]
        (result,) = self.region.outputs
        self.shape = self.region.shape_of(result)
        self.dtype = self.region.dtype_of(result)
        self.grid: Grid = grid_of(self.region, result, self.inputs, limit)
        self.call = call_for(self.region, (result,), self.inputs)
        self.arrays = [array for array in self.inputs if not is_number(array)]

    def name(self, op: Op) -> str:
        """Return the name of a layer of tasks that end with an op on the operand."""
        size = task_bytes(self.region, self.region.outputs, self.grid, self.inputs)
        ops = [entry.op.name for entry in self.region.ops[-2:]]
        return layer_name("+".join([*ops, op.name]), size)

    def partial(self, op: Op, axes: tuple[int, ...], held: DType, name: str) -> dict[Any, Any]:
        """Return a task for each block that reduces it."""
        call = NamedCall(name, PartialCall(self.call, op, axes, held))
        tasks = {}
        for index, block, spans, references in blocks_of(self.grid, self.inputs):
            key = (name, *index)
            tasks[key] = Task(key, call, block, spans, *references)
        return tasks


def reduction(region: Region, value: int, given: Mapping[int, Any], limit: int) -> Array:
    """Return a reduction as an array: totals of blocks, joined by a tree of tasks."""
    operand = _Operand(region, value, given, limit)
    entry = operand.entry
    axes, keepdims = entry.attrs
    axes = tuple(sorted(axes))
    name = operand.name(entry.op)
    held = total_dtype(entry.op, entry.dtype)
    left = operand.partial(entry.op, axes, held, new_name(f"{name}.part"))
    counts = [len(axis.sizes) for axis in operand.grid.axes]
    dropped = () if keepdims else axes
    tasks = dict(left)
    first = next(iter(left))[0]
    for kept in product(*[range(1 if axis in axes else n) for axis, n in enumerate(counts)]):
        along = [
            (first, *index)
            for index in product(
                *[range(n) if axis in axes else (kept[axis],) for axis, n in enumerate(counts)]
            )
        ]
        keys = _joined_in_groups(along, entry.op, f"{name}.join", kept, tasks)
        key = (name, *[position for axis, position in enumerate(kept) if axis not in dropped])
        tasks[key] = Task(key, JoinCall(entry.op, entry.dtype, dropped), *map(TaskRef, keys))
    chunks = tuple(
        [
            (1,) if axis in axes else own.sizes
            for axis, own in enumerate(operand.grid.axes)
            if axis not in dropped
        ]
    )
    return array_of(name, tasks, chunks, entry.dtype, operand.arrays)


def _joined_in_groups(
    keys: list[Any], op: Op, name: str, kept: tuple[int, ...], tasks: dict[Any, Any]
) -> list[Any]:
    """Add tasks that join groups of keys, and groups of these, until there are few; return the keys of these."""
    level = 0
    while len(keys) > _TOGETHER:
        joined = []
        for number, group in enumerate(_groups(keys)):
            key = (name, level, number, *kept)
            tasks[key] = Task(key, JoinCall(op), *map(TaskRef, group))
            joined.append(key)
        keys, level = joined, level + 1
    return keys


def _groups(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (keys[start : start + _TOGETHER] for start in range(0, len(keys), _TOGETHER))


def scan(region: Region, value: int, given: Mapping[int, Any], limit: int) -> Array:
    """Return a scan as an array: totals of blocks, what comes before each, and blocks that go on from there."""
    operand = _Operand(region, value, given, limit)
    entry = operand.entry
    (axis,) = entry.attrs
    name = operand.name(entry.op)
    held = total_dtype(entry.op, entry.dtype)
    op = SUM if entry.op is CUMULATIVE_SUM else PROD
    tasks = operand.partial(op, (axis,), held, new_name(f"{name}.part"))
    part = next(iter(tasks))[0]
    counts = [len(own.sizes) for own in operand.grid.axes]
    for line in product(
        *[range(1 if position == axis else n) for position, n in enumerate(counts)]
    ):
        keys = [(part, *line[:axis], number, *line[axis + 1 :]) for number in range(counts[axis])]
        key = (f"{name}.before", *line)
        tasks[key] = Task(key, OffsetsCall(op, axis), *map(TaskRef, keys))
    call = NamedCall(name, ScanCall(operand.call, entry.op, axis, held, entry.dtype))
    for index, block, spans, references in blocks_of(operand.grid, operand.inputs):
        before = TaskRef((f"{name}.before", *index[:axis], 0, *index[axis + 1 :]))
        key = (name, *index)
        tasks[key] = Task(key, call, block, spans, index[axis], before, *references)
    return array_of(name, tasks, operand.grid.chunks, entry.dtype, operand.arrays)
