"""What a task leaves of its block for reductions of the whole: totals, extremes with their positions, and moments.

Sums and products of floats leave totals in float64. Moments are how many elements there were, their sum, and the sum of
squared distances from their mean, all in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tensorframe.backends.dask.blocks import restricted
from tensorframe.backends.dask.programs import (
    Alike,
    at_the_origin,
    by_one_thread,
    run_alike,
    run_region,
    scratch,
)
from tensorframe.backends.dask.tasks import BlockCall, Memo, owned
from tensorframe.dtypes import COMPLEX, FLOAT, DType, complex_of, float64
from tensorframe.graph.op import Op, find
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.creation import FULL
from tensorframe.ops.formulas import VAR
from tensorframe.ops.reduction import ARGMAX, ARGMIN, MAX, MIN, SUM
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.schedule.blocks import Block, extents

# Of what reduces blocks of one size, a process keeps so much.
_KEPT = 256
# Bytes of an element of a total at most, and of moments: a total, and a float64.
_WIDEST = 16
_MOST_LEFT = _WIDEST + 8
# of the outputs of a region, those that each reduction leaves
_Places: TypeAlias = list[tuple[int, ...]]


def total_dtype(op: Op, dtype: DType) -> DType:
    """Return the dtype of totals of elements of a dtype: that of sums and products loses nothing."""
    if op.combination is None or not op.combination.wide:
        return dtype
    return float64 if dtype in FLOAT else complex_of(float64) if dtype in COMPLEX else dtype


@dataclass(frozen=True, slots=True)
class Partial:
    """What a block leaves of one reduction: its total, or moments for VAR."""

    op: Op
    dtype: DType
    """Of totals."""


def bytes_left(left: Sequence[Partial], elements: int) -> int:
    """Return the bytes that reductions leave of a block, for each of so many elements of the result, at most."""
    return elements * sum([_MOST_LEFT if own.op is VAR else 2 * _WIDEST for own in left])


@dataclass(frozen=True, slots=True)
class PartialCall:
    """A task that reduces a block of a value, as `call` makes it, along some axes, and leaves what has to be joined."""

    call: BlockCall
    axes: tuple[int, ...]
    left: tuple[Partial, ...]
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)

    def __call__(self, block: Block, spans: Any, *parts: Any) -> Any:
        """Return what is left of a block, a tuple for each of `left`."""
        sizes = extents(block)
        if sizes not in self.memo:
            key = self.call.region.key()
            self.memo[sizes] = _alike(key, self.call.values, sizes, self.axes, self.left)
        known: tuple[_Places, Alike] | None = self.memo[sizes]
        if known is not None:
            places, program = known
            made = self.call.moved(program, block, spans, parts)
        else:
            region, inputs = self.call.prepared(block, spans, parts)
            region, places = _reduced(region, self.axes, self.left)
            with by_one_thread(alone=False):
                made = run_region(region, inputs)
        return tuple(
            [
                self._finished(left, [owned(made[place]) for place in own], block)
                for left, own in zip(self.left, places, strict=True)
            ]
        )

    def scratch(self, block: Block, spans: Any, *_: Any) -> int:
        """Return the bytes that it takes beside what is left of a block: what the block is made of is joined."""
        made = restricted(self.call.region, dict.fromkeys(self.call.values, block))
        own = _scratch(made.region.key(), self.axes, self.left)
        return own + self.call.joined(made, spans)

    def _finished(self, left: Partial, values: list[Any], block: Block) -> tuple[Any, ...]:
        if left.op is VAR:
            return (prod([block[axis][1] - block[axis][0] for axis in self.axes]), *values)
        if left.op in (ARGMAX, ARGMIN):
            return (self._in_the_whole(np.asarray(values[0]), block), values[1])
        return tuple(values)

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


@lru_cache(_KEPT)
def _alike(
    key: tuple[Any, ...],
    values: tuple[int, ...],
    sizes: Shape,
    axes: tuple[int, ...],
    left: tuple[Partial, ...],
) -> tuple[_Places, Alike] | None:
    """Return what reduces blocks of such sizes wherever they lie; None where they are not made elementwise."""
    made = at_the_origin(key[0], values, sizes)
    if made is None:
        return None
    region, places = _reduced(made.region, axes, left)
    return places, run_alike(made, region)


@lru_cache(_KEPT)
def _scratch(key: tuple[Any, ...], axes: tuple[int, ...], left: tuple[Partial, ...]) -> int:
    return scratch(_reduced(key[0], axes, left)[0].key())


def _reduced(
    region: Region, axes: tuple[int, ...], left: Sequence[Partial]
) -> tuple[Region, _Places]:
    """Return a region that makes a block with reductions of it, and the outputs that each of these leaves."""
    extended = Extended(region)
    values = [_add(extended, own, axes) for own in left]
    outputs = tuple(dict.fromkeys([value for own in values for value in own]))
    place = {value: number for number, value in enumerate(outputs)}
    return extended.region(outputs), [tuple([place[value] for value in own]) for own in values]


def _add(region: Extended, left: Partial, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Add the ops of a reduction; return the values that are left."""
    x = region.value
    if left.op is VAR:
        return region.moments(left.dtype, axes)
    if left.op in (ARGMAX, ARGMIN):
        extreme = MAX if left.op is ARGMAX else MIN
        return (
            region.reduced(left.op, x, axes, np.dtype(np.int64)),
            region.reduced(extreme, x, axes, region.kind_of(x)[1]),
        )
    if left.op is not SUM:
        x = region.cast(x, left.dtype)
    # kernels add as they would for the whole, and leave a total in float64 that is not rounded
    return (region.reduced(left.op, x, axes, left.dtype),)


class Extended:
    """A region with further ops, which begin with `value`, the one output that it had."""

    def __init__(self, region: Region) -> None:
        (self.value,) = region.outputs
        self._region = region
        self._ops = list(region.ops)

    def region(self, outputs: tuple[int, ...]) -> Region:
        """Return the region with other outputs."""
        return replace(self._region, ops=tuple(self._ops), outputs=outputs)

    def kind_of(self, value: int) -> tuple[Shape, DType]:
        """Return the shape and the dtype of a value."""
        first = len(self._region.inputs)
        if value < first:
            return self._region.inputs[value]
        return self._ops[value - first].shape, self._ops[value - first].dtype

    def add(
        self, op: Op, attrs: tuple[Any, ...], inputs: tuple[int, ...], shape: Shape, dtype: DType
    ) -> int:
        """Return the value of a further op."""
        self._ops.append(RegionOp(op, attrs, inputs, shape, dtype))
        return len(self._region.inputs) + len(self._ops) - 1

    def cast(self, value: int, dtype: DType) -> int:
        """Return a value in another dtype."""
        shape, own = self.kind_of(value)
        return value if own == dtype else self.add(find("cast"), (dtype,), (value,), shape, dtype)

    def reduced(self, op: Op, value: int, axes: tuple[int, ...], dtype: DType) -> int:
        """Return a value reduced; its axes stay, with one element."""
        shape = reduced(self.kind_of(value)[0], axes, keepdims=True)
        return self.add(op, (axes, True), (value,), shape, dtype)

    def moments(self, dtype: DType, axes: tuple[int, ...]) -> tuple[int, int]:
        """Return the sum of the elements, and that of the squares of their distances from their mean."""
        x = self.cast(self.value, dtype)
        shape = self.kind_of(x)[0]
        total = self.reduced(SUM, x, axes, dtype)
        kept = self.kind_of(total)[0]
        count = self.add(FULL, (prod([shape[axis] for axis in axes]),), (), (), dtype)
        mean = self.add(find("divide"), (), (total, count), kept, dtype)
        away = self.add(find("subtract"), (), (x, mean), shape, dtype)
        other = self.add(find("conj"), (), (away,), shape, dtype) if dtype in COMPLEX else away
        squares = self.add(find("multiply"), (), (away, other), shape, dtype)
        if dtype in COMPLEX:
            squares = self.add(find("real"), (), (squares,), shape, float64)
        return total, self.reduced(SUM, squares, axes, float64)


def alone(left: Sequence[tuple[Any, ...]]) -> Any:
    """Return the total of the one reduction that a block has left."""
    ((total,),) = left
    return total
