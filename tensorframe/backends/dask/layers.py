"""Layers of tasks: one for each block of a result, which takes those blocks of the operands that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product, repeat, tee
from math import prod
from operator import getitem
from typing import Any, TypeAlias

from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import Array, Layer, array_of, new_name
from tensorframe.backends.dask.grids import Grid, Span, everything
from tensorframe.backends.dask.names import layer_name, ops_of
from tensorframe.backends.dask.tasks import BlockCall, NamedCall, without_loops
from tensorframe.graph.region import Region
from tensorframe.schedule.blocks import Block

Index: TypeAlias = tuple[int, ...]
Spans: TypeAlias = tuple[tuple[Span, ...], ...]


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
    most = prod([max(axis.sizes) for axis in grid.axes])
    together = Layer(name, tasks, arrays, most * sum([dtype.itemsize for dtype in dtypes]))
    return [_taken(together, tasks, place, grid, dtype) for place, dtype in enumerate(dtypes)]


def _taken(together: Layer, tasks: dict[Any, Any], place: int, grid: Grid, dtype: Any) -> Array:
    """Return one of several results that each task gives."""
    name = new_name("result")
    own = {}
    for source in tasks:
        key = (name, *source[1:])
        own[key] = Task(key, getitem, TaskRef(source), place)
    return array_of(name, own, grid.chunks, dtype, [together])


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


def blocks_of(grid: Grid, inputs: Sequence[Any]) -> Iterator[tuple[Index, Block, Spans, list[Any]]]:
    """Yield the index of each block, its intervals, the spans that it needs of each array, and references to these.

    There may be a hundred thousand: what can be counted by `product` is, and nothing is called for each.
    """
    axes = grid.axes
    indices = product(*[range(len(axis.sizes)) for axis in axes])
    blocks = product(*[axis.intervals for axis in axes])
    arrays = {number: value for number, value in enumerate(inputs) if not is_number(value)}
    if not arrays:
        yield from zip(indices, blocks, repeat(()), repeat([]), strict=False)
        return
    needed = [_spans_of(grid, number, value) for number, value in arrays.items()]
    spans = zip(*[own for own, _ in needed], strict=True)
    references = [references for _, references in needed]
    together = map(list, references[0]) if len(references) == 1 else map(_flat, *references)
    yield from zip(indices, blocks, spans, together, strict=True)


def _flat(*lists: Sequence[Any]) -> list[Any]:
    return [value for own in lists for value in own]


def _spans_of(
    grid: Grid, number: int, array: Array
) -> tuple[Iterable[tuple[Span, ...]], Iterable[Sequence[Any]]]:
    """Return the spans that blocks need of an array, one after the other, and references to these."""
    columns = _columns(grid, number, array)
    name = array.name
    if columns is None:
        indices = product(*[range(len(axis.sizes)) for axis in grid.axes])
        spans, again = tee(map(_finder(grid, number, array), indices))
        return spans, (_references(name, own) for own in again)
    firsts = product(*[[span.first for span in own] for own in columns])
    if all(span.number == 1 for own in columns for span in own):
        return product(*columns), ((TaskRef((name, *index)),) for index in firsts)
    return product(*columns), (_references(name, own) for own in product(*columns))


def _references(name: str, spans: Sequence[Span]) -> list[Any]:
    """Return references to the blocks of an array in some spans, in C order."""
    ranges = [range(span.first, span.first + span.number) for span in spans]
    return [TaskRef((name, *index)) for index in product(*ranges)]


def _along(grid: Grid, number: int, array: Array) -> list[list[tuple[int, tuple[Span, ...]]]]:
    """Return the axes of a result that go along with each axis of an array, and its spans for their pieces."""
    return [
        [
            (axis, own.spans[number, place])
            for axis, own in enumerate(grid.axes)
            if (number, place) in own.spans
        ]
        for place in range(array.ndim)
    ]


def _columns(grid: Grid, number: int, array: Array) -> list[Sequence[Span]] | None:
    """Return the spans along each axis of an array, where blocks need these in the order in which they are counted.

    That is so where axes of the result go along with those of the array one by one, and what others count is outside.
    """
    rest = everything(array)
    columns: list[Sequence[Span]] = []
    axis = 0
    for place, own in enumerate(_along(grid, number, array)):
        if not own:
            columns.append(rest[place : place + 1])
            continue
        if len(own) > 1:
            return None
        ((follows, spans),) = own
        if any(len(other.sizes) > 1 for other in grid.axes[axis:follows]) or follows < axis:
            return None
        columns.append(spans)
        axis = follows + 1
    if any(len(other.sizes) > 1 for other in grid.axes[axis:]):
        return None
    return columns


def _finder(grid: Grid, number: int, array: Array) -> Callable[[Index], tuple[Span, ...]]:
    """Return a function from the index of a block to the spans that it needs of an array."""
    rest = everything(array)
    along = _along(grid, number, array)
    if not any(along):
        return lambda _: rest
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
