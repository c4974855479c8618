"""How tasks join what blocks leave of reductions: in the order of blocks, whoever runs them when.

Sums and products of floats are rounded once, at the end. They have the same bits for any number of workers; those of
the cpu may differ by the last digit, where its pieces end elsewhere than blocks do. So may variances: the moments of
blocks are joined as Chan, Golub and LeVeque do ("Algorithms for computing the sample variance", The American
Statistician 37, 1983), from means that are not rounded to the dtype of the elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorframe.backends.dask.partials import Partial
from tensorframe.backends.dask.programs import by_one_thread, run_region
from tensorframe.dtypes import FLOATING, DType
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.formulas import VAR
from tensorframe.ops.reduction import ARGMAX, ARGMIN, SUM
from tensorframe.quick_dataclasses import dataclass

Parts = Sequence[tuple[Any, ...]]  # what each of several blocks has left of one reduction


@dataclass(frozen=True, slots=True)
class JoinCall:
    """A task that joins what tasks left, one after the other, for what joins it further."""

    left: tuple[Partial, ...]

    def __call__(self, *blocks: Sequence[tuple[Any, ...]]) -> Any:
        """Return the blocks joined."""
        with np.errstate(all="ignore"):
            return tuple(
                [
                    joined(left.op, [block[place] for block in blocks])
                    for place, left in enumerate(self.left)
                ]
            )


def joined(op: Op, parts: Parts) -> tuple[Any, ...]:
    """Return what several blocks left of one reduction as if they had been one."""
    if op is VAR:
        return _moments(parts)
    if op in (ARGMAX, ARGMIN):
        return _first_extreme(op, parts)
    ufunc = ufunc_of(op)
    (total,) = parts[0]
    for (part,) in parts[1:]:
        total = ufunc(total, part)
    return (np.asarray(total),)


def ufunc_of(op: Op) -> Any:
    """Return NumPy's function that joins two totals."""
    assert op.combination is not None
    return getattr(np, op.combination.join.name)


def _moments(parts: Parts) -> tuple[Any, ...]:
    count, total, squares = parts[0]
    for number, added, more in parts[1:]:
        between = added / number - total / count
        apart = between * np.conj(between)
        squares = squares + more + apart.real * (count * (number / (count + number)))
        count, total = count + number, total + added
    return count, np.asarray(total), np.asarray(squares)


def _first_extreme(op: Op, parts: Parts) -> tuple[Any, Any]:
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
class End:
    """Elementwise ops that follow a reduction, with numbers alone: the task that has its result runs them as well."""

    ops: tuple[RegionOp, ...]
    """The first input is the result, the others are the numbers, then come the ops."""
    dtypes: tuple[DType, ...]
    numbers: tuple[Any, ...]

    @classmethod
    def of(
        cls, region: Region, value: int, ends: tuple[int, ...], given: Mapping[int, Any]
    ) -> End | None:
        """Return the ops `ends` of a region that follow a value; None if there are none."""
        if not ends:
            return None
        takes = {
            source
            for op in ends
            for source in region.ops[op - len(region.inputs)].inputs
            if source != value and source not in ends
        }
        numbers = sorted(takes)
        part = region.part((value, *numbers), ends, ends[-1:])
        dtypes = tuple([dtype for _, dtype in part.inputs])
        return cls(part.ops, dtypes, tuple([given[number] for number in numbers]))

    def __call__(self, result: Any) -> Any:
        """Return what the ops make of a block of the result."""
        shapes = (result.shape, *[()] * len(self.numbers))
        ops = tuple([replace(op, shape=result.shape) for op in self.ops])
        inputs = tuple(zip(shapes, self.dtypes, strict=True))
        region = Region(inputs, ops, (len(inputs) + len(ops) - 1,))
        with by_one_thread(alone=False):
            return np.asarray(run_region(region, [result, *self.numbers])[0])


@dataclass(frozen=True, slots=True)
class TotalCall:
    """A task that joins what is left to join, and gives a block of one reduction's result."""

    left: tuple[Partial, ...]
    place: int
    """Of the reduction in `left`."""
    op: Op
    """SUM may take its total out of moments."""
    dtype: DType
    dropped: tuple[int, ...]
    """Axes that the result does not have."""
    end: End | None = None

    def __call__(self, *blocks: Sequence[tuple[Any, ...]]) -> Any:
        """Return the block."""
        left = self.left[self.place]
        with np.errstate(all="ignore"):
            parts = joined(left.op, [block[self.place] for block in blocks])
            place = 0 if left.op is not VAR else 1 if self.op is SUM else 2
            result = np.squeeze(
                np.asarray(parts[place]).astype(self.dtype, copy=False), self.dropped
            )
        return result if self.end is None else self.end(result)
