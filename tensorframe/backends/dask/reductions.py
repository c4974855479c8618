"""Reductions across blocks: a task for each block of the operand, and a few that join what these leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import Array, Layer, array_of, new_name
from tensorframe.backends.dask.blocks import making, needed_along, reading
from tensorframe.backends.dask.grids import Grid, grid_of_inputs
from tensorframe.backends.dask.groups import Group, Member
from tensorframe.backends.dask.joins import End, JoinCall, TotalCall
from tensorframe.backends.dask.layers import blocks_of, call_for, is_number, task_bytes
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.partials import (
    Partial,
    PartialCall,
    bytes_left,
    total_dtype,
)
from tensorframe.backends.dask.tasks import NamedCall
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.ops.formulas import VAR
from tensorframe.ops.reduction import SUM

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


class Operand:
    """The operand of a reduction or scan, in blocks that no array shows: their grid and what makes each."""

    def __init__(self, region: Region, source: int, given: Mapping[int, Any], limit: int) -> None:
        self.region, takes, has_blocks = reading(region, (source,), given)
        assert has_blocks, "the operand of what crosses blocks has some"
        self.inputs = [given[take] for take in takes]
        (result,) = self.region.outputs
        self.shape = self.region.shape_of(result)
        self.dtype = self.region.dtype_of(result)
        self.grid: Grid = grid_of_inputs(self.region, self.inputs, limit)
        self.call = call_for(self.region, (result,), self.inputs)
        self.arrays = [array for array in self.inputs if not is_number(array)]

    def name(self, op: Op) -> str:
        """Return the name of a layer of tasks that end with an op on the operand."""
        size = task_bytes(self.region, self.region.outputs, self.grid, self.inputs)
        ops = [entry.op.name for entry in self.region.ops[-2:]]
        return layer_name("+".join([*ops, op.name]), size)

    def bytes_left(self, axes: tuple[int, ...], left: Sequence[Partial]) -> int:
        """Return the bytes that a task leaves of several reductions along axes, at most."""
        kept = [max(own.sizes) for axis, own in enumerate(self.grid.axes) if axis not in axes]
        return bytes_left(left, prod(kept))

    def partial(self, axes: tuple[int, ...], left: Sequence[Partial], name: str) -> dict[Any, Any]:
        """Return a task for each block, which leaves what several reductions of it need."""
        call = NamedCall(name, PartialCall(self.call, axes, tuple(left)))
        tasks = {}
        for index, block, spans, references in blocks_of(self.grid, self.inputs):
            key = (name, *index)
            tasks[key] = Task(key, call, block, spans, *references)
        return tasks


def reductions(
    region: Region, group: Group, given: Mapping[int, Any], limit: int
) -> dict[int, Array]:
    """Return what the members of a group give as arrays: what blocks leave, joined by a tree of tasks."""
    operand = Operand(region, group.operand, given, limit)
    axes = group.axes
    name = operand.name(group.members[0].op)
    left = _left_of(region, group)
    tasks = operand.partial(axes, left, new_name(f"{name}.part"))
    counts = [len(axis.sizes) for axis in operand.grid.axes]
    part = next(iter(tasks))[0]
    roots: dict[tuple[int, ...], list[Any]] = {}
    for kept in product(*[range(1 if axis in axes else n) for axis, n in enumerate(counts)]):
        along = product(
            *[range(n) if axis in axes else (kept[axis],) for axis, n in enumerate(counts)]
        )
        keys = [(part, *index) for index in along]
        roots[kept] = _joined_in_groups(keys, tuple(left), f"{name}.join", kept, tasks)
    below = Layer(part, tasks, operand.arrays, operand.bytes_left(axes, left))
    return {
        member.gives: _result(
            region, member, left, operand, roots, below, new_name(f"{name}.total"), given
        )
        for member in group.members
    }


def _left_of(region: Region, group: Group) -> list[Partial]:
    """Return what blocks leave: the moments of elements have their sum, too."""
    ops = {member.op for member in group.members}
    left = []
    for member in group.members:
        entry = region.ops[member.value - len(region.inputs)]
        if member.op is VAR or (member.op is SUM and VAR in ops):
            own = Partial(VAR, total_dtype(SUM, region.dtype_of(group.operand)))
        else:
            own = Partial(member.op, total_dtype(member.op, entry.dtype))
        if own not in left:
            left.append(own)
    return left


def _result(
    region: Region,
    member: Member,
    left: Sequence[Partial],
    operand: Operand,
    roots: Mapping[tuple[int, ...], Sequence[Any]],
    below: Layer,
    name: str,
    given: Mapping[int, Any],
) -> Array:
    """Return what a member of a group gives as an array, with a task for each block."""
    entry = region.ops[member.value - len(region.inputs)]
    axes, keepdims = entry.attrs
    dropped = () if keepdims else tuple(sorted(axes))
    place = next(
        place
        for place, own in enumerate(left)
        if own.op is member.op or (own.op is VAR and member.op is SUM)
    )
    ends = End.of(region, member.value, member.ends, given)
    call = NamedCall(name, TotalCall(tuple(left), place, member.op, entry.dtype, dropped, ends))
    tasks = {}
    for kept, keys in roots.items():
        key = (name, *[position for axis, position in enumerate(kept) if axis not in dropped])
        tasks[key] = Task(key, call, *map(TaskRef, keys))
    chunks = tuple(
        [
            (1,) if axis in axes else own.sizes
            for axis, own in enumerate(operand.grid.axes)
            if axis not in dropped
        ]
    )
    return array_of(name, tasks, chunks, region.dtype_of(member.gives), [below])


def _joined_in_groups(
    keys: list[Any],
    left: tuple[Partial, ...],
    name: str,
    kept: tuple[int, ...],
    tasks: dict[Any, Any],
) -> list[Any]:
    """Add tasks that join groups of keys, and groups of these, until there are few; return the keys of these."""
    level = 0
    while len(keys) > _TOGETHER:
        joined = []
        for number, group in enumerate(_groups(keys)):
            key = (name, level, number, *kept)
            tasks[key] = Task(key, JoinCall(left), *map(TaskRef, group))
            joined.append(key)
        keys, level = joined, level + 1
    return keys


def _groups(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (keys[start : start + _TOGETHER] for start in range(0, len(keys), _TOGETHER))
