"""Results in one piece of memory: blocks of whole lines are written where they belong, and need not be joined.

For a result in blocks of their own the pool would have as many pieces of memory, none of which serves the whole of
another result; the system would clear new ones each time. Where operands are in one piece, too, neighbouring blocks are
made by one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from dask.task_spec import Task

from tensorframe.backends import host_pool
from tensorframe.backends.dask.arrays import Array, has_tasks
from tensorframe.backends.dask.grids import Span
from tensorframe.backends.dask.local import Graph, Run
from tensorframe.backends.dask.settings import CHUNK
from tensorframe.backends.dask.tasks import BlockCall, NamedCall, Target
from tensorframe.graph.op import Kind
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import Block

# Of these, a line of the result has the same bits whichever lines are made with it.
_LINE_BY_LINE = frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE, Kind.REDUCE})


@contextmanager
def into_one_array(arrays: Sequence[Array]) -> Iterator[None]:
    """Have the tasks of arrays that run in a block, in this process, write what they give to one array for each."""
    targets: list[Target] = []
    try:
        for array in arrays:
            named = named_call_of(array)
            if named is not None:
                target = named.call.target
                target.array = host_pool.empty(array.shape, array.dtype)
                targets.append(target)
        yield
    finally:
        for target in targets:
            target.array = None


class Neighbours(NamedTuple):
    """A layer of tasks for blocks of whole lines: a call for several neighbours gives the same bits as one for each."""

    call: BlockCall
    blocks: tuple[Block, ...]
    sources: tuple[tuple[str, Shape], ...]
    """The layers whose blocks the operands are, in the order of these, and their shapes."""

    def calls(self, nbytes: int, workers: int) -> int:
        """Return how many calls make so many bytes of blocks."""
        return min(max(workers, -(-nbytes // CHUNK)), len(self.blocks))

    def run(self, task: NamedCall, wholes: Sequence[Any], array: Any, workers: int) -> None:
        """Make the blocks, parts of an array, by a call for each worker; operands are one array each."""
        blocks = self.blocks
        spans = tuple([(Span(0, 1, 0),) * whole.ndim for whole in wholes])
        count = self.calls(array.nbytes, workers)
        calls: dict[Any, Any] = {}
        for number in range(count):
            first, last = number * len(blocks) // count, (number + 1) * len(blocks) // count - 1
            ((low, _), *others), ((_, high), *_) = blocks[first], blocks[last]
            calls[number] = Task(number, task, ((low, high), *others), spans, *wholes)
        Run(Graph(calls, [list(calls)]), workers).blocks()

    def parts(self, array: Any) -> list[Any]:
        """Return the blocks that are parts of an array."""
        return [array[low:high] for ((low, high), *_) in self.blocks]


def neighbours_of(array: Array) -> Neighbours | None:
    """Return the tasks of an array as neighbours; None where one call might change bits, or there are other tasks.

    What does not go along with the blocks has the same bits in more of them: maps, and reductions of whole lines.
    """
    named = named_call_of(array)
    if named is None or not {entry.op.kind for entry in named.call.region.ops} <= _LINE_BY_LINE:
        return None
    tasks = list(array.dask.layers[array.name].values())
    region, numbers = named.call.region, named.call.numbers
    shapes = [shape for number, (shape, _) in enumerate(region.inputs) if number not in numbers]
    sources = []
    place = 2
    for shape, spans in zip(shapes, tasks[0].args[1], strict=True):
        count = prod([span.number for span in spans])
        if not count:
            return None
        sources.append((tasks[0].args[place].key[0], shape))
        place += count
    blocks = tuple([task.args[0] for task in tasks])
    return Neighbours(named.call, blocks, tuple(sources))


def writing_to(named: NamedCall, array: Any) -> NamedCall:
    """Return the same call, for tasks that write to an array: others may run the call that there is meanwhile."""
    call = named.call
    assert isinstance(call, BlockCall)
    target = Target()
    target.array = array
    return replace(named, call=replace(call, target=target))


def named_call_of(array: Array) -> Any:
    """Return what tasks of ours call, where an array is cut along its first axis alone; None for any other.

    Its tasks write to one array where they run in this process.
    """
    if not array.ndim or array.numblocks[0] != array.npartitions or array.npartitions == 1:
        return None
    task = next(iter(array.dask.layers[array.name].values()), None)
    named = task.func if isinstance(task, Task) else None
    return named if isinstance(named, NamedCall) and isinstance(named.call, BlockCall) else None


def in_few_calls(arrays: Sequence[Array], workers: int) -> list[list[Any]] | None:
    """Return the blocks of an array that are neighbours in one array, of operands that are; None for any other."""
    if len(arrays) != 1:
        return None
    (array,) = arrays
    neighbours = neighbours_of(array)
    target = None if neighbours is None else neighbours.call.target.array
    if neighbours is None or target is None:
        return None
    layers = array.dask.layers
    wholes = [whole_of(layers[name], shape) for name, shape in neighbours.sources]
    if any(whole is None for whole in wholes):
        return None
    neighbours.run(named_call_of(array), wholes, target, workers)
    return [neighbours.parts(target)]


def whole_of(layer: Any, shape: Shape) -> Any:
    """Return the array that the blocks of a layer are parts of; None where there is none, or tasks make them."""
    if has_tasks(layer):
        return None
    mapping = layer.mapping
    blocks = [getattr(mapping[key], "value", mapping[key]) for key in sorted(mapping)]
    return np.asarray(blocks[0]) if len(blocks) == 1 else in_one_array(blocks, shape)


def in_one_array(blocks: Sequence[Any], shape: Shape) -> Any:
    """Return the array that blocks along the first axis are parts of, one behind the other; None if there is none."""
    whole: Any = getattr(blocks[0], "base", None)
    if not shape or getattr(whole, "shape", None) != shape or not whole.flags.c_contiguous:
        return None
    # `ctypes` would make an object for each address
    begin = place = whole.__array_interface__["data"][0]
    for block in blocks:
        if block.base is not whole or block.dtype != whole.dtype or not block.flags.c_contiguous:
            return None
        if block.__array_interface__["data"][0] != place:
            return None
        place += block.nbytes
    return whole if place == begin + whole.nbytes else None
