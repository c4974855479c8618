"""Products with a vector as what they are: elements multiplied and summed, in the loops of any reduction.

A matrix is then read once, in the order of its memory, and by as many threads as its length is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from tensorframe.dtypes import BOOL, HALF, DType, float32
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.ops.elementwise import CAST, LOGICAL_AND, MULTIPLY
from tensorframe.ops.movement import PERMUTE, RESHAPE
from tensorframe.ops.reduction import ANY_TRUE, SUM


def is_dot(region: Region, at: int) -> bool:
    """Whether the product that is op number `at` of a region has a single row, or a single column."""
    left, right = [region.shape_of(source) for source in region.ops[at].inputs]
    if len(right) == 1 or right[-1] == 1:
        return True
    # along a stack that the right factor does not know, rows are rows of one matrix
    stack = (1,) * (len(left) - len(right)) + right[:-2]
    rows = prod(
        [size for size, other in zip(left[: len(stack)], stack, strict=False) if other == 1]
    )
    return len(left) == 1 or rows * left[-2] == 1


def summed(region: Region, at: int) -> Region:
    """Return a region whose op number `at`, a product, is a multiplication and a sum."""
    return _Summing(region, at).region()


class _Summing:
    """The region while it grows; `now` are the new numbers of the old values."""

    def __init__(self, region: Region, at: int) -> None:
        self._old = region
        self._ops: list[RegionOp] = []
        self._now = list(range(len(region.inputs)))
        for number, one in enumerate(region.ops):
            inputs = tuple([self._now[source] for source in one.inputs])
            if number == at:
                self._now.append(self._product(one, inputs))
            else:
                self._ops.append(replace(one, inputs=inputs))
                self._now.append(self._last())

    def region(self) -> Region:
        """Return the region."""
        outputs = tuple([self._now[value] for value in self._old.outputs])
        return Region(self._old.inputs, tuple(self._ops), outputs)

    def _last(self) -> int:
        return len(self._old.inputs) + len(self._ops) - 1

    def _add(
        self, op: Op, attrs: tuple[Any, ...], inputs: Sequence[int], shape: Shape, dtype: DType
    ) -> int:
        self._ops.append(RegionOp(op, attrs, tuple(inputs), shape, dtype))
        return self._last()

    def _product(self, one: RegionOp, inputs: tuple[int, ...]) -> int:
        left, right = [self._old.shape_of(source) for source in one.inputs]
        wide = float32 if one.dtype in HALF else one.dtype
        rows = left[:-1] or (1,)
        x = self._seen(inputs[0], (*rows, 1, left[-1]), one.dtype, wide)
        columns = inputs[1]
        if len(right) > 1:
            axes = (*range(len(right) - 2), len(right) - 1, len(right) - 2)
            turned = tuple([right[axis] for axis in axes])
            columns = self._add(PERMUTE, (axes,), (columns,), turned, one.dtype)
            right = (*turned[:-2], 1, *turned[-2:])
        y = self._seen(columns, right, one.dtype, wide)
        # a vector's axis of one row, or column, is not in the result
        whole = list(one.shape)
        if len(self._old.shape_of(one.inputs[1])) == 1:
            whole.append(1)
        if len(left) == 1:
            whole.insert(len(whole) - 1, 1)
        shape = (*whole, left[-1])
        multiply, add = (LOGICAL_AND, ANY_TRUE) if one.dtype in BOOL else (MULTIPLY, SUM)
        product = self._add(multiply, (), (x, y), shape, wide)
        total = self._add(add, ((len(shape) - 1,), False), (product,), tuple(whole), wide)
        if one.dtype in HALF:
            total = self._add(CAST, (one.dtype,), (total,), tuple(whole), one.dtype)
        if tuple(whole) != one.shape:
            total = self._add(RESHAPE, (one.shape,), (total,), one.shape, one.dtype)
        return total

    def _seen(self, value: int, shape: Shape, dtype: DType, wide: DType) -> int:
        seen = self._add(RESHAPE, (shape,), (value,), shape, dtype)
        return seen if wide == dtype else self._add(CAST, (wide,), (seen,), shape, wide)
