"""Sums of exponentials, with the maximum taken out first so that nothing overflows."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import at_full_precision, converted, operand, widened
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import normalize_axes
from tensorframe.ops.formulas import LOG_SOFTMAX, LOGSUMEXP, SOFTMAX

__all__ = ["log_softmax", "logsumexp", "softmax"]


def _recorded(op: Op, x: Any, axis: Axis, *attrs: Any) -> Tensor:
    """Return the row `op` of `x` along `axis`, computed in no less than float32."""
    tensor = at_full_precision(operand(x))
    dtype = tensor.dtype
    if dtype not in dtypes.FLOAT:
        raise DTypeError(
            f"{op.name}: takes real floating dtypes, got {dtype}",
            suggestions=("x.astype(tfr.float32) first",),
        )
    axes = normalize_axes(op.name, axis, tensor.ndim)
    return converted(call(op, widened(tensor), attrs=(axes, *attrs)), dtype)


def softmax(x: ArrayLike, /, axis: Axis = -1) -> Tensor:
    """Exponentials of `x` along `axis`, scaled to sum to one.

    Shape and dtype are those of `x` (real floating, else DTypeError). Stable: the maximum is subtracted first.
    -inf gives 0; NaN anywhere on the axis gives NaN on all of it, and so does an axis of -inf only, or an inf.

    >>> tfr.softmax(tfr.asarray([0.0, math.log(3.0)])).numpy()
    array([0.25, 0.75], dtype=float32)
    >>> tfr.softmax(tfr.asarray([[0.0, 5.0], [0.0, 5.0]]), axis=0).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return _recorded(SOFTMAX, x, axis)


def log_softmax(x: ArrayLike, /, axis: Axis = -1) -> Tensor:
    """Logarithm of `softmax`, accurate where softmax is nearly 0 or 1; arguments and special cases are the same.

    >>> tfr.log_softmax(tfr.asarray([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    >>> tfr.log_softmax(tfr.asarray([[0.0, 1000.0], [1000.0, 0.0]]), axis=0).tolist()
    [[-1000.0, 0.0], [0.0, -1000.0]]
    """
    return _recorded(LOG_SOFTMAX, x, axis)


def logsumexp(x: ArrayLike, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials along `axis` (None: of all), without overflow on the way.

    Real floating dtypes, else DTypeError. An axis of -inf only, or without elements, gives -inf; NaN gives NaN.

    >>> tfr.logsumexp(tfr.asarray([1000.0, 1000.0])).item() - 1000.0  # log(2), in float32
    0.69317626953125
    >>> tfr.logsumexp(tfr.asarray([[0.0, 1000.0], [-1000.0, 0.0]]), axis=1).tolist()
    [1000.0, 0.0]
    """
    return _recorded(LOGSUMEXP, x, axis, bool(keepdims))
