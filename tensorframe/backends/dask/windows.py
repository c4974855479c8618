"""Windows: what a task needs of the blocks that it is given, as one array for each operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, islice, pairwise, product
from math import prod
from typing import Any

from tensorframe.backends import host_pool
from tensorframe.backends.dask.grids import Span
from tensorframe.graph.shape import Shape
from tensorframe.schedule.blocks import Block, hull


def windows(
    spans: Mapping[int, tuple[Span, ...]],
    inputs: Sequence[tuple[int, Block]],
    parts: Iterator[Any],
) -> dict[int, tuple[Any, Shape]]:
    """Return an array that holds what is needed of each operand, and where it begins, by the operand's number.

    `spans` say which blocks of an operand there are, `parts` are these, and `inputs` what is needed, in several places.
    """
    given = {}
    for number, own in spans.items():
        counts = tuple([span.number for span in own])
        if 0 in counts:
            continue
        blocks = list(islice(parts, prod(counts)))
        origin = tuple([span.origin for span in own])
        needed = [block for place, block in inputs if place == number]
        if len(blocks) > 1 and needed:
            blocks, counts, origin = _cut(blocks, counts, origin, reduce(hull, needed))
        given[number] = joined(iter(blocks), counts), origin
    return given


def _cut(
    blocks: Sequence[Any], counts: Sequence[int], origin: Shape, needed: Block
) -> tuple[list[Any], tuple[int, ...], Shape]:
    """Return what lies within `needed` of blocks in C order that begin at `origin`, its counts, and where it begins.

    A stencil takes a line of its neighbours: to join what they are in full would cost more than to compute.
    """
    axes = []
    for axis, (count, start, (low, high)) in enumerate(zip(counts, origin, needed, strict=True)):
        step = prod(counts[axis + 1 :])
        slices = []
        for place, block in enumerate(blocks[: count * step : step]):
            size = block.shape[axis]
            own = slice(max(low - start, 0), max(min(high - start, size), 0))
            start += size
            if own.start < own.stop:
                slices.append((place * step, own))
        axes.append(slices or [(0, slice(0, 0))])
    pieces = []
    for chosen in product(*axes):
        block = blocks[sum([place for place, _ in chosen])]
        pieces.append(block[tuple([own for _, own in chosen])])
    begins = tuple([max(low, own) for (low, _), own in zip(needed, origin, strict=True)])
    return pieces, tuple([len(slices) for slices in axes]), begins


def joined(blocks: Iterator[Any], grid: Sequence[int]) -> Any:
    """Return the array that blocks in C order are of."""
    if not grid or all(count == 1 for count in grid):
        return next(blocks)
    given = list(islice(blocks, prod(grid)))
    axes = []
    for axis, count in enumerate(grid):
        step = prod(grid[axis + 1 :])
        sizes = [block.shape[axis] for block in given[: count * step : step]]
        axes.append(list(pairwise(accumulate(sizes, initial=0))))
    shape = tuple([ends[-1][1] for ends in axes])
    result = host_pool.empty(shape, given[0].dtype)
    for block, intervals in zip(given, product(*axes), strict=True):
        result[tuple([slice(low, high) for low, high in intervals])] = block
    return result


def shown(array: Any, origin: tuple[int, ...], block: Block) -> Any:
    """Return a block out of an array that begins at `origin` of another one."""
    slices = tuple(
        [slice(low - start, high - start) for (low, high), start in zip(block, origin, strict=True)]
    )
    return array[slices] if slices else array
