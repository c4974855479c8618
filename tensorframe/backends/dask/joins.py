"""What tasks leave of reductions and scans, and how that is joined: in the order of blocks, whoever runs them when.

Sums and products of floats leave totals in float64, which are rounded once, at the end. They have the same bits for any
number of workers; those of the cpu may differ by the last digit, where its pieces end elsewhere than blocks do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.dask.tasks import BlockCall, by_one_thread, owned, run_region
from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, DType, complex_of, float64
from tensorframe.graph.op import Op, find
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import reduced
from tensorframe.ops.reduction import ARGMAX, ARGMIN, MAX, MIN
from tensorframe.quick_dataclasses import dataclass
from tensorframe.schedule.blocks import Block


def total_dtype(op: Op, dtype: DType) -> DType:
    """Return the dtype of totals of elements of a dtype: that of sums and products loses nothing."""
    if op.combination is None or not op.combination.wide:
        return dtype
    return float64 if dtype in FLOAT else complex_of(float64) if dtype in COMPLEX else dtype


def _with(region: Region, *entries: RegionOp) -> Region:
    """Return a region of one output with further ops, the last of which gives the output."""
    ops = (*region.ops, *entries)
    return Region(region.inputs, ops, (len(region.inputs) + len(ops) - 1,))


def _wide(region: Region, dtype: DType) -> Region:
    """Return a region whose one output is cast."""
    (value,) = region.outputs
    if region.dtype_of(value) == dtype:
        return region
    return _with(region, RegionOp(find("cast"), (dtype,), (value,), region.shape_of(value), dtype))


def _reduced(region: Region, op: Op, axes: tuple[int, ...], dtype: DType) -> Region:
    """Return a region whose one output is reduced; its axes stay, with one element."""
    (value,) = region.outputs
    shape = reduced(region.shape_of(value), axes, keepdims=True)
    return _with(region, RegionOp(op, (axes, True), (value,), shape, dtype))


@dataclass(frozen=True, slots=True)
class PartialCall:
    """A task that reduces a block of a value, as `call` makes it, along some axes, and leaves what has to be joined."""

    call: BlockCall
    op: Op
    axes: tuple[int, ...]
    dtype: DType
    """Of the totals."""

    def __call__(self, block: Block, spans: Any, *parts: Any) -> Any:
        """Return the total of a block, or the positions of extremes in the whole, and these."""
        made, inputs = self.call.prepared(block, spans, parts)
        with by_one_thread(alone=False):
            if self.op in (ARGMAX, ARGMIN):
                return self._extremes(made, inputs, block)
            total = _reduced(_wide(made, self.dtype), self.op, self.axes, self.dtype)
            return owned(run_region(total, inputs)[0])

    def _extremes(self, made: Region, inputs: Sequence[Any], block: Block) -> tuple[Any, Any]:
        (value,) = made.outputs
        shape, dtype = made.shape_of(value), made.dtype_of(value)
        kept = reduced(shape, self.axes, keepdims=True)
        extreme = MAX if self.op is ARGMAX else MIN
        count = len(made.inputs) + len(made.ops)
        entries = (
            RegionOp(self.op, (self.axes, True), (value,), kept, np.dtype(np.int64)),
            RegionOp(extreme, (self.axes, True), (value,), kept, dtype),
        )
        both = replace(made, ops=(*made.ops, *entries), outputs=(count, count + 1))
        places, values = run_region(both, inputs)
        return self._in_the_whole(np.asarray(places), block), owned(values)

    def _in_the_whole(self, places: Any, block: Block) -> Any:
        """Return positions that count along the reduced axes of a block as those that count along all of the axes."""
        whole_shape = self.call.region.shape_of(self.call.values[0])
        axes = sorted(self.axes)
        inside = [block[axis][1] - block[axis][0] for axis in axes]
        result = np.zeros(places.shape, np.int64)
        for position, axis in enumerate(axes):
            step = prod(inside[position + 1 :])
            index = places // step % inside[position] + block[axis][0]
            result += index * prod([whole_shape[other] for other in axes[position + 1 :]])
        return result


@dataclass(frozen=True, slots=True)
class JoinCall:
    """A task that joins what tasks left, one after the other; the last one gives the result, of `shape` for a block."""

    op: Op
    dtype: DType | None = None
    """Of the result; None where it is joined further."""
    dropped: tuple[int, ...] = ()
    """Axes that the result does not have."""

    def __call__(self, *parts: Any) -> Any:
        """Return the parts joined."""
        if self.op in (ARGMAX, ARGMIN):
            best = _first_extreme(self.op, parts)
            return best if self.dtype is None else np.squeeze(best[0], self.dropped)
        assert self.op.combination is not None
        ufunc = _ufunc(self.op)
        total = parts[0]
        with np.errstate(all="ignore"):
            for part in parts[1:]:
                total = ufunc(total, part)
            if self.dtype is None:
                return np.asarray(total)
            return np.squeeze(np.asarray(total).astype(self.dtype), self.dropped)


def _ufunc(op: Op) -> Any:
    assert op.combination is not None
    name = op.combination.join.name
    return getattr(np, name)


def _first_extreme(op: Op, parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the position of the largest, or smallest, element, and it: of equal ones the first; NaN is beyond all."""
    places, best = parts[0]
    for others, values in parts[1:]:
        beyond = values > best if op is ARGMAX else values < best
        same = values == best
        if values.dtype in FLOATING:
            nan, known = np.isnan(values), np.isnan(best)
            beyond = beyond & ~known | nan & ~known
            same = same | nan & known
        earlier = beyond | same & (others < places)
        places, best = np.where(earlier, others, places), np.where(beyond, values, best)
    return places, best


@dataclass(frozen=True, slots=True)
class OffsetsCall:
    """A task that takes the totals of all blocks along an axis, and gives what comes before each of them."""

    op: Op
    axis: int

    def __call__(self, *totals: Any) -> Any:
        """Return the offsets, one behind the other along the axis."""
        ufunc = _ufunc(self.op)
        first = np.full_like(totals[0], ufunc.identity)
        line = np.concatenate([first, *totals[:-1]], self.axis)
        with np.errstate(all="ignore"):
            return ufunc.accumulate(line, self.axis, dtype=line.dtype)


@dataclass(frozen=True, slots=True)
class ScanCall:
    """A task that scans a block along an axis, from what comes before it on."""

    call: BlockCall
    op: Op
    axis: int
    held: DType
    dtype: DType

    def __call__(self, block: Block, spans: Any, index: int, offsets: Any, *parts: Any) -> Any:
        """Return the block of the scan; `at` is its number along the axis."""
        made, inputs = self.call.prepared(block, spans, parts)
        wide = _wide(made, self.held)
        (value,) = wide.outputs
        entry = RegionOp(self.op, (self.axis,), (value,), wide.shape_of(value), self.held)
        with by_one_thread(alone=False), np.errstate(all="ignore"):
            (scanned,) = run_region(_with(wide, entry), inputs)
            if index:
                own = np.take(offsets, [index], self.axis)
                scanned = _ufunc(self.op)(own, scanned)
            return owned(np.asarray(scanned).astype(self.dtype, copy=False))
