"""Files: arrays that tasks read, a block each, so that nothing of them passes through the client."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
from dask.task_spec import Task

from tensorframe.backends.dask.arrays import Array, Chunks, array_of, chunks_for, cut
from tensorframe.backends.dask.grids import bounds_of
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.tasks import NamedCall
from tensorframe.dtypes import DType
from tensorframe.files.reader import Reader
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass
from tensorframe.rewrite.views import Window


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A task that reads a block of a file."""

    reader: Reader

    def __call__(self, starts: Shape, sizes: Shape) -> Any:
        """Return the elements that begin at `starts`."""
        return np.asarray(self.reader.read(Window(starts, sizes, (1,) * len(sizes))))

    def scratch(self, _: Shape, sizes: Shape) -> int:
        """Return the bytes that it takes beside the block: as many, where elements are converted or unpacked."""
        return prod(sizes) * self.reader.dtype.itemsize


def blocks_of_reader(reader: Reader, limit: int) -> Array:
    """Return the array of a reader, with a task for each block, which holds whole chunks of the file if it has any."""
    chunks = _grid(reader.shape, reader.dtype, reader.chunks, limit)
    name = layer_name("read")
    call = NamedCall(name, ReadCall(reader))
    tasks: dict[Any, Any] = {}
    bounds = [list(pairwise(bounds_of(sizes))) for sizes in chunks]
    for index in product(*[range(len(sizes)) for sizes in chunks]):
        ends = [own[number] for own, number in zip(bounds, index, strict=True)]
        starts = tuple([low for low, _ in ends])
        sizes = tuple([high - low for low, high in ends])
        key = (name, *index)
        tasks[key] = Task(key, call, starts, sizes)
    return array_of(name, tasks, chunks, reader.dtype)


def _grid(shape: Shape, dtype: DType, own: Shape | None, limit: int) -> Chunks:
    """Return a grid of blocks of at most `limit` bytes, cut where the chunks of the file are, if it has any."""
    if own is None or not shape or 0 in shape:
        return chunks_for(shape, dtype, limit)
    lengths = [min(max(length, 1), size) for length, size in zip(own, shape, strict=True)]
    room = max(limit // dtype.itemsize // int(np.prod(lengths, dtype=np.int64)), 1)
    for axis in reversed(range(len(shape))):
        times = min(room, -(-shape[axis] // lengths[axis]))
        lengths[axis] *= times
        room //= times
    return tuple([cut(size, length) for size, length in zip(shape, lengths, strict=True)])
