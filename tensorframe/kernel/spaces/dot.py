"""Products with a vector as what they are: elements multiplied and summed, in the loops of any reduction.

A matrix is then read once, in the order of its memory, and by as many threads as its length is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import BOOL, DType, wide_of
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.kernel.spaces.rewriting import Rewriting
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
    return _Summing(region).summed(at)


class _Summing(Rewriting):
    """A region in which a product is a multiplication and a sum."""

    def summed(self, at: int) -> Region:
        """Return the region."""
        now = list(range(len(self.inputs)))
        for number, one in enumerate(self.old.ops):
            inputs = [now[source] for source in one.inputs]
            old = len(self.inputs) + number
            now.append(self._product(one, inputs) if number == at else self.keep(old, inputs))
        return self.region([now[value] for value in self.old.outputs])

    def _product(self, one: RegionOp, inputs: Sequence[int]) -> int:
        left, right = [self.old.shape_of(source) for source in one.inputs]
        wide = wide_of(one.dtype)
        rows = left[:-1] or (1,)
        x = self._seen(inputs[0], (*rows, 1, left[-1]), one.dtype, wide)
        columns = inputs[1]
        if len(right) > 1:
            axes = (*range(len(right) - 2), len(right) - 1, len(right) - 2)
            turned = tuple([right[axis] for axis in axes])
            columns = self.add(PERMUTE, (axes,), (columns,), turned, one.dtype)
            right = (*turned[:-2], 1, *turned[-2:])
        y = self._seen(columns, right, one.dtype, wide)
        # a vector's axis of one row, or column, is not in the result
        whole = list(one.shape)
        if len(self.old.shape_of(one.inputs[1])) == 1:
            whole.append(1)
        if len(left) == 1:
            whole.insert(len(whole) - 1, 1)
        shape = (*whole, left[-1])
        multiply, add = (LOGICAL_AND, ANY_TRUE) if one.dtype in BOOL else (MULTIPLY, SUM)
        product = self.add(multiply, (), (x, y), shape, wide)
        total = self.add(add, ((len(shape) - 1,), False), (product,), tuple(whole), wide)
        if wide != one.dtype:
            total = self.add(CAST, (one.dtype,), (total,), tuple(whole), one.dtype)
        if tuple(whole) != one.shape:
            total = self.add(RESHAPE, (one.shape,), (total,), one.shape, one.dtype)
        return total

    def _seen(self, value: int, shape: Shape, dtype: DType, wide: DType) -> int:
        seen = self.add(RESHAPE, (shape,), (value,), shape, dtype)
        return seen if wide == dtype else self.add(CAST, (wide,), (seen,), shape, wide)
