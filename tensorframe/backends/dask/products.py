"""Products of large matrices: where a row and a column of blocks are too much for one task, a few of them at a time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any

from tensorframe.backends.dask.grids import bounds_of
from tensorframe.backends.dask.layers import is_number
from tensorframe.graph.op import find
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.movement import SLICE

# Blocks' worth of operands that a task takes at most, where their inner axis has several blocks.
_PANEL = 8


def groups_of(
    region: Region, value: int, given: Mapping[int, Any], limit: int
) -> list[tuple[int, int]]:
    """Return the intervals of the inner axis that tasks of a product take one after the other; none if all fits."""
    entry = region.ops[value - len(region.inputs)]
    if entry.op is not MATMUL:
        return []
    left, right = [given.get(source) for source in entry.inputs]
    if left is None or right is None or is_number(left) or is_number(right):
        return []
    if left.ndim != 2 or right.ndim != 2 or len(left.chunks[1]) < 2:
        return []
    inner = left.shape[1]
    widths = max(left.chunks[0]) + max(right.chunks[1])
    room = _PANEL * max(limit, prod(left.chunksize) * left.dtype.itemsize)
    if widths * inner * left.dtype.itemsize <= room:
        return []
    length = max(room // (widths * left.dtype.itemsize), 1)
    cuts = [0]
    for low, high in pairwise(bounds_of(left.chunks[1])):
        if high - cuts[-1] > length and low > cuts[-1]:
            cuts.append(low)
    return list(pairwise([*cuts, inner])) if len(cuts) > 1 else []


def partial_product(
    entry: RegionOp, left: Any, right: Any, low: int, high: int, adds: bool
) -> Region:
    """Return the region that multiplies an interval of the inner axis, and adds that to what there is, if it `adds`."""
    dtype = entry.dtype
    kinds = [(left.shape, dtype), (right.shape, dtype), *([(entry.shape, dtype)] if adds else [])]
    count = len(kinds)
    rows, columns = left.shape[0], right.shape[1]
    ops = [
        RegionOp(SLICE, ((0, low), (rows, high - low), (1, 1)), (0,), (rows, high - low), dtype),
        RegionOp(
            SLICE, ((low, 0), (high - low, columns), (1, 1)), (1,), (high - low, columns), dtype
        ),
        RegionOp(MATMUL, (), (count, count + 1), entry.shape, dtype),
    ]
    if adds:
        ops.append(RegionOp(find("add"), (), (2, count + 2), entry.shape, dtype))
    return Region(tuple(kinds), tuple(ops), (count + len(ops) - 1,))
