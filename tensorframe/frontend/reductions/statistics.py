"""Statistics: means, variances and standard deviations, accumulated wide enough to be accurate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import DType, DTypeLike
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import unary
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.operands import (
    at_full_precision,
    converted,
    expanded,
    operand,
    promoted,
    reshaped,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import number
from tensorframe.frontend.reductions.elementary import Axis, along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, reduced_axes
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


@memoized
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Tensor:
    """Arithmetic mean along `axis`: an axis, a tuple of axes, or None for all; NaN where there are no elements.

    The result has the dtype `dtype` if given, else that of `a`; integers give the default real dtype. float16 and
    bfloat16 accumulate in float32, wide integers in float64. `out` receives the result; elements where `where` is
    false are left out.

    >>> tfr.mean(tfr.asarray([[1.0, 2.0], [3.0, 6.0]]), axis=1).tolist()
    [1.5, 4.5]
    """
    tensor = at_full_precision(operand(a))
    result = dtypes.float_of(tensor.dtype if dtype is None else dtypes.as_dtype(dtype))
    work = working_dtype(tensor.dtype if dtype is None else result)
    axes = reduced_axes("mean", axis, tensor.ndim)
    tensor = converted(tensor, work)
    if where is True:
        average = along(MEAN, tensor, axes, keepdims)
    else:
        from tensorframe.frontend.reductions import selection  # few calls select

        average = selection.mean_where(tensor, axes, keepdims, where)
    return _delivered("mean", converted(average, result), out)


def _delivered(name: str, result: Tensor, out: Output) -> Tensor:
    return result if out is None else delivered(name, result, out)


def _variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: DTypeLike | None,
    keepdims: bool,
    *,
    ddof: float,
    where: Any,
    mean: Any,
    correction: float | None,
) -> tuple[Tensor, DType]:
    """Return the variance in its working dtype, and the dtype of the result."""
    tensor = at_full_precision(operand(a))
    own = dtypes.float_of(tensor.dtype if dtype is None else dtypes.as_dtype(dtype))
    axes = reduced_axes(name, axis, tensor.ndim)
    wide = converted(tensor, working_dtype(tensor.dtype if dtype is None else own))
    less = number(name, "correction", ddof if correction is None else correction)
    if where is True and mean is None:
        count = math.prod([tensor.shape[dimension] for dimension in axes])
        variance = along(VAR, wide, axes, keepdims, float(max(count - less, 0)))
    else:
        from tensorframe.frontend.reductions import selection  # as above

        variance = selection.variance_around(
            name, wide, axes, keepdims, correction=less, where=where, mean=mean
        )
    return variance, dtypes.real_of(own)


@memoized
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tensor:
    """Variance along `axis`: squared deviations from the mean, summed and divided by n - `ddof`.

    `ddof=1` gives the unbiased estimate from a sample; `correction` is the array standard's name for it. The result has
    the dtype `dtype` if given, else that of `a`, real where `a` is complex; integers give the default real dtype. Two
    passes over the elements: a large mean costs no accuracy. `out` receives the result; elements where `where` is
    false are left out; `mean` is the mean, with `keepdims=True`, where it is known already.

    >>> tfr.var(tfr.asarray([1.0, 2.0, 3.0, 4.0])).item()
    1.25
    >>> tfr.var(tfr.asarray([[1.0, 2.0], [3.0, 6.0]]), axis=0).tolist()
    [1.0, 4.0]
    """
    result = converted(
        *_variance(
            "var",
            a,
            axis,
            dtype,
            keepdims,
            ddof=ddof,
            where=where,
            mean=mean,
            correction=correction,
        )
    )
    return _delivered("var", result, out)


@memoized
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation along `axis`: the square root of `var`, with the same arguments and dtypes.

    >>> tfr.std(tfr.asarray([1.0, 3.0, 1.0, 3.0])).item()
    1.0
    >>> tfr.std(tfr.asarray([[1.0, 3.0], [1.0, 7.0]]), axis=1, keepdims=True).tolist()
    [[1.0], [3.0]]
    """
    variance, own = _variance(
        "std", a, axis, dtype, keepdims, ddof=ddof, where=where, mean=mean, correction=correction
    )
    return _delivered("std", converted(unary(ROOT, variance), own), out)


@memoized
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean along `axis`: the sum of `weights * x` divided by the sum of the weights.

    `weights` has the shape of `a`, or is 1-d along the one axis named. With `returned`, gives the pair of the
    average and the sum of weights. Weights that sum to zero give NaN or infinity.

    >>> tfr.average(tfr.asarray([1.0, 2.0, 6.0]), weights=tfr.asarray([1.0, 1.0, 2.0])).item()
    3.75
    >>> tfr.average(tfr.asarray([[3.0, 1.0], [2.0, 4.0]]), axis=1, weights=tfr.asarray([1.0, 3.0])).tolist()
    [1.5, 3.5]
    """
    values, shares = promoted(a, np.bool_(True) if weights is None else weights)
    dtype = dtypes.float_of(values.dtype)
    values, shares = (converted(tensor, working_dtype(tensor.dtype)) for tensor in (values, shares))
    axes = normalize_axes("average", axis, values.ndim)
    shares = _along(shares, values, axis)
    if not returned and weights is None:
        return mean(a, axis, keepdims=keepdims)
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
