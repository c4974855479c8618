"""Expansion of reductions that are several: the position of an extreme is the first position that holds it.

A loop that carries along a value and its position does not run on vectors; the extreme and then the smallest position
where it is do, and in one kernel the second pass reads what is in the cache.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tensorframe.dtypes import FLOAT, LIMITS, DType, bool_, int64
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.creation import ARANGE, FULL
from tensorframe.ops.elementwise import EQUAL, LOGICAL_OR, NOT_EQUAL, WHERE
from tensorframe.ops.movement import RESHAPE
from tensorframe.ops.reduction import ARGMAX, ARGMIN, MAX, MIN

EXTREME = {ARGMAX: MAX, ARGMIN: MIN}


def expanded(region: Region) -> Region:
    """Return a region of the same meaning without positions of extremes."""
    if not any(one.op in EXTREME for one in region.ops):
        return region
    return _Expansion(region).region()


class _Expansion:
    """A region that grows op by op; `now` are the new numbers of the old values."""

    def __init__(self, region: Region) -> None:
        self._old = region
        self._ops: list[RegionOp] = []
        self._now = list(range(len(region.inputs)))
        for one in region.ops:
            if one.op in EXTREME:
                self._now.append(self._position(one))
            else:
                inputs = [self._now[source] for source in one.inputs]
                self._now.append(self._add(one.op, one.attrs, inputs, one.shape, one.dtype))

    def region(self) -> Region:
        outputs = tuple([self._now[value] for value in self._old.outputs])
        return Region(self._old.inputs, tuple(self._ops), outputs)

    def _add(
        self, op: Op, attrs: tuple[Any, ...], inputs: list[int], shape: Shape, dtype: DType
    ) -> int:
        self._ops.append(RegionOp(op, attrs, tuple(inputs), shape, dtype))
        return len(self._old.inputs) + len(self._ops) - 1

    def _position(self, one: RegionOp) -> int:
        """Add the first position of the extreme; any NaN is one."""
        (old,) = one.inputs
        shape, dtype = self._old.shape_of(old), self._old.dtype_of(old)
        axes, keepdims = one.attrs
        source = self._now[old]
        rows = reduced(shape, axes, keepdims=True)
        extreme = self._add(EXTREME[one.op], (axes, True), [source], rows, dtype)
        hit = self._add(EQUAL, (), [source, extreme], shape, bool_)
        if dtype in FLOAT:
            unknown = self._add(NOT_EQUAL, (), [source, source], shape, bool_)
            hit = self._add(LOGICAL_OR, (), [hit, unknown], shape, bool_)
        count = prod([shape[axis] for axis in axes])
        flat = self._add(ARANGE, (0, 1, 0, 1), [], (count,), int64)
        along = tuple([size if axis in axes else 1 for axis, size in enumerate(shape)])
        place = self._add(RESHAPE, (along,), [flat], along, int64)
        # no number of this length: the text of the kernel is that of any length
        beyond = self._add(FULL, (LIMITS[int64][1],), [], (), int64)
        candidate = self._add(WHERE, (), [hit, place, beyond], shape, int64)
        return self._add(MIN, (axes, keepdims), [candidate], one.shape, int64)
