"""Results in one piece of memory: blocks of whole lines are written where they belong, and need not be joined.

For a result in blocks of their own the pool would have as many pieces of memory, none of which serves the whole of
another result; the system would clear new ones each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dask.task_spec import Task

from tensorframe.backends import host_pool
from tensorframe.backends.dask.arrays import Array
from tensorframe.backends.dask.tasks import BlockCall, NamedCall, Target
from tensorframe.graph.shape import Shape


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
