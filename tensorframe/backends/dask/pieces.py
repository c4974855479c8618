"""Pieces of a block of a result: lines that read one block of each operand, and the few at seams that read several.

To join the blocks of a stencil's operand, each with a line or two of its neighbours, costs as much as the stencil. Its
lines inside a block are made of that block where it lies, and only what the others need is joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any

from tensorframe.backends.dask.blocks import needs_of, shifts
from tensorframe.backends.dask.grids import Span
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.schedule.blocks import Block, Interval, extents

# Bytes of a block from which to join what it reads takes longer than to call kernels a few times.
_LARGE = 1 << 20
# Blocks of which a process keeps what their lines need.
_KEPT = 256
# Pieces of a block at most: one in each of a few blocks of an operand, and the seams between them.
_MOST = 9
_KINDS = frozenset({Kind.MAP, Kind.VIEW, Kind.SOURCE})


def pieces(
    region: Region,
    value: int,
    block: Block,
    spans: Mapping[int, tuple[Span, ...]],
    parts: Sequence[Any],
) -> list[Block]:
    """Return what a block is made of along its first axis; itself, where that would be no gain.

    `spans` say which blocks of each input there are, and `parts` are these.
    """
    size = prod(extents(block)) * region.dtype_of(value).itemsize
    if size < _LARGE or all(span.number == 1 for own in spans.values() for span in own):
        return [block]
    lines, *others = block
    windows = _windows(region.key(), value, block)
    if windows is None:
        return [block]
    cuts = set()
    place = 0
    for number, own in spans.items():
        counts = [span.number for span in own]
        blocks = parts[place : place + prod(counts)]
        place += prod(counts)
        for axis, (first, last) in windows.get(number, {}).items():
            for seam in _seams(own[axis].origin, blocks, counts, axis):
                cuts |= {seam - last + 1, seam - first}
    inside = sorted([cut for cut in cuts if lines[0] < cut < lines[1]])
    if not inside or len(inside) >= _MOST:
        return [block]
    return [(interval, *others) for interval in pairwise([lines[0], *inside, lines[1]])]


def _seams(origin: int, blocks: Sequence[Any], counts: Sequence[int], axis: int) -> list[int]:
    """Return where blocks in C order, of which the first begins at `origin`, meet along an axis."""
    step = prod(counts[axis + 1 :])
    sizes = [part.shape[axis] for part in blocks[: counts[axis] * step : step]]
    return list(accumulate(sizes[:-1], initial=origin))[1:]


@lru_cache(_KEPT)
def _windows(
    key: tuple[Any, ...], value: int, block: Block
) -> dict[int, dict[int, Interval]] | None:
    """Return, by input and its axis, what a line of a block needs of it, counted from that line.

    None where that is not so for each line, or where ops do more than to read elements there.
    """
    region: Region = key[0]
    if not shifts(region) or not {entry.op.kind for entry in region.ops} <= _KINDS:
        return None
    (low, high), *others = block
    first = needs_of(region, {value: ((low, low + 1), *others)})
    last = needs_of(region, {value: ((high - 1, high), *others)})
    if first is None or last is None:
        return None
    windows: dict[int, dict[int, Interval]] = {}
    for number in range(len(region.inputs)):
        for axis, (begin, end) in enumerate(first.blocks.get(number, ())):
            there = last.blocks[number][axis]
            if there == (begin + high - 1 - low, end + high - 1 - low) != (begin, end):
                windows.setdefault(number, {})[axis] = begin - low, end - low
            elif there != (begin, end):
                return None
    return windows
