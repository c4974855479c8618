"""Arrays in blocks: how host arrays become `dask.array.Array`s, and blocks host arrays again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from typing import Any, TypeAlias
from uuid import uuid4

import dask.array as da
import numpy as np
from dask import config
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array: TypeAlias = Any  # dask.array.Array
Chunks: TypeAlias = tuple[tuple[int, ...], ...]

# What a layer's annotation of the bytes of a task's result is called.
BYTES = "nbytes"

# Keys differ between processes, which share workers, and inside of one.
_PROCESS = uuid4().hex[:12]
_numbers = count()


def new_name(what: str) -> str:
    """Return a new name of a layer of tasks; Dask groups tasks by what stands before the last dash."""
    return f"{what}-{_PROCESS}{next(_numbers):x}"


def chunks_for(shape: Shape, dtype: DType, limit: int) -> Chunks:
    """Return a grid of blocks of at most `limit` bytes: outer axes are cut, and inner ones as far as need be."""
    room = max(limit // dtype.itemsize, 1)
    chunks: list[tuple[int, ...]] = []
    for size in reversed(shape):
        length = max(min(size, room), 1)
        chunks.append(cut(size, length))
        room = max(room // length, 1)
    return tuple(reversed(chunks))


def cut(size: int, length: int) -> tuple[int, ...]:
    """Return the sizes of the pieces of an axis, each of at most `length` elements; of an empty one, one piece."""
    whole, rest = divmod(size, length)
    return (length,) * whole + ((rest,) if rest or not whole else ())


def single(array: Array) -> bool:
    """Whether an array has one block."""
    return all(len(sizes) == 1 for sizes in array.chunks)


def block_slices(chunks: Chunks) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield the index of each block, and the slices that cut it out of a host array."""
    bounds = [np.cumsum((0, *sizes)).tolist() for sizes in chunks]
    for index in product(*[range(len(sizes)) for sizes in chunks]):
        yield (
            index,
            tuple(
                [
                    slice(bounds[axis][number], bounds[axis][number + 1])
                    for axis, number in enumerate(index)
                ]
            ),
        )


class Layer:
    """Tasks that no array shows, such as one that gives several results, with what they depend on.

    Each gives `nbytes` at most, which is noted where Dask notes the blocks of arrays: see `sizes.py`.
    """

    def __init__(
        self, name: str, tasks: Mapping[Any, Any], sources: Sequence[Any], nbytes: int
    ) -> None:
        self.name = name
        self._graph = HighLevelGraph.from_collections(name, tasks, dependencies=list(sources))
        self._graph.layers[name].collection_annotations = {BYTES: nbytes}

    def __dask_graph__(self) -> HighLevelGraph:
        return self._graph

    def __dask_layers__(self) -> tuple[str, ...]:
        return (self.name,)


def array_of(
    name: str, tasks: Mapping[Any, Any], chunks: Chunks, dtype: DType, sources: Sequence[Any] = ()
) -> Array:
    """Return the array whose blocks are the tasks (name, i, j, ...), which depend on those of `sources`."""
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=list(sources))
    return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype))


class Form(NamedTuple):
    """What arrays of one shape, grid and dtype have in common."""

    chunks: Chunks
    meta: np.ndarray[Any, Any]
    notes: dict[str, Any]
    """What Dask notes at the layer."""


def form_of(array: Array) -> Form:
    """Return what an array has in common with others."""
    notes = array.dask.layers[array.name].collection_annotations
    return Form(array.chunks, array._meta, dict(notes))


def array_of_form(name: str, blocks: Mapping[Any, Any], form: Form) -> Array:
    """Return the array of blocks that are there, as `array_of` does.

    Dask would look at its chunks again, which takes longer than all else that a kernel for a few blocks needs.
    """
    if config.get("array_plugins", ()):
        return array_of(name, blocks, form.chunks, form.meta.dtype)
    layer = MaterializedLayer(blocks, collection_annotations=dict(form.notes))
    array = object.__new__(da.Array)
    array.dask = HighLevelGraph({name: layer}, {name: set()})
    array._name, array._chunks, array._meta = name, form.chunks, form.meta
    return array


def one_block(shape: Shape) -> Chunks:
    """Return the grid of an array in one block."""
    return tuple([(size,) for size in shape])


def block_keys(array: Array) -> Iterator[tuple[Any, ...]]:
    """Yield the keys of an array's blocks in C order."""
    name = array.name
    return ((name, *index) for index in product(*[range(count) for count in array.numblocks]))


def in_blocks(array: np.ndarray[Any, Any], chunks: Chunks) -> Array:
    """Return a host array, which nobody changes, in blocks that are views of it."""
    name = new_name("host")
    blocks = {(name, *index): array[slices] for index, slices in block_slices(chunks)}
    return array_of(name, blocks, chunks, array.dtype)


def is_ours(array: Array) -> bool:
    """Whether all tasks of an array were made here: then there is nothing in its graph that Dask would make less of."""
    graph = array.dask
    return all(
        _PROCESS in str(name) or not has_tasks(layer) for name, layer in graph.layers.items()
    )


def is_pending(array: Array) -> bool:
    """Whether an array has tasks that have not run: its blocks are neither values nor futures."""
    graph = array.dask
    if len(graph.layers) != 1:
        return True
    (layer,) = graph.layers.values()
    return has_tasks(layer)


def has_tasks(layer: Mapping[Any, Any]) -> bool:
    """Whether a layer holds tasks, and not values or futures."""
    if not isinstance(layer, MaterializedLayer):
        return True
    value = next(iter(layer.mapping.values()), None)
    value = getattr(value, "value", value)  # of a node that is nothing but data
    return not (isinstance(value, np.ndarray | np.generic) or _is_future(value))


def _is_future(value: Any) -> bool:
    return type(value).__module__.startswith("distributed") and hasattr(value, "key")
