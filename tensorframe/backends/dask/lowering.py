"""Lowering to tasks: what a region becomes for the blocks that its operands have."""

from __future__ import annotations

from collections.abc import Sequence
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
)
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.settings import Settings
from tensorframe.backends.dask.tasks import WholeCall, without_loops
from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import PART

# In place of the dtype of a part of a library call, of which not even the shape is known before it is taken.
OPAQUE = np.dtype(object)


def lowered(region: Region, inputs: Sequence[Any], settings: Settings) -> list[Any]:
    """Return the outputs of a region as arrays whose blocks are tasks."""
    if len(region.ops) == 1 and region.ops[0].op is PART:
        return [_part(region, inputs[0])]
    return whole(region, inputs)


def ops_of(region: Region) -> str:
    """Return the ops of a region in short, for names."""
    return "+".join([op.op.name for op in region.ops[-3:]])


def is_number(value: Any) -> bool:
    """Whether an input is a number that a graph holds, no tensor."""
    return not hasattr(value, "dask") and type(value) is not tuple


def whole(region: Region, inputs: Sequence[Any]) -> list[Any]:
    """Return what one task makes of all blocks of the inputs."""
    arrays = [value for value in inputs if not is_number(value)]
    grids = tuple([None if is_number(value) else value.numblocks for value in inputs])
    references: list[Any] = []
    for value in inputs:
        references += [value] if is_number(value) else map(TaskRef, block_keys(value))
    call = WholeCall(without_loops(region), grids)
    name = layer_name(ops_of(region))
    made = [(region.shape_of(value), region.dtype_of(value)) for value in region.outputs]
    parts = region.ops[region.outputs[0] - len(region.inputs)].op.parts
    if len(made) == 1 and parts == 1:
        ((shape, dtype),) = made
        key = (name, *[0] * len(shape))
        return [
            array_of(name, {key: Task(key, call, *references)}, one_block(shape), dtype, arrays)
        ]
    together = Layer(name, {name: Task(name, call, *references)}, arrays)
    if parts > 1:
        return [tuple([_taken(together, place, (), OPAQUE) for place in range(parts)])]
    return [_taken(together, place, *kind) for place, kind in enumerate(made)]


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
