"""Diagonals of matrices as views, and their sums."""

from __future__ import annotations

from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.operands import accumulated, need_axes, operand, reshaped
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.movement import SLICE
from tensorframe.ops.reduction import SUM

__all__ = ["diagonal", "trace"]


@memoized
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Tensor:
    """Diagonals of the matrices in the last two axes, `offset` columns to the right of the main one.

    >>> tfr.linalg.diagonal(np.asarray([[1, 2], [3, 4]])).numpy()
    array([1, 4])
    """
    x = operand(x)
    need_axes("diagonal", x, 2)
    offset = integer("diagonal", "offset", offset)
    *stack, m, n = x.shape
    size = max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))
    start = (offset if offset >= 0 else -offset * n) if size else 0
    # in C order the elements of a diagonal are n + 1 apart
    flat = reshaped(x, (*stack, m * n))
    along = (0,) * len(stack)
    attrs = ((*along, start), (*stack, size), ((1,) * len(stack)) + (n + 1,))
    return call(SLICE, flat, attrs=attrs)


@memoized
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Sums of the diagonals; dtypes as for `sum`.

    The sum of the elements whose row and column differ by `offset`, for each matrix of the last two
    axes.

    >>> tfr.linalg.trace(np.asarray([[1, 2], [3, 4]])).item()
    5
    """
    total = accumulated(diagonal(x, offset=offset), dtype)
    return call(SUM, total, attrs=((total.ndim - 1,), False))
