"""Grids of results: where their axes are cut, by the blocks that operands have, and which of these each block needs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil, prod
from typing import Any, TypeAlias

import numpy as np

from tensorframe.backends.dask.arrays import Array, Chunks, cut
from tensorframe.backends.dask.blocks import can_be_cut, needed_along, needs_of, shifts
from tensorframe.graph.region import Region
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import Interval, whole

# Blocks along an axis from which windows that only shift are counted rather than found one by one.
_MANY = 8


class Span(NamedTuple):
    """The blocks of an operand, along one axis, that a block of the result needs."""

    first: int
    number: int  # of blocks
    origin: int  # where the first of them begins


class Axis(NamedTuple):
    """An axis of a result: how it is cut, and what each piece needs of each axis of the operands that goes along."""

    sizes: tuple[int, ...]
    intervals: tuple[Interval, ...]
    spans: dict[tuple[int, int], tuple[Span, ...]]  # by operand and its axis


# Regions of which a process keeps how they are cut: those of a few programs at a time.
_KEPT = 64
# So many times the bytes that blocks need are read at most, before an operand gets other blocks.
_WASTE = 3.0


class Grid(NamedTuple):
    """How a result is cut into blocks."""

    axes: tuple[Axis, ...]

    @property
    def chunks(self) -> Chunks:
        """The sizes of the blocks along each axis."""
        return tuple([axis.sizes for axis in self.axes])


class Blocks(NamedTuple):
    """What a grid depends on of an operand: how its axes are cut, and the bytes of an element."""

    chunks: Chunks
    itemsize: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return tuple(map(sum, self.chunks))

    @property
    def nbytes(self) -> int:
        """The bytes of all blocks."""
        return self.itemsize * prod(self.shape)

    @property
    def largest(self) -> int:
        """The bytes of the largest block."""
        return self.itemsize * prod([max(sizes) for sizes in self.chunks])


class Layout(NamedTuple):
    """How outputs of a region are cut, in blocks of one grid: those at places that are `alike` read the same blocks."""

    grid: Grid
    alike: tuple[int, ...]
    rechunked: dict[int, Chunks]
    """Other blocks of operands, by their numbers, than they have."""


def layout_of(region: Region, inputs: Sequence[Any], limit: int) -> Layout:
    """Return how the outputs of a region, of one shape, are cut by the blocks of its inputs; numbers have none.

    The answer is kept, and is nobody's to change: a program that runs again asks the same.
    """
    return _layout_of(region.key(), _blocks(inputs), limit)


def grid_of_inputs(region: Region, inputs: Sequence[Any], limit: int) -> Grid:
    """Return how the output of a region is cut by the blocks that its inputs have; it is kept as layouts are."""
    return _grid_of(region.key(), _blocks(inputs), limit)


def _blocks(inputs: Sequence[Any]) -> tuple[Blocks | None, ...]:
    return tuple(
        [
            Blocks(value.chunks, value.dtype.itemsize) if hasattr(value, "chunks") else None
            for value in inputs
        ]
    )


@lru_cache(_KEPT)
def _grid_of(key: tuple[Any, ...], blocks: tuple[Blocks | None, ...], limit: int) -> Grid:
    region: Region = key[0]
    return grid_of(region, region.outputs[0], blocks, limit)


@lru_cache(_KEPT)
def _layout_of(key: tuple[Any, ...], blocks: tuple[Blocks | None, ...], limit: int) -> Layout:
    region: Region = key[0]
    grid = grid_of(region, region.outputs[0], blocks, limit)
    grid, better = in_better_blocks(region, region.outputs[0], grid, blocks)
    alike, grid = seen_alike(region, grid, better)
    rechunked = {
        number: own.chunks
        for number, own in enumerate(better)
        if own is not None and own != blocks[number]
    }
    return Layout(grid, tuple(alike), rechunked)


def bounds_of(sizes: Sequence[int]) -> list[int]:
    """Return where pieces of these sizes begin, and where the last one ends."""
    return [0, *np.cumsum(sizes).tolist()]


def grid_of(region: Region, value: int, inputs: Sequence[Blocks | None], limit: int) -> Grid:
    """Return how a value of a region is cut: as the largest operand that it follows, into blocks that fit.

    Axes of which an op needs all stay whole.
    """
    shape = region.shape_of(value)
    free = [axis for axis, size in enumerate(shape) if size > 1 and can_be_cut(region, value, axis)]
    limit = max(limit, _largest_block(inputs))
    sizes: list[tuple[int, ...]] = []
    for axis, size in enumerate(shape):
        followed = _followed(region, value, axis, inputs) if axis in free else None
        sizes.append(followed or (size,))
    sizes = _within(sizes, free, limit // region.dtype_of(value).itemsize)
    return Grid(
        tuple([_axis(region, value, axis, sizes[axis], inputs) for axis in range(len(shape))])
    )


def _largest_block(inputs: Sequence[Blocks | None]) -> int:
    return max([own.largest for own in inputs if own is not None], default=0)


def _followed(
    region: Region, value: int, axis: int, inputs: Sequence[Blocks | None]
) -> tuple[int, ...] | None:
    """Return the pieces that the blocks of the largest operand cut an axis into; None if none is cut along it."""
    size = region.shape_of(value)[axis]
    low, high = size // 3, max(2 * size // 3, size // 3 + 1)
    needed = needed_along(region, value, axis, (low, low + 1)) or {}
    other = needed_along(region, value, axis, (min(high, size - 1), min(high, size - 1) + 1)) or {}
    best: tuple[int, tuple[int, ...]] | None = None
    for number, block in needed.items():
        array = inputs[number]
        if number not in other or array is None:
            continue
        for place, (begin, _) in enumerate(block):
            begins = other[number][place][0]
            if begins == begin or len(array.chunks[place]) < 2:
                continue
            slope = (begins - begin) / (min(high, size - 1) - low)
            cuts = [
                low + ceil((bound - begin) / slope)
                for bound in bounds_of(array.chunks[place])[1:-1]
            ]
            inside = sorted({cut for cut in cuts if 0 < cut < size})
            pieces = tuple(np.diff([0, *inside, size]).tolist())
            if best is None or array.nbytes > best[0]:
                best = array.nbytes, pieces
    return None if best is None else best[1]


def _within(sizes: list[tuple[int, ...]], free: Sequence[int], room: int) -> list[tuple[int, ...]]:
    """Return finer pieces of free axes, outer ones first, until a block has at most `room` elements."""
    for axis in free:
        largest = prod([max(pieces) for pieces in sizes])
        if largest <= room:
            break
        length = max(max(sizes[axis]) * room // largest, 1)
        sizes[axis] = tuple([part for piece in sizes[axis] for part in cut(piece, length)])
    return sizes


def _axis(
    region: Region, value: int, axis: int, sizes: tuple[int, ...], inputs: Sequence[Blocks | None]
) -> Axis:
    """Return what each piece of an axis needs of the operands."""
    bounds = bounds_of(sizes)
    intervals = tuple(pairwise(bounds))
    if len(sizes) == 1:
        return Axis(sizes, intervals, {})
    windows = _windows(region, value, axis, intervals)
    spans = {
        (number, place): _spans(array.chunks[place], own)
        for (number, place), own in windows.items()
        if (array := inputs[number]) is not None
    }
    return Axis(sizes, intervals, spans)


def _windows(
    region: Region, value: int, axis: int, intervals: Sequence[Interval]
) -> dict[tuple[int, int], list[Interval]]:
    """Return the interval of each axis of the inputs that each piece of an axis of a result needs, where not all."""
    if len(intervals) >= _MANY and shifts(region):
        shifted = _shifted(region, value, axis, intervals)
        if shifted is not None:
            return shifted
    needed = [needed_along(region, value, axis, interval) or {} for interval in intervals]
    windows: dict[tuple[int, int], list[Interval]] = {}
    for number, (shape, _) in enumerate(region.inputs):
        for place, size in enumerate(shape):
            # what a piece does not need at all may be anything of it: nothing
            own = [block[number][place] if number in block else (0, 0) for block in needed]
            if any(interval != (0, size) for interval in own):
                windows[number, place] = own
    return windows


def _shifted(
    region: Region, value: int, axis: int, intervals: Sequence[Interval]
) -> dict[tuple[int, int], list[Interval]] | None:
    """Return the windows that go along with the pieces or stay, judged by the first and the last place of the axis.

    None where one does neither: what lies around `x` and one place of it, in `x - x[5:6]`, grows and shrinks.
    """
    last = region.shape_of(value)[axis] - 1
    needed = needed_along(region, value, axis, (0, 1)) or {}
    later = needed_along(region, value, axis, (last, last + 1)) or {}
    windows = {}
    for number, block in needed.items():
        for place, (begin, end) in enumerate(block):
            there = later[number][place]
            if there == (begin + last, end + last):
                windows[number, place] = [
                    (start + begin, stop - 1 + end) for start, stop in intervals
                ]
            elif there != (begin, end):
                return None
    return windows


def _spans(sizes: Sequence[int], windows: Sequence[Interval]) -> tuple[Span, ...]:
    """Return the blocks along one axis of an operand in which intervals are."""
    bounds = bounds_of(sizes)
    if len(windows) >= _MANY:
        return _many_spans(bounds, windows)
    spans = []
    for low, high in windows:
        first = bisect_right(bounds, low) - 1
        last = bisect_right(bounds, high - 1) - 1 if high > low else first - 1
        spans.append(Span(first, last - first + 1, bounds[first]))
    return tuple(spans)


def _many_spans(bounds: list[int], windows: Sequence[Interval]) -> tuple[Span, ...]:
    edges = np.asarray(bounds)
    ends = np.asarray(windows)
    first = np.searchsorted(edges, ends[:, 0], "right") - 1
    last = np.searchsorted(edges, ends[:, 1] - 1, "right") - 1
    counts = np.where(ends[:, 1] > ends[:, 0], last - first + 1, 0)
    columns = (first.tolist(), counts.tolist(), edges[first].tolist())
    return tuple([Span(*column) for column in zip(*columns, strict=True)])


def seen_alike(
    region: Region, grid: Grid, inputs: Sequence[Blocks | None]
) -> tuple[list[int], Grid]:
    """Return which outputs, by their places, need the same blocks of inputs as the first one, and their common grid.

    An input that only one of them reads does not tell them apart: `x` and `x.T` are, `x` and `y` are not.
    """
    if len(region.outputs) == 1:
        return [0], grid
    shared: _SpansByInput = {}
    alike = []
    for place, value in enumerate(region.outputs):
        own = _spans_by_input(region, value, grid, inputs)
        if all(shared.get(number, spans) == spans for number, spans in own.items()):
            shared.update(own)
            alike.append(place)
    axes = [
        axis._replace(
            spans={
                (number, place): spans
                for number, by_axis in shared.items()
                for place, spans in by_axis[which].items()
            }
        )
        for which, axis in enumerate(grid.axes)
    ]
    return alike, Grid(tuple(axes))


# by input, for each axis of the result: the spans along axes of the input that go along with it
_SpansByInput: TypeAlias = dict[int, list[dict[int, tuple[Span, ...]]]]


def _spans_by_input(
    region: Region, value: int, grid: Grid, inputs: Sequence[Blocks | None]
) -> _SpansByInput:
    """Return the spans that a value needs of each input that it reads."""
    needs = needs_of(region, {value: whole(region.shape_of(value))})
    assert needs is not None, "the region is made of blocks"
    axes = [_axis(region, value, axis, own.sizes, inputs) for axis, own in enumerate(grid.axes)]
    return {
        number: [
            {place: spans for (other, place), spans in axis.spans.items() if other == number}
            for axis in axes
        ]
        for number in range(len(region.inputs))
        if number in needs.blocks
    }


def everything(array: Array) -> tuple[Span, ...]:
    """Return the spans of all blocks of an operand."""
    return tuple([Span(0, len(sizes), 0) for sizes in array.chunks])


def in_better_blocks(
    region: Region, value: int, grid: Grid, inputs: Sequence[Blocks | None]
) -> tuple[Grid, list[Blocks | None]]:
    """Return operands in other blocks where those that they have hold much more than blocks of the result need.

    To sort columns of an array in blocks of rows, every task would take all of it.
    """
    wanted: dict[int, dict[int, tuple[int, ...]]] = {}
    waste = dict.fromkeys(range(len(inputs)), 1.0)
    for axis, own in enumerate(grid.axes):
        windows = _windows(region, value, axis, own.intervals) if len(own.sizes) > 1 else {}
        for (number, place), intervals in windows.items():
            array = inputs[number]
            if array is None:
                continue
            sizes = array.chunks[place]
            held = sum(
                [
                    sum(sizes[span.first : span.first + span.number])
                    for span in own.spans[number, place]
                ]
            )
            waste[number] *= held / max(sum([high - low for low, high in intervals]), 1)
            inside = sorted({0, *[low for low, high in intervals if high > low]})
            pieces = np.diff([*inside, array.shape[place]]).tolist()
            wanted.setdefault(number, {})[place] = tuple([piece for piece in pieces if piece])
    worse = [number for number, times in waste.items() if times > _WASTE]
    if not worse:
        return grid, list(inputs)
    arrays = list(inputs)
    for number in worse:
        array = arrays[number]
        assert array is not None
        chunks = [wanted[number].get(place, own) for place, own in enumerate(array.chunks)]
        arrays[number] = array._replace(chunks=tuple(chunks))
    axes = [_axis(region, value, axis, own.sizes, arrays) for axis, own in enumerate(grid.axes)]
    return Grid(tuple(axes)), arrays
