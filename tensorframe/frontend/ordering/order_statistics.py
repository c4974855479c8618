"""Order statistics: medians, quantiles and percentiles, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import float64, int64
from tensorframe.errors import ArgumentError, OutOfRangeError, ShapeError
from tensorframe.frontend.dispatch import apply, call, data_node
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.operands import converted, floating, permuted, reshaped
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, reduced
from tensorframe.ops.elementwise import (
    CEIL,
    EQUAL,
    FLOOR,
    ISNAN,
    LOGICAL_NOT,
    LOGICAL_OR,
    MAXIMUM,
    ROUND,
    WHERE,
)
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.reduction import SUM
from tensorframe.ops.sorting import SORT

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]


def median(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis` (all axes for None), the mean of the middle two if their number is even.

    NaN if any element is NaN; integers give the default real dtype. ShapeError where there are no elements.

    >>> tfr.median(tfr.asarray([3.0, 1.0, 2.0, 10.0])).item()
    2.5
    """
    return _quantiles("median", x, 0.5, axis, keepdims, "linear", _whole)


def nanmedian(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis`, NaN apart; NaN where there is no other: see `median`.

    >>> tfr.nanmedian(tfr.asarray([3.0, math.nan, 1.0])).item()
    2.0
    """
    return _quantiles("nanmedian", x, 0.5, axis, keepdims, "linear", _without_nan)


def quantile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The values below which the shares `q` (0 to 1) of the elements along `axis` lie (all axes for None).

    The shape of `q` comes first in the result. Between two elements, `method` decides: "linear" interpolates
    (definition 7 of Hyndman and Fan, 1996), others are "lower", "higher", "midpoint" and "nearest". NaN if any
    element is NaN; integers give the default real dtype. OutOfRangeError if a share is not one.

    >>> tfr.quantile(tfr.asarray([0.0, 1.0, 2.0, 3.0]), tfr.asarray([0.5, 1.0])).tolist()
    [1.5, 3.0]
    """
    return _quantiles("quantile", x, q, axis, keepdims, method, _whole)


def nanquantile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The quantiles of the elements that are not NaN; NaN where there are none: see `quantile`.

    >>> tfr.nanquantile(tfr.asarray([0.0, math.nan, 1.0]), 0.5).item()
    0.5
    """
    return _quantiles("nanquantile", x, q, axis, keepdims, method, _without_nan)


def percentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The values below which `q` percent (0 to 100) of the elements lie: see `quantile`.

    >>> tfr.percentile(tfr.asarray([0.0, 1.0, 2.0, 3.0]), 50).item()
    1.5
    """
    return _quantiles("percentile", x, _hundredth(q), axis, keepdims, method, _whole)


def nanpercentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The percentiles of the elements that are not NaN: see `quantile`.

    >>> tfr.nanpercentile(tfr.asarray([0.0, math.nan, 1.0]), 50).item()
    0.5
    """
    return _quantiles("nanpercentile", x, _hundredth(q), axis, keepdims, method, _without_nan)


def _hundredth(q: Any) -> Any:
    return q / 100 if isinstance(q, Tensor) else np.asarray(q) / 100


def _quantiles(
    name: str,
    x: Any,
    q: Any,
    axis: Axis,
    keepdims: bool,
    method: str,
    pick: Callable[[Tensor, Tensor, Method], Tensor],
) -> Tensor:
    (x,) = floating(x)
    axes = normalize_axes(name, axis, x.ndim)
    shares = _shares(name, q, x)
    if method not in METHODS:
        raise ArgumentError(f"{name}: method is one of {', '.join(METHODS)}, got {method!r}")
    lines = _lines(x, axes)
    if lines.shape[-1] == 0:
        raise ShapeError(f"{name}: no elements along the axes {axes} of shape {x.shape}")
    ordered = call(SORT, lines, attrs=(lines.ndim - 1, False))
    found = pick(ordered, reshaped(shares, (shares.size,)), METHODS[method])
    found = permuted(found, (found.ndim - 1, *range(found.ndim - 1)))
    return reshaped(found, shares.shape + reduced(x.shape, axes, keepdims=keepdims))


def _shares(name: str, q: Any, x: Tensor) -> Tensor:
    if isinstance(q, Tensor):
        return converted(q, float64)
    shares = np.array(q, float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise OutOfRangeError(f"{name}: quantiles lie from 0 to 1, percentiles from 0 to 100")
    return Tensor(data_node(shares, x.device))


def _lines(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with `axes` moved last and flattened to one."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    count = math.prod(x.shape[axis] for axis in axes)
    return reshaped(permuted(x, [*kept, *axes]), (*shape, count))


# position among the sorted elements, as a real number -> (the one below, the one above, the weight of the latter)
Method = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]


def _linear(position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    below = apply(FLOOR, position)
    return below, apply(CEIL, position), position - below


def _midpoint(position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    below, above = apply(FLOOR, position), apply(CEIL, position)
    return below, above, (above - below) * 0.5


def _rounded(rounding: Any) -> Method:
    def method(position: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        only = apply(rounding, position)
        return only, only, position * 0.0

    return method


METHODS: dict[str, Method] = {
    "linear": _linear,
    "lower": _rounded(FLOOR),
    "higher": _rounded(CEIL),
    "midpoint": _midpoint,
    "nearest": _rounded(ROUND),
}


def _whole(ordered: Tensor, shares: Tensor, method: Method) -> Tensor:
    """Return quantiles of sorted lines; NaN is sorted last, so the last element tells of one."""
    below, above, weight = method(shares * (ordered.shape[-1] - 1))
    low = getitem(ordered, (..., converted(below, int64)))
    high = getitem(ordered, (..., converted(above, int64)))
    last = getitem(ordered, (..., slice(-1, None)))
    return apply(WHERE, apply(ISNAN, last), last, _between(low, high, weight))


def _without_nan(ordered: Tensor, shares: Tensor, method: Method) -> Tensor:
    """Return quantiles of the leading elements of sorted lines, up to the first NaN."""
    present = converted(apply(LOGICAL_NOT, apply(ISNAN, ordered)), int64)
    line = ordered.ndim - 1
    count = call(SUM, present, attrs=((line,), True))
    # lines of NaN alone have nothing to pick from: their first element, NaN, is the answer
    last = converted(apply(MAXIMUM, count - 1, 0), float64)
    below, above, weight = method(shares * last)
    low = call(TAKE_ALONG_AXIS, ordered, converted(below, int64), attrs=(line,))
    high = call(TAKE_ALONG_AXIS, ordered, converted(above, int64), attrs=(line,))
    return _between(low, high, weight)


def _between(low: Tensor, high: Tensor, weight: Tensor) -> Tensor:
    """Interpolate from the nearer end, so that the result never leaves the interval; equal infinities stay."""
    weight = converted(weight, low.dtype)
    rise = high - low
    nearer_low = low + rise * weight
    nearer_high = high - rise * (1 - weight)
    result = apply(WHERE, weight < 0.5, nearer_low, nearer_high)
    settled = apply(LOGICAL_OR, apply(EQUAL, weight, 0), apply(EQUAL, low, high))
    return apply(WHERE, settled, low, result)
