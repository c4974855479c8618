"""Expansion of reductions that are several: the position of an extreme is the first position that holds it.

A loop that carries along a value and its position does not run on vectors; the extreme and then the smallest position
where it is do, and in one kernel the second pass reads what is in the cache.
"""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import FLOAT, LIMITS, DType, bool_, int32, int64
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import reduced
from tensorframe.kernel.spaces.rewriting import Rewriting
from tensorframe.ops.creation import ARANGE, FULL
from tensorframe.ops.elementwise import CAST, EQUAL, LOGICAL_OR, NOT_EQUAL, WHERE
from tensorframe.ops.movement import RESHAPE
from tensorframe.ops.reduction import ARGMAX, ARGMIN, MAX, MIN

EXTREME = {ARGMAX: MAX, ARGMIN: MIN}


def expanded(region: Region) -> Region:
    """Return a region of the same meaning without positions of extremes."""
    if not any(op.op in EXTREME for op in region.ops):
        return region
    return _Expansion(region).expanded()


class _Expansion(Rewriting):
    """A region without positions of extremes."""

    def expanded(self) -> Region:
        """Return the region."""
        now = list(range(len(self.inputs)))
        for value, op in enumerate(self.old.ops, start=len(self.inputs)):
            inputs = [now[source] for source in op.inputs]
            now.append(
                self._position(value, op, inputs[0])
                if op.op in EXTREME
                else self.keep(value, inputs)
            )
        return self.region([now[value] for value in self.old.outputs])

    def _position(self, value: int, op: RegionOp, source: int) -> int:
        """Add the first position of the extreme; any NaN is one."""
        shape, dtype = self.known(source)
        axes, keepdims = op.attrs
        rows = reduced(shape, axes, keepdims=True)
        extreme = self.add(EXTREME[op.op], (axes, True), [source], rows, dtype)
        self.read_as(extreme, value)
        hit = self.add(EQUAL, (), [source, extreme], shape, bool_)
        if dtype in FLOAT:
            unknown = self.add(NOT_EQUAL, (), [source, source], shape, bool_)
            hit = self.add(LOGICAL_OR, (), [hit, unknown], shape, bool_)
        count = prod([shape[axis] for axis in axes])
        number = _number_dtype(count, dtype)
        flat = self.add(ARANGE, (0, 1, 0, 1), [], (count,), number)
        along = tuple([size if axis in axes else 1 for axis, size in enumerate(shape)])
        place = self.add(RESHAPE, (along,), [flat], along, number)
        # no number of this length: the text of the kernel is that of any length
        beyond = self.add(FULL, (LIMITS[number][1],), [], (), number)
        candidate = self.add(WHERE, (), [hit, place, beyond], shape, number)
        least = self.add(MIN, (axes, keepdims), [candidate], op.shape, number)
        first = self.put_in_place_of(self.read_as(least, value), value)
        if number == op.dtype:
            return first
        return self.put_in_place_of(self.apply(CAST, first, attrs=(op.dtype,)), value)


def _number_dtype(count: int, beside: DType) -> DType:
    """Return the dtype in which so many positions are compared beside elements of a dtype.

    Short ones where elements are: so many more lie side by side, and few vector units compare 64 bits.
    """
    return int32 if beside.itemsize < int64.itemsize and count <= LIMITS[int32][1] else int64
