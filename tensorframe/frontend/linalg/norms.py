"""Norms of vectors and matrices, as reductions and singular values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from tensorframe.dtypes import real_of
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.operands import (
    at_full_precision,
    converted,
    floating,
    need_axes,
    permuted,
    reshaped,
    widened,
)
from tensorframe.frontend.parameters import flag, integers, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import normalize_axes, normalize_axis
from tensorframe.ops.elementwise import ABS, NOT_EQUAL, POW
from tensorframe.ops.formulas import VECTOR_NORM
from tensorframe.ops.linalg import SVDVALS
from tensorframe.ops.reduction import MAX, MIN, SUM

__all__ = ["matrix_norm", "norm", "vector_norm"]

Axes = tuple[int, ...]
Order = float | Literal["fro", "nuc"] | None


@memoized
def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """Vector norms over `axis`, over all elements without one: (sum |x|^ord)^(1/ord).

    `inf` and `-inf` give the largest and smallest magnitude, 0 counts what is not zero. The result is real, of the
    precision of `x`; half precision is computed in float32. No elements have the norm 0, where that is a limit.

    >>> tfr.linalg.vector_norm(np.asarray([3.0, 4.0])).item()
    5.0
    >>> tfr.linalg.vector_norm(np.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1, keepdims=True).tolist()
    [[5.0], [10.0]]
    """
    x = at_full_precision(*floating(x))
    axes = normalize_axes("vector_norm", axis, x.ndim)
    dtype = real_of(x.dtype)
    wide = widened(x)
    return converted(_vector_norm(wide, axes, keepdims, ord), dtype)


def _vector_norm(x: Tensor, axes: Axes, keepdims: bool, ord: float) -> Tensor:
    if ord == 2:
        return _reduced(VECTOR_NORM, x, axes, keepdims)
    if ord == 0:
        nonzero = apply(NOT_EQUAL, x, 0)
        return _reduced(SUM, converted(nonzero, real_of(x.dtype)), axes, keepdims)
    magnitudes = apply(ABS, x)
    if ord == math.inf:
        return _largest(magnitudes, axes, keepdims)
    if ord == -math.inf:
        return _reduced(MIN, magnitudes, axes, keepdims)
    if ord == 1:
        return _reduced(SUM, magnitudes, axes, keepdims)
    ord = number("vector_norm", "ord", ord)
    powers = apply(POW, magnitudes, ord)
    return apply(POW, _reduced(SUM, powers, axes, keepdims), 1 / ord)


def _reduced(op: Op, x: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    return call(op, x, attrs=(axes, keepdims))


def _largest(magnitudes: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    """Return the largest of the magnitudes: 0 where there are none."""
    empty = any(magnitudes.shape[axis] == 0 for axis in axes)
    return _reduced(SUM if empty else MAX, magnitudes, axes, keepdims)


@memoized
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Tensor:
    """Norms of the matrices in the last two axes.

    `"fro"`: root of the sum of squared magnitudes; `"nuc"`: sum of the singular values; 2 and -2: the largest and
    smallest of them; 1 and -1: largest and smallest column sum of magnitudes; inf and -inf: the same by rows.

    >>> tfr.linalg.matrix_norm(np.asarray([[1.0, -2.0], [3.0, 4.0]]), ord=1).item()
    6.0
    """
    x = at_full_precision(*floating(x))
    need_axes("matrix_norm", x, 2)
    keepdims = flag("matrix_norm", "keepdims", keepdims)
    axes = (x.ndim - 2, x.ndim - 1)
    if ord in ("fro", None):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    dtype = real_of(x.dtype)
    wide = widened(x)
    if ord in ("nuc", 2, -2):
        result = _singular_norm(wide, ord)
    elif ord in (1, -1, math.inf, -math.inf):
        result = _sum_norm(wide, float(ord), axes)
    else:
        hint = "one of 'fro', 'nuc', 1, -1, 2, -2, inf, -inf"
        raise ArgumentError(
            f"matrix_norm: there is no matrix norm of order {ord!r}", suggestions=(hint,)
        )
    shape = x.shape[:-2] + ((1, 1) if keepdims else ())
    return converted(reshaped(result, shape), dtype)


def _singular_norm(x: Tensor, ord: Order) -> Tensor:
    values = call(SVDVALS, x)
    axes = (values.ndim - 1,)
    if ord == "nuc":
        return _reduced(SUM, values, axes, False)
    return _largest(values, axes, False) if ord == 2 else _reduced(MIN, values, axes, False)


def _sum_norm(x: Tensor, ord: float, axes: Axes) -> Tensor:
    rows, columns = axes
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _reduced(SUM, apply(ABS, x), (summed,), True)
    return (
        _largest(sums, (compared,), False) if ord > 0 else _reduced(MIN, sums, (compared,), False)
    )


@memoized
def norm(
    x: ArrayLike,
    ord: Order = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Tensor:
    """NumPy's norm: of vectors for one axis, of matrices for two, of all elements without `ord` and `axis`.

    >>> tfr.linalg.norm(np.asarray([[3.0, 0.0], [0.0, 4.0]])).item()
    5.0
    """
    (x,) = floating(x)
    if axis is None:
        if ord is None:
            return vector_norm(x, keepdims=keepdims)
        if x.ndim not in (1, 2):
            raise ShapeError(f"norm: which axes of shape {x.shape}?", suggestions=("axis=...",))
        axis = tuple(range(x.ndim))
    axes = integers("norm", "axis", axis)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ArgumentError(f"norm: there is no vector norm of order {ord!r}")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm: one axis for vectors or two for matrices, got {axes}")
    return _norm_of_axes(x, axes, ord, keepdims)


def _norm_of_axes(x: Tensor, axes: Axes, ord: Order, keepdims: bool) -> Tensor:
    normalize_axes("norm", axes, x.ndim)
    rows, columns = (normalize_axis("norm", axis, x.ndim) for axis in axes)
    rest = [axis for axis in range(x.ndim) if axis not in (rows, columns)]
    result = matrix_norm(permuted(x, [*rest, rows, columns]), ord=ord)
    if not keepdims:
        return result
    return reshaped(
        result,
        tuple(1 if dimension in (rows, columns) else n for dimension, n in enumerate(x.shape)),
    )
