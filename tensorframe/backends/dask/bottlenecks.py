"""Bottlenecks: ops of which blocks cannot be made one by one, by their shapes and dtypes, before anything runs.

They run as one task, on a worker and not on the client, which takes all of what the op reads.
"""

from __future__ import annotations

from math import prod

from tensorframe.backends.dask.arrays import chunks_for
from tensorframe.backends.dask.blocks import can_be_cut
from tensorframe.backends.dask.matrices import has_algorithm
from tensorframe.backends.selection import show_bytes
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.contraction import MATMUL

# These are joined by a tree of tasks, go on from block to block, or cost nothing.
_JOINED = frozenset({Kind.REDUCE, Kind.SCAN, Kind.VIEW, Kind.SOURCE, Kind.TRANSFER})


def bottleneck(region: Region, limit: int) -> str | None:
    """Return why one task takes all that an op of a region reads, more than a block of `limit` bytes; else None."""
    for place, entry in enumerate(region.ops):
        taken = [_bytes(region, source) for source in dict.fromkeys(entry.inputs)]
        made = prod(entry.shape) * entry.dtype.itemsize
        if max(made, *taken, 0) > limit and not _has_blocks(region, place, entry, limit):
            reason = "gives several tensors" if entry.op.parts > 1 else _blocking(entry)
            return (
                f"{entry.op.name} {reason}: one task on one worker takes {show_bytes(sum(taken))}"
            )
    return None


def _bytes(region: Region, value: int) -> int:
    return prod(region.shape_of(value)) * region.dtype_of(value).itemsize


def _has_blocks(region: Region, place: int, entry: RegionOp, limit: int) -> bool:
    """Whether there are tasks for blocks of an op's result, or one of Dask's algorithms makes these."""
    if entry.op.kind in _JOINED or entry.op is MATMUL or 0 in entry.shape:
        return True
    first = len(region.inputs)
    shapes = [region.shape_of(source) for source in entry.inputs]
    if shapes and has_algorithm(entry, chunks_for(shapes[0], entry.dtype, limit)):
        return True
    if entry.op.parts > 1:
        return False
    sources = tuple(dict.fromkeys(entry.inputs))
    alone = region.part(sources, (first + place,), (first + place,))
    (value,) = alone.outputs
    return any(size > 1 and can_be_cut(alone, value, axis) for axis, size in enumerate(entry.shape))


def _blocking(entry: RegionOp) -> str:
    shape = ", ".join(map(str, entry.shape))
    return f"-> {entry.dtype}[{shape}] needs all of its operands for any block"
