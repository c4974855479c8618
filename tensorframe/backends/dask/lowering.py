"""Lowering to tasks: what a region becomes for the blocks that its operands have."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from dask.task_spec import Alias, Task, TaskRef

from tensorframe.backends.dask.arrays import (
    Array,
    Layer,
    array_of,
    block_keys,
    new_name,
    one_block,
    single,
)
from tensorframe.backends.dask.blocks import ancestors, reading
from tensorframe.backends.dask.grids import layout_of
from tensorframe.backends.dask.groups import groups_in, live
from tensorframe.backends.dask.layers import in_blocks_of, is_number
from tensorframe.backends.dask.matrices import decomposed
from tensorframe.backends.dask.names import layer_name, ops_of
from tensorframe.backends.dask.products import groups_of, partial_product
from tensorframe.backends.dask.reductions import crosses, reductions
from tensorframe.backends.dask.scans import scan
from tensorframe.backends.dask.settings import Settings
from tensorframe.backends.dask.tasks import NamedCall, WholeCall, without_loops
from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import PART

# In place of the dtype of a part of a library call, of which not even the shape is known before it is taken.
OPAQUE = np.dtype(object)


def lowered(region: Region, inputs: Sequence[Any], settings: Settings) -> list[Any]:
    """Return the outputs of a region as arrays whose blocks are tasks."""
    if len(region.ops) == 1 and region.ops[0].op is PART:
        return [_part(region, inputs[0])]
    parts = decomposed(region, inputs, settings.chunk)
    if parts is not None:
        return parts
    if _is_small(region, inputs, settings.chunk) or not _has_blocks(region, inputs):
        return whole(region, inputs)
    return in_blocks(region, inputs, settings.chunk)


def in_blocks(region: Region, inputs: Sequence[Any], limit: int) -> list[Array]:
    """Return the outputs of a region by tasks for blocks: first what is combined across these, then the rest."""
    first = len(region.inputs)
    given: dict[int, Any] = dict(enumerate(inputs))
    together = groups_in(region, given)
    needed = ancestors(region)
    for value in range(first, first + len(region.ops)):
        if value not in needed or value in given:
            continue
        parts = groups_of(region, value, given, limit)
        if parts:
            given[value] = _product(region.ops[value - first], given, parts, limit)
        elif crosses(region, value, given, limit):
            if region.ops[value - first].op.kind is Kind.SCAN:
                given[value] = scan(region, value, given, limit)
            else:
                given.update(reductions(region, live(region, together[value], given), given, limit))
        needed = ancestors(region, given)
    by_shape: dict[Shape, list[int]] = {}
    for value in dict.fromkeys(region.outputs):
        if value not in given:
            by_shape.setdefault(region.shape_of(value), []).append(value)
    for values in by_shape.values():
        results = _together(region, values, given, limit)
        given.update(zip(values, results, strict=True))
    return [given[value] for value in region.outputs]


def _product(
    entry: RegionOp, given: dict[int, Any], groups: Sequence[tuple[int, int]], limit: int
) -> Array:
    """Return a product whose tasks take a part of its inner axis each, one after the other for each block."""
    left, right = [given[source] for source in entry.inputs]
    total: list[Array] = []
    for low, high in groups:
        region = partial_product(entry, left, right, low, high, adds=bool(total))
        inputs = dict(enumerate([left, right, *total]))
        total = _together(region, region.outputs, inputs, limit)
    return total[0]


def _together(
    region: Region, values: Sequence[int], given: dict[int, Any], limit: int
) -> list[Array]:
    """Return values of one shape, each block of which is made with those of the others that read the same blocks."""
    own, takes, has_blocks = reading(region, values, given)
    arrays = [given[take] for take in takes]
    if not has_blocks:
        return whole(own, arrays)
    grid, alike, rechunked = layout_of(own, arrays, limit)
    for number, chunks in rechunked.items():
        arrays[number] = arrays[number].rechunk(chunks)
    if len(alike) == len(values):
        return in_blocks_of(own, own.outputs, grid, arrays)
    others = [place for place in range(len(values)) if place not in alike]
    made: dict[int, Array] = {}
    for places in (alike, others):
        results = _together(region, [values[place] for place in places], given, limit)
        made.update(zip(places, results, strict=True))
    return [made[place] for place in range(len(values))]


def _is_small(region: Region, inputs: Sequence[Any], limit: int) -> bool:
    """Whether all that goes in is one block each, and what comes out fits into one: then one task does it all."""
    if not all(single(value) for value in inputs if hasattr(value, "chunks")):
        return False
    return all(
        prod(region.shape_of(value)) * region.dtype_of(value).itemsize <= limit
        for value in region.outputs
    )


def _has_blocks(region: Region, inputs: Sequence[Any]) -> bool:
    """Whether a region can be computed block by block: no empty tensors, and no calls that give several."""
    shapes = [shape for shape, _ in region.inputs] + [op.shape for op in region.ops]
    if any(0 in shape for shape in shapes) or any(type(value) is tuple for value in inputs):
        return False
    return all(op.op.parts == 1 for op in region.ops)


def whole(region: Region, inputs: Sequence[Any]) -> list[Any]:
    """Return what one task makes of all blocks of the inputs."""
    arrays = [value for value in inputs if not is_number(value)]
    grids = tuple([None if is_number(value) else value.numblocks for value in inputs])
    references: list[Any] = []
    for value in inputs:
        references += [value] if is_number(value) else map(TaskRef, block_keys(value))
    made = [(region.shape_of(value), region.dtype_of(value)) for value in region.outputs]
    size = sum([array.nbytes for array in arrays])
    size += sum([prod(shape) * dtype.itemsize for shape, dtype in made])
    name = layer_name(ops_of(region), size)
    call = NamedCall(name, WholeCall(without_loops(region), grids))
    parts = region.ops[region.outputs[0] - len(region.inputs)].op.parts
    if len(made) == 1 and parts == 1:
        ((shape, dtype),) = made
        key = (name, *[0] * len(shape))
        return [
            array_of(name, {key: Task(key, call, *references)}, one_block(shape), dtype, arrays)
        ]
    together = Layer(
        name, {name: Task(name, call, *references)}, arrays, _bytes_given(region, made)
    )
    if parts > 1:
        return [tuple([_taken(together, place, (), OPAQUE) for place in range(parts)])]
    return [_taken(together, place, *kind) for place, kind in enumerate(made)]


def _bytes_given(region: Region, made: Sequence[tuple[Shape, DType]]) -> int:
    """Return the bytes of all that a region gives: of a library call that gives several tensors, of each."""
    last = region.ops[-1]
    if last.op.results is not None:
        shapes = tuple(map(region.shape_of, last.inputs))
        made = last.op.results(shapes, region.dtype_of(last.inputs[0]), *last.attrs)
    return sum([prod(shape) * dtype.itemsize for shape, dtype in made])


def _taken(together: Layer, place: int, shape: Shape, dtype: DType) -> Array:
    """Return one of several results of a task."""
    name = new_name("result")
    key = (name, *[0] * len(shape))
    task = Task(key, getitem, TaskRef(together.name), place)
    return array_of(name, {key: task}, one_block(shape), dtype, [together])


def _part(region: Region, parts: Any) -> Array:
    """Return one of the tensors of a library call: now its shape and dtype are known."""
    index, shape, dtype = region.ops[0].attrs
    array = parts[index]
    if array.dtype != OPAQUE:
        return array
    name = new_name("part")
    key: Any = (name, *[0] * len(shape))
    source = TaskRef(next(block_keys(array)))
    return array_of(name, {key: Alias(key, source)}, one_block(shape), dtype, [array])
