"""Results in one piece of memory: blocks of whole lines are written where they belong, and need not be joined.

For a result in blocks of their own the pool would have as many pieces of memory, none of which serves the whole of
another result; the system would clear new ones each time. Where operands are in one piece, too, neighbouring blocks are
made by one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

# Of these, a line of the result has the same bits whichever lines are made with it.
_LINE_BY_LINE = frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE, Kind.REDUCE})


@contextmanager
def into_one_array(arrays: Sequence[Array]) -> Iterator[None]:
    """Have the tasks of arrays that run in a block, in this process, write what they give to one array for each."""
    targets = []
    try:
        for array in arrays:
            target = _target_of(array)
            if target is not None:
                target.array = host_pool.empty(array.shape, array.dtype)
                targets.append(target)
        yield
    finally:
        for target in targets:
            target.array = None


def _target_of(array: Array) -> Target | None:
    """Return where tasks of ours write an array that is cut along its first axis alone; None for any other."""
    if not array.ndim or array.numblocks[0] != array.npartitions or array.npartitions == 1:
        return None
    task = next(iter(array.dask.layers[array.name].values()), None)
    named = task.func if isinstance(task, Task) else None
    call = named.call if isinstance(named, NamedCall) else None
    return call.target if isinstance(call, BlockCall) else None


def in_few_calls(arrays: Sequence[Array], workers: int) -> list[list[Any]] | None:
    """Return the blocks of an array by a call for each worker; None where that might change bits, or there are others.

    What does not go along with the blocks has the same bits in more of them: maps, and reductions of whole lines.
    """
    if len(arrays) != 1:
        return None
    (array,) = arrays
    target = _target_of(array)
    if target is None or target.array is None:
        return None
    graph = array.dask
    tasks = list(graph.layers[array.name].values())
    call: BlockCall = tasks[0].func.call
    if not {entry.op.kind for entry in call.region.ops} <= _LINE_BY_LINE:
        return None
    wholes = _operands(tasks[0], call, graph)
    if wholes is None:
        return None
    spans = tuple([(Span(0, 1, 0),) * whole.ndim for whole in wholes])
    count = min(max(workers, -(-array.nbytes // CHUNK)), len(tasks))
    calls: dict[Any, Any] = {}
    for number in range(count):
        first, last = number * len(tasks) // count, (number + 1) * len(tasks) // count - 1
        ((low, _), *others), ((_, high), *_) = tasks[first].args[0], tasks[last].args[0]
        calls[number] = Task(number, tasks[0].func, ((low, high), *others), spans, *wholes)
    Run(Graph(calls, [list(calls)]), workers).blocks()
    return [[target.part(task.args[0]) for task in tasks]]


def _operands(task: Task, call: BlockCall, graph: Any) -> list[Any] | None:
    """Return the operands of a layer of tasks, as one of these refers to them; None where one is not in one piece."""
    wholes = []
    place = 2
    arrays = [number for number in range(len(call.region.inputs)) if number not in call.numbers]
    for number, spans in zip(arrays, task.args[1], strict=True):
        layer = graph.layers[task.args[place].key[0]] if 0 not in _counts(spans) else {}
        place += prod(_counts(spans))
        if not layer or has_tasks(layer):
            return None
        blocks = [getattr(layer[key], "value", layer[key]) for key in sorted(layer)]
        shape = call.region.shape_of(number)
        whole = blocks[0] if len(blocks) == 1 else in_one_array(blocks, shape)
        if whole is None:
            return None
        wholes.append(np.asarray(whole))
    return wholes


def _counts(spans: Sequence[Span]) -> list[int]:
    return [span.number for span in spans]


def in_one_array(blocks: Sequence[Any], shape: Shape) -> Any:
    """Return the array that blocks along the first axis are parts of, one behind the other; None if there is none."""
    whole: Any = getattr(blocks[0], "base", None)
    if not shape or getattr(whole, "shape", None) != shape or not whole.flags.c_contiguous:
        return None
    place = whole.ctypes.data
    for block in blocks:
        if block.base is not whole or not block.flags.c_contiguous or block.ctypes.data != place:
            return None
        place += block.nbytes
    return whole if place == whole.ctypes.data + whole.nbytes else None
