"""Order statistics: medians, quantiles and percentiles, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import FLOAT, float64, float_of, int64
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operands import converted, expanded, filled, operand, permuted, reshaped
from tensorframe.frontend.ordering.line_quantiles import (
    medians_of_lines,
    nan_medians_of_lines,
    nan_quantiles_of_lines,
    quantiles_of_lines,
)
from tensorframe.frontend.ordering.quantile_methods import METHODS, Method, MethodName, Shares
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, reduced
from tensorframe.ops.elementwise import EQUAL, ISNAN, MINIMUM, WHERE
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.reduction import ANY_TRUE, CUMULATIVE_SUM, SUM
from tensorframe.ops.sorting import ARGSORT

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Array = np.ndarray[Any, Any]
# what picks quantiles from lines
Pick = Callable[[Tensor, Shares, Method], Tensor]


@memoized
def median(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The middle element along `axis` (all axes for None), the mean of the middle two if their number is even.

    NaN if any element is NaN, or there are none; integers give the default real dtype. Elements are selected, not
    sorted.

    >>> tfr.median(tfr.asarray([3.0, 1.0, 2.0, 10.0])).item()
    2.5
    >>> tfr.median(tfr.asarray([[3.0, 1.0], [2.0, 4.0]]), axis=0).tolist()
    [2.5, 2.5]
    """
    del overwrite_input  # a hint of NumPy's, here and below: operands never change
    result = _or_nan("median", a, 0.5, axis, keepdims, "linear", medians_of_lines)
    return delivered("median", result, out)


@memoized
def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Tensor:
    """The middle element along `axis`, NaN apart; NaN where there is no other: see `median`.

    >>> tfr.nanmedian(tfr.asarray([3.0, math.nan, 1.0])).item()
    2.0
    >>> tfr.nanmedian(tfr.asarray([[3.0, math.nan, 1.0], [2.0, 4.0, 9.0]]), axis=1).tolist()
    [2.0, 4.0]
    """
    del overwrite_input
    result = _or_nan("nanmedian", a, 0.5, axis, keepdims, "linear", nan_medians_of_lines)
    return delivered("nanmedian", result, out)


@memoized
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    method: MethodName = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The values below which fractions `q` (0 to 1) of the elements along `axis` lie (all axes for None).

    The shape of `q` comes first in the result. `method` decides where a quantile lies between elements: "linear" is
    definition 7 of R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", American Statistician 50
    (1996); their definitions 1 to 6, 8 and 9 are "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased" and "normal_unbiased". "lower", "higher",
    "midpoint" and "nearest" choose from the two elements around definition 7. `weights`, which only "inverted_cdf"
    takes, have the shape of `a`, or are those of the one axis. Between a number and an infinity lies that infinity.
    NaN if any element is NaN; integers give the default real dtype. Elements are selected, not sorted.
    OutOfRangeError if `q` is not in [0, 1], ShapeError where there are no elements.

    >>> tfr.quantile(tfr.asarray([0.0, 1.0, 2.0, 3.0]), tfr.asarray([0.5, 1.0])).tolist()
    [1.5, 3.0]
    >>> tfr.quantile(tfr.asarray([[3.0, 1.0], [2.0, 4.0]]), tfr.asarray([0.0, 0.5]), axis=1).shape
    (2, 2)
    """
    del overwrite_input
    result = _asked("quantile", a, q, axis, keepdims, method, quantiles_of_lines, weights)
    return delivered("quantile", result, out)


@memoized
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    method: MethodName = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The quantiles of the elements that are not NaN; NaN where there are none: see `quantile`.

    >>> tfr.nanquantile(tfr.asarray([0.0, math.nan, 1.0]), 0.5).item()
    0.5
    >>> tfr.nanquantile(tfr.asarray([[0.0, math.nan], [2.0, 8.0]]), 0.5, axis=0).tolist()
    [1.0, 8.0]
    """
    del overwrite_input
    result = _asked("nanquantile", a, q, axis, keepdims, method, nan_quantiles_of_lines, weights)
    return delivered("nanquantile", result, out)


@memoized
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    method: MethodName = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The values below which `q` percent (0 to 100) of the elements lie: see `quantile`.

    >>> tfr.percentile(tfr.asarray([0.0, 1.0, 2.0, 3.0]), 50).item()
    1.5
    >>> tfr.percentile(tfr.asarray([[3.0, 1.0], [2.0, 4.0]]), 50, axis=0).tolist()
    [2.5, 2.5]
    """
    del overwrite_input
    shares = _hundredth("percentile", q)
    result = _asked("percentile", a, shares, axis, keepdims, method, quantiles_of_lines, weights)
    return delivered("percentile", result, out)


@memoized
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    overwrite_input: bool = False,
    method: MethodName = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The percentiles of the elements that are not NaN: see `quantile`.

    `q` runs from 0 to 100; where all elements are NaN the result is NaN.

    >>> tfr.nanpercentile(tfr.asarray([0.0, math.nan, 1.0]), 50).item()
    0.5
    >>> tfr.nanpercentile(tfr.asarray([[0.0, math.nan], [2.0, 8.0]]), [0, 100], axis=1).tolist()
    [[0.0, 2.0], [0.0, 8.0]]
    """
    del overwrite_input
    shares = _hundredth("nanpercentile", q)
    result = _asked(
        "nanpercentile", a, shares, axis, keepdims, method, nan_quantiles_of_lines, weights
    )
    return delivered("nanpercentile", result, out)


def _asked(
    name: str, a: Any, q: Any, axis: Axis, keepdims: bool, method: str, pick: Pick, weights: Any
) -> Tensor:
    if weights is None:
        # with NaN left out there may be nothing in a line, so that none at all is no error either
        search = _quantiles if pick is quantiles_of_lines else _or_nan
        return search(name, a, q, axis, keepdims, method, pick)
    choice(f"{name} with weights", "method", method, ("inverted_cdf",))
    return _weighted(
        name, operand(a), q, axis, keepdims, weights, leave_nan=pick is quantiles_of_lines
    )


def _weighted(
    name: str, a: Tensor, q: Any, axis: Axis, keepdims: bool, weights: Any, *, leave_nan: bool
) -> Tensor:
    """Return the first elements in order up to which a share of all weights lies."""
    axes = normalize_axes(name, axis, a.ndim)
    given = converted(operand(weights), float64)
    if given.shape != a.shape:
        shape = tuple(a.shape[along] if along in axes else 1 for along in range(a.ndim))
        if given.shape != tuple(a.shape[along] for along in axes):
            message = f"{name}: weights of shape {given.shape} for elements of shape {a.shape}"
            raise ShapeError(message, suggestions=("weights of the shape of the axis",))
        given = expanded(reshaped(given, shape), a.shape)
    lines, shares = _lines(a, axes), _lines(given, axes)
    if lines.shape[-1] == 0 and not leave_nan:
        return _or_nan(name, a, q, axis, keepdims, "linear", nan_quantiles_of_lines)
    if lines.shape[-1] == 0:
        raise ShapeError(f"{name}: no elements along the axes {axes} of shape {a.shape}")
    missing = apply(ISNAN, lines) if lines.dtype in FLOAT else None
    if missing is not None and not leave_nan:
        shares = apply(WHERE, missing, 0.0, shares)
    last = lines.ndim - 1
    order = call(ARGSORT, lines, attrs=(last, False, True))
    ordered = call(TAKE_ALONG_AXIS, lines, order, attrs=(last,))
    sums = call(CUMULATIVE_SUM, call(TAKE_ALONG_AXIS, shares, order, attrs=(last,)), attrs=(last,))
    sums = sums / part_of(sums, last, lines.shape[-1] - 1, 1)
    sums = apply(WHERE, apply(EQUAL, sums, 0.0), -1.0, sums)  # what weighs nothing is no quantile
    wanted = _shares(name, q)
    column: Any = converted(operand(wanted.reshape((-1, 1))), float64)
    below = converted(reshaped(sums, (*sums.shape[:-1], 1, sums.shape[-1])) < column, int64)
    places = call(SUM, below, attrs=((below.ndim - 1,), False))
    places = apply(MINIMUM, places, lines.shape[-1] - 1)
    values = call(TAKE_ALONG_AXIS, ordered, places, attrs=(last,))
    if missing is not None and leave_nan:
        any_missing = call(ANY_TRUE, missing, attrs=((last,), True))
        values = apply(WHERE, any_missing, math.nan, values)
    values = permuted(values, (values.ndim - 1, *range(values.ndim - 1)))
    return reshaped(values, wanted.shape + reduced(a.shape, axes, keepdims=keepdims))


def _hundredth(name: str, q: Any) -> Shares:
    return (q if isinstance(q, Tensor) else _numbers(name, q)) / 100


def _numbers(name: str, q: Any) -> Array:
    """Return real numbers in float64, in which 0.1 is nearer to a tenth than in the default dtype."""
    try:
        numbers = np.asarray(q)
    except ValueError as error:
        raise DTypeError(f"{name}: q is ragged: {error}") from error
    if numbers.dtype.kind not in "biuf" and numbers.size:
        raise DTypeError(f"{name}: q is made of real numbers, got {numbers.dtype}")
    return numbers.astype(float64)


def _quantiles(
    name: str, x: Any, q: Any, axis: Axis, keepdims: bool, method: str, pick: Pick
) -> Tensor:
    x = operand(x)
    axes = normalize_axes(name, axis, x.ndim)
    choice(name, "method", method, tuple(METHODS))
    lines = _lines(x, axes)
    if lines.shape[-1] == 0:
        raise ShapeError(f"{name}: no elements along the axes {axes} of shape {x.shape}")
    shares = _shares(name, q)
    values = pick(lines, shares.reshape(-1), METHODS[method])
    values = permuted(values, (values.ndim - 1, *range(values.ndim - 1)))
    return reshaped(values, shares.shape + reduced(x.shape, axes, keepdims=keepdims))


def _or_nan(
    name: str, x: Any, q: Any, axis: Axis, keepdims: bool, method: str, pick: Pick
) -> Tensor:
    """Return quantiles, NaN where there are no elements."""
    x = operand(x)
    axes = normalize_axes(name, axis, x.ndim)
    if all(x.shape[along] for along in axes):
        return _quantiles(name, x, q, axis, keepdims, method, pick)
    shape = _shares(name, q).shape + reduced(x.shape, axes, keepdims=keepdims)
    return filled(shape, math.nan, float_of(x.dtype), x.device)


def _shares(name: str, q: Any) -> Shares:
    if isinstance(q, Tensor):
        return converted(q, float64)
    shares = _numbers(name, q)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise OutOfRangeError(f"{name}: quantiles lie from 0 to 1, percentiles from 0 to 100")
    return shares


def _lines(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with `axes` moved last and flattened to one."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    count = math.prod(x.shape[axis] for axis in axes)
    return reshaped(permuted(x, [*kept, *axes]), (*shape, count))
