"""Layers of tasks: one for each block of a result, which takes those blocks of the operands that it looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from operator import getitem
from typing import Any

from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import Array, Layer, array_of, new_name
from tensorframe.backends.dask.grids import Grid, Span, everything
from tensorframe.backends.dask.names import layer_name, ops_of
from tensorframe.backends.dask.tasks import BlockCall, NamedCall, without_loops
from tensorframe.graph.region import Region
from tensorframe.schedule.blocks import Block


def is_number(value: Any) -> bool:
    """Whether an input is a number that a graph holds, no tensor."""
    return not hasattr(value, "chunks") and type(value) is not tuple


def in_blocks_of(
    region: Region, values: tuple[int, ...], grid: Grid, inputs: Sequence[Any]
) -> list[Array]:
    """Return values of a region, of one shape, as arrays with a task for each block of the grid."""
    arrays = [value for value in inputs if not is_number(value)]
    name = layer_name(ops_of(region), task_bytes(region, values, grid, inputs))
    call = NamedCall(name, call_for(region, values, inputs))
    tasks: dict[Any, Any] = {}
    for index, block, spans, references in blocks_of(grid, inputs):
        key = (name, *index)
        tasks[key] = Task(key, call, block, spans, *references)
    dtypes = [region.dtype_of(value) for value in values]
    if len(values) == 1:
        return [array_of(name, tasks, grid.chunks, dtypes[0], arrays)]
    together = Layer(name, tasks, arrays)
    return [_taken(together, tasks, place, grid, dtype) for place, dtype in enumerate(dtypes)]


def _taken(together: Layer, tasks: dict[Any, Any], place: int, grid: Grid, dtype: Any) -> Array:
    """Return one of several results that each task gives."""
    name = new_name("result")
    own = {}
    for source in tasks:
        key = (name, *source[1:])
        own[key] = Task(key, getitem, TaskRef(source), place)
    return array_of(name, own, grid.chunks, dtype, [together])


def references_to(name: str, spans: Sequence[Span]) -> Iterator[Any]:
    """Yield references to the blocks of an array in some spans, in C order."""
    ranges = [range(span.first, span.first + span.number) for span in spans]
    return (TaskRef((name, *index)) for index in product(*ranges))


def task_bytes(region: Region, values: Sequence[int], grid: Grid, inputs: Sequence[Any]) -> int:
    """Return the bytes that a task takes, judged by the first: a block of each value, and what it is made of."""
    made: int = prod([max(axis.sizes) for axis in grid.axes])
    made *= sum([region.dtype_of(value).itemsize for value in values])
    arrays = [value for value in inputs if not is_number(value)]
    _, _, spans, _ = next(blocks_of(grid, inputs))
    operands: int = sum(
        [
            array.dtype.itemsize
            * prod(
                [
                    sum(sizes[span.first : span.first + span.number])
                    for sizes, span in zip(array.chunks, own, strict=True)
                ]
            )
            for array, own in zip(arrays, spans, strict=True)
        ]
    )
    return made + operands


def call_for(region: Region, values: tuple[int, ...], inputs: Sequence[Any]) -> BlockCall:
    """Return the call that all blocks of some values of a region are made by."""
    numbers = {place: value for place, value in enumerate(inputs) if is_number(value)}
    return BlockCall(without_loops(region), values, numbers)


def blocks_of(
    grid: Grid, inputs: Sequence[Any]
) -> Iterator[tuple[tuple[int, ...], Block, tuple[tuple[Span, ...], ...], list[Any]]]:
    """Yield the index of each block, its intervals, the spans that it needs of each array, and references to these."""
    axes = grid.axes
    arrays = {number: value for number, value in enumerate(inputs) if not is_number(value)}
    finders = [_finder(grid, number, value) for number, value in arrays.items()]
    names = [array.name for array in arrays.values()]
    for index in product(*[range(len(axis.sizes)) for axis in axes]):
        block = tuple([axis.intervals[which] for axis, which in zip(axes, index, strict=True)])
        spans = tuple([find(index) for find in finders])
        references: list[Any] = []
        for name, own in zip(names, spans, strict=True):
            references += references_to(name, own)
        yield index, block, spans, references


def _finder(grid: Grid, number: int, array: Array) -> Any:
    """Return a function from the index of a block to the spans that it needs of an array."""
    rest = everything(array)
    along: list[list[tuple[int, tuple[Span, ...]]]] = [
        [
            (axis, own.spans[number, place])
            for axis, own in enumerate(grid.axes)
            if (number, place) in own.spans
        ]
        for place in range(array.ndim)
    ]
    if not any(along):
        return lambda _: rest
    if all(len(own) == 1 and own[0][0] == place for place, own in enumerate(along)):
        columns = [own[0][1] for own in along]
        return lambda index: tuple(
            [spans[which] for spans, which in zip(columns, index, strict=False)]
        )
    if all(len(own) < 2 for own in along):
        single = [own[0] if own else None for own in along]
        return lambda index: tuple(
            [
                rest[place] if own is None else own[1][index[own[0]]]
                for place, own in enumerate(single)
            ]
        )
    return lambda index: tuple(
        [
            _common([spans[index[axis]] for axis, spans in own], rest[place])
            for place, own in enumerate(along)
        ]
    )


def _common(spans: Sequence[Span], rest: Span) -> Span:
    """Return the blocks that are in all of some spans: what an axis shows that goes along with several."""
    if not spans:
        return rest
    latest = max(spans, key=lambda span: span.first)
    stop = min([span.first + span.number for span in spans])
    return Span(latest.first, max(stop - latest.first, 0), latest.origin)
