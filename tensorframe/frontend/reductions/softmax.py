"""Sums of exponentials, with the maximum taken out first so that nothing overflows."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.frontend.creation.convert import asarray
from tensorframe.frontend.dispatch import apply, unary
from tensorframe.frontend.operands import converted, reshaped
from tensorframe.frontend.reductions.elementary import Axis, along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, reduced
from tensorframe.ops.elementwise import EXP, ISFINITE, LOG, WHERE
from tensorframe.ops.reduction import MAX, SUM

__all__ = ["log_softmax", "logsumexp", "softmax"]

Axes = tuple[int, ...]


def _wide(name: str, x: Any) -> tuple[Tensor, DType]:
    """Return `x` in the dtype to compute in, and the dtype of the result."""
    tensor = asarray(x)
    if tensor.dtype not in dtypes.FLOAT:
        raise DTypeError(
            f"{name}: takes real floating dtypes, got {tensor.dtype}",
            suggestions=("x.astype(tfr.float32) first",),
        )
    return converted(tensor, dtypes.promote(tensor.dtype, dtypes.float32)), tensor.dtype


def _largest(x: Tensor, axes: Axes) -> Tensor:
    """Return the maximum along `axes` with these kept; of no elements, whatever broadcasts."""
    if 0 in [x.shape[at] for at in axes]:
        return along(SUM, x, axes, keepdims=True)
    return along(MAX, x, axes, keepdims=True)


def softmax(x: Any, /, axis: Axis = -1) -> Tensor:
    """Exponentials of `x` along `axis`, scaled to sum to one.

    Shape and dtype are those of `x` (real floating, else DTypeError). Stable: the maximum is subtracted first.
    -inf gives 0; NaN anywhere on the axis gives NaN on all of it, and so does an axis of -inf only, or an inf.

    >>> tfr.softmax(tfr.asarray([0.0, math.log(3.0)])).numpy()
    array([0.25, 0.75], dtype=float32)
    """
    wide, dtype = _wide("softmax", x)
    axes = normalize_axes("softmax", axis, wide.ndim)
    exponentials = unary(EXP, wide - _largest(wide, axes))
    return converted(exponentials / along(SUM, exponentials, axes, keepdims=True), dtype)


def log_softmax(x: Any, /, axis: Axis = -1) -> Tensor:
    """Logarithm of `softmax`, accurate where softmax is nearly 0 or 1; arguments and special cases are the same.

    >>> tfr.log_softmax(tfr.asarray([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """
    wide, dtype = _wide("log_softmax", x)
    axes = normalize_axes("log_softmax", axis, wide.ndim)
    shifted = wide - _largest(wide, axes)
    total = along(SUM, unary(EXP, shifted), axes, keepdims=True)
    return converted(shifted - unary(LOG, total), dtype)


def logsumexp(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials along `axis` (None: of all), without overflow on the way.

    Real floating dtypes, else DTypeError. An axis of -inf only, or without elements, gives -inf; NaN gives NaN.

    >>> tfr.logsumexp(tfr.asarray([1000.0, 1000.0])).item() - 1000.0  # log(2), in float32
    0.69317626953125
    """
    wide, dtype = _wide("logsumexp", x)
    axes = normalize_axes("logsumexp", axis, wide.ndim)
    largest = _largest(wide, axes)
    # inf - inf is NaN: an infinite maximum is not subtracted, exp gives the right 0 or inf by itself
    shift = apply(WHERE, apply(ISFINITE, largest), largest, 0.0)
    total = along(SUM, unary(EXP, wide - shift), axes, keepdims=True)
    result = converted(unary(LOG, total) + shift, dtype)
    return reshaped(result, reduced(wide.shape, axes, keepdims=keepdims))
