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


def is_dot(region: Region, index: int) -> bool:
    """Whether the product that is op number `index` of a region has a single row, or a single column."""
    left, right = [region.shape_of(source) for source in region.ops[index].inputs]
    return has_one_row(left, right)


def has_one_row(left: Shape, right: Shape) -> bool:
    """Whether the product of factors of these shapes has a single row, or a single column, in each matrix."""
    if len(right) == 1 or right[-1] == 1:
        return True
    # along a stack that the right factor does not know, rows are rows of one matrix
    stack = (1,) * (len(left) - len(right)) + right[:-2]
    rows = prod(
        [size for size, other in zip(left[: len(stack)], stack, strict=False) if other == 1]
    )
    return len(left) == 1 or rows * left[-2] == 1


def summed(region: Region, index: int) -> Region:
    """Return a region whose op number `index`, a product, is a multiplication and a sum."""
    return _Summing(region).summed(index)


class _Summing(Rewriting):
    """A region in which a product is a multiplication and a sum."""

    def summed(self, index: int) -> Region:
        """Return the region."""
        now = list(range(len(self.inputs)))
        for number, op in enumerate(self.old.ops):
            inputs = [now[source] for source in op.inputs]
            old = len(self.inputs) + number
            now.append(self._product(op, inputs) if number == index else self.keep(old, inputs))
        return self.region([now[value] for value in self.old.outputs])

    def _product(self, op: RegionOp, inputs: Sequence[int]) -> int:
        left, right = [self.old.shape_of(source) for source in op.inputs]
        wide = wide_of(op.dtype)
        rows = left[:-1] or (1,)
        own, other = [self.old.dtype_of(source) for source in op.inputs]
        x = self._seen(inputs[0], (*rows, 1, left[-1]), own, wide)
        columns = inputs[1]
        if len(right) > 1:
            axes = (*range(len(right) - 2), len(right) - 1, len(right) - 2)
            turned = tuple([right[axis] for axis in axes])
            columns = self.add(PERMUTE, (axes,), (columns,), turned, other)
            right = (*turned[:-2], 1, *turned[-2:])
        y = self._seen(columns, right, other, wide)
        # a vector's axis of one row, or column, is not in the result
        whole = list(op.shape)
        if len(self.old.shape_of(op.inputs[1])) == 1:
            whole.append(1)
        if len(left) == 1:
            whole.insert(len(whole) - 1, 1)
        shape = (*whole, left[-1])
        multiply, add = (LOGICAL_AND, ANY_TRUE) if op.dtype in BOOL else (MULTIPLY, SUM)
        product = self.add(multiply, (), (x, y), shape, wide)
        total = self.add(add, ((len(shape) - 1,), False), (product,), tuple(whole), wide)
        if wide != op.dtype:
            total = self.add(CAST, (op.dtype,), (total,), tuple(whole), op.dtype)
        if tuple(whole) != op.shape:
            total = self.add(RESHAPE, (op.shape,), (total,), op.shape, op.dtype)
        return total

    def _seen(self, value: int, shape: Shape, dtype: DType, wide: DType) -> int:
        seen = self.add(RESHAPE, (shape,), (value,), shape, dtype)
        return seen if wide == dtype else self.add(CAST, (wide,), (seen,), shape, wide)
