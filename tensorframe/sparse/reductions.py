"""Sums, means and extremes over the axes of matrices, in which elements that are not stored count as zeros."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorframe.errors import AxisError, DTypeError, ShapeError
from tensorframe.frontend.creation.filled import ones
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.indexing.segments import segment_max, segment_min
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.operands import accumulated, expanded, filled, reshaped
from tensorframe.frontend.reductions.elementary import max as largest
from tensorframe.frontend.reductions.elementary import min as smallest
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.elementwise import MAXIMUM, MINIMUM
from tensorframe.sparse.tensor import SparseTensor


class Reducible(SparseTensor):
    """The reductions."""

    __slots__ = ()

    def sum(self, axis: int | None = None) -> Tensor:
        """Return the sum of all elements, or of those along one of the last two axes: a dense tensor.

        The dtype is that of `tfr.sum`. Sums along an axis are products with ones.

        >>> A = tfr.sparse.csr_array([[0, 2], [3, 4]])
        >>> A.sum().item(), A.sum(axis=0).tolist(), A.sum(axis=1).tolist()
        (9, [3, 6], [2, 7])
        """
        if axis is None:
            return total(self.data)
        axis = _of_matrices("sum", self, axis)
        whole = self.with_data(accumulated(self.data, None))
        size = self.shape[axis]
        vector = ones(size, dtype=whole.dtype, device=self.device)
        if axis == -1:
            product: Tensor = whole @ vector
        else:
            product = vector @ whole
        return product

    def mean(self, axis: int | None = None) -> Tensor:
        """Return the mean of all elements, or of those along one of the last two axes: a dense tensor.

        >>> tfr.sparse.csr_array([[0.0, 2.0], [3.0, 4.0]]).mean(axis=0).tolist()
        [1.5, 3.0]
        """
        if axis is None:
            return self.sum() / self.size
        return self.sum(axis) / self.shape[_of_matrices("mean", self, axis)]

    def max(self, axis: int | None = None) -> Tensor:
        """Return the largest of all elements, or of those along one of the last two axes: a dense tensor.

        Elements of one place are added up before. ShapeError if there is nothing to take the largest of.

        >>> tfr.sparse.csr_array([[0.0, -2.0], [3.0, -4.0]]).max(axis=1).tolist()
        [0.0, 3.0]
        """
        return self._extreme("max", MAXIMUM, axis)

    def min(self, axis: int | None = None) -> Tensor:
        """Return the smallest of all elements, or of those along an axis, as `max` does.

        >>> tfr.sparse.csr_array([[0.0, 2.0], [3.0, -4.0]]).min(axis=0).tolist()
        [0.0, -4.0]
        """
        return self._extreme("min", MINIMUM, axis)

    def _extreme(self, name: str, op: Op, axis: int | None) -> Tensor:
        if self.dtype.kind == "c":
            raise DTypeError(f"{name}: takes real dtypes, got {self.dtype}")
        whole = self.coalesce()
        if axis is None:
            if not self.size:
                raise ShapeError(f"{name}: a sparse tensor of shape {self.shape} has no elements")
            data = whole.data
            if whole.nnz < self.size:
                data = concat([data, filled((1,), 0, data.dtype, data.device)])
            return largest(data) if op is MAXIMUM else smallest(data)
        axis = _of_matrices(name, self, axis)
        if not self.shape[axis]:
            raise ShapeError(f"{name}: axis {axis} of shape {self.shape} has no elements")
        lines = whole.tocsr() if axis == -1 else whole.tocsc()
        return _of_lines(op, lines)


def _of_lines(op: Op, lines: Any) -> Tensor:
    """Return extremes of compressed lines, whose elements are stored once each."""
    stack = lines.shape[:-2]
    count = prod(stack) * lines.line_count
    shape = (*stack, lines.line_count)
    zero = filled((), 0, lines.dtype, lines.device)
    if not lines.nnz:
        return expanded(zero, shape)
    combine = segment_max if op is MAXIMUM else segment_min
    extremes = combine(lines.data, lines._line_numbers(), count)
    stored = lines.indptr[1:] - lines.indptr[:-1]
    full = where(stored >= lines.line_length, extremes, apply(op, extremes, zero))
    return reshaped(full, shape)


def _of_matrices(name: str, tensor: SparseTensor, axis: int) -> int:
    """Return one of the last two axes, counted from the end; AxisError for another one."""
    counted = normalize_axis(name, axis, tensor.ndim) - tensor.ndim
    if counted < -2:
        raise AxisError(
            f"{name}: axis {axis} counts the matrices of a stack of shape {tensor.shape}",
            suggestions=("axis=-1 or axis=-2", f"A.todense().{name}(axis={axis})"),
        )
    return counted
