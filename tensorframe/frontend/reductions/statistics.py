"""Statistics: means, variances and standard deviations, accumulated wide enough to be accurate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import ShapeError
from tensorframe.frontend.dispatch import unary
from tensorframe.frontend.operands import (
    at_full_precision,
    converted,
    expanded,
    operand,
    promoted,
    reshaped,
)
from tensorframe.frontend.parameters import number
from tensorframe.frontend.reductions.elementary import Axis, along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes
from tensorframe.ops.elementwise import ROOT
from tensorframe.ops.formulas import MEAN, VAR
from tensorframe.ops.reduction import SUM

__all__ = ["average", "mean", "std", "var"]


def working_dtype(dtype: DType) -> DType:
    """Return the dtype that averages of `dtype` are computed in.

    Half precision would overflow in the sum, and 32-bit and 64-bit integers do not fit a float32.
    """
    if dtype in dtypes.NARROW:
        return dtypes.wide_of(dtype)
    if dtype in dtypes.INTEGER and dtype.itemsize >= 4:
        return dtypes.float64
    return (
        dtype
        if dtype in dtypes.FLOATING
        else dtypes.promote(dtypes.float_of(dtype), dtypes.float32)
    )


def mean(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Arithmetic mean along `axis`: an axis, a tuple of axes, or None for all; NaN where there are no elements.

    The result has the dtype `dtype` if given, else that of `x`; integers give the default real dtype. float16 and
    bfloat16 accumulate in float32, wide integers in float64.

    >>> tfr.mean(tfr.asarray([[1.0, 2.0], [3.0, 6.0]]), axis=1).tolist()
    [1.5, 4.5]
    """
    tensor = at_full_precision(operand(x))
    result = dtypes.float_of(tensor.dtype if dtype is None else dtypes.as_dtype(dtype))
    work = working_dtype(tensor.dtype if dtype is None else result)
    axes = normalize_axes("mean", axis, tensor.ndim)
    return converted(along(MEAN, converted(tensor, work), axes, keepdims), result)


def _variance(
    name: str, x: Any, axis: Axis, correction: float, keepdims: bool
) -> tuple[Tensor, DType]:
    """Return the variance in its working dtype, and the dtype of the result."""
    tensor = at_full_precision(operand(x))
    axes = normalize_axes(name, axis, tensor.ndim)
    wide = converted(tensor, working_dtype(tensor.dtype))
    correction = number(name, "correction", correction)
    divisor = float(max(math.prod([tensor.shape[dimension] for dimension in axes]) - correction, 0))
    variance = along(VAR, wide, axes, keepdims, divisor)
    return variance, dtypes.real_of(dtypes.float_of(tensor.dtype))


def var(
    x: Any,
    /,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Tensor:
    """Variance along `axis`: squared deviations from the mean, summed and divided by n - `correction`.

    A correction of 1 gives the unbiased estimate from a sample; `ddof` is NumPy's name for it. The result has the
    dtype of `x`, real where `x` is complex; integers give the default real dtype. Two passes over the elements:
    a large mean costs no accuracy.

    >>> tfr.var(tfr.asarray([1.0, 2.0, 3.0, 4.0])).item()
    1.25
    """
    return converted(*_variance("var", x, axis, correction if ddof is None else ddof, keepdims))


def std(
    x: Any,
    /,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    ddof: float | None = None,
) -> Tensor:
    """Standard deviation along `axis`: the square root of `var`, with the same arguments and dtypes.

    >>> tfr.std(tfr.asarray([1.0, 3.0, 1.0, 3.0])).item()
    1.0
    """
    correction = correction if ddof is None else ddof
    variance, dtype = _variance("std", x, axis, correction, keepdims)
    return converted(unary(ROOT, variance), dtype)


def average(
    x: Any,
    /,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean along `axis`: the sum of `weights * x` divided by the sum of the weights.

    `weights` has the shape of `x`, or is 1-d along the one axis named. With `returned`, gives the pair of the
    average and the sum of weights. Weights that sum to zero give NaN or infinity.

    >>> tfr.average(tfr.asarray([1.0, 2.0, 6.0]), weights=tfr.asarray([1.0, 1.0, 2.0])).item()
    3.75
    """
    values, shares = promoted(x, np.bool_(True) if weights is None else weights)
    dtype = dtypes.float_of(values.dtype)
    values, shares = (converted(tensor, working_dtype(tensor.dtype)) for tensor in (values, shares))
    axes = normalize_axes("average", axis, values.ndim)
    shares = _along(shares, values, axis)
    if not returned and weights is None:
        return mean(x, axis, keepdims=keepdims)
    total = along(SUM, expanded(shares, values.shape), axes, keepdims)
    result = converted(along(SUM, values * shares, axes, keepdims) / total, dtype)
    return (result, converted(total, dtype)) if returned else result


def _along(weights: Tensor, values: Tensor, axis: Axis) -> Tensor:
    """Return the weights in a shape that lines up with `values`."""
    if weights.shape in ((), values.shape):
        return weights
    axes = normalize_axes("average", axis, values.ndim)
    if axis is None or tuple(values.shape[dimension] for dimension in axes) != weights.shape:
        raise ShapeError(
            f"average: weights of shape {weights.shape} fit neither the shape {values.shape} nor the axis {axis}",
            suggestions=("name the axis that the weights belong to",),
        )
    shape = tuple(size if dimension in axes else 1 for dimension, size in enumerate(values.shape))
    return reshaped(weights, shape)
