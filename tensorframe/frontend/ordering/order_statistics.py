"""Order statistics: medians, quantiles and percentiles, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.dtypes import FLOAT, float64, float_of, int64
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.dispatch import apply, call, data_node
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operands import (
    converted,
    expanded,
    filled,
    floating,
    operand,
    permuted,
    reshaped,
)
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, reduced
from tensorframe.ops.elementwise import EQUAL, ISFINITE, ISNAN, LOGICAL_NOT, MAXIMUM, WHERE
from tensorframe.ops.movement import CONCAT
from tensorframe.ops.reduction import MAX, SUM
from tensorframe.ops.sorting import PARTITION, SELECT

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Array = np.ndarray[Any, Any]
# numbers: an array where they are known, a Tensor where they are recorded
Shares = Array | Tensor
# the positions below and above a position among sorted elements, which is a real number, and the weight of the latter
Neighbours = tuple[Shares, Shares, Shares]
Method = Callable[[Shares], Neighbours]
Pick = Callable[[Tensor, Shares, Method], Tensor]


def median(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis` (all axes for None), the mean of the middle two if their number is even.

    NaN if any element is NaN, or there are none; integers give the default real dtype. Elements are selected, not
    sorted.

    >>> tfr.median(tfr.asarray([3.0, 1.0, 2.0, 10.0])).item()
    2.5
    """
    return _or_nan("median", x, 0.5, axis, keepdims, "linear", _whole)


def nanmedian(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The middle element along `axis`, NaN apart; NaN where there is no other: see `median`.

    >>> tfr.nanmedian(tfr.asarray([3.0, math.nan, 1.0])).item()
    2.0
    """
    return _or_nan("nanmedian", x, 0.5, axis, keepdims, "linear", _without_nan)


def quantile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The values below which fractions `q` (0 to 1) of the elements along `axis` lie (all axes for None).

    The shape of `q` comes first in the result. Between two elements, `method` decides: "linear" interpolates
    (definition 7 of Hyndman and Fan, 1996), others are "lower", "higher", "midpoint" and "nearest". Between a number
    and an infinity lies that infinity. NaN if any element is NaN; integers give the default real dtype. Elements are
    selected, not sorted. OutOfRangeError if `q` is not in [0, 1], ShapeError where there are no elements.

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
    return _or_nan("nanquantile", x, q, axis, keepdims, method, _without_nan)


def percentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The values below which `q` percent (0 to 100) of the elements lie: see `quantile`.

    >>> tfr.percentile(tfr.asarray([0.0, 1.0, 2.0, 3.0]), 50).item()
    1.5
    """
    return _quantiles("percentile", x, _hundredth("percentile", q), axis, keepdims, method, _whole)


def nanpercentile(
    x: Any, /, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The percentiles of the elements that are not NaN: see `quantile`.

    >>> tfr.nanpercentile(tfr.asarray([0.0, math.nan, 1.0]), 50).item()
    0.5
    """
    shares = _hundredth("nanpercentile", q)
    return _or_nan("nanpercentile", x, shares, axis, keepdims, method, _without_nan)


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


def _linear(position: Shares) -> Neighbours:
    below = np.floor(position)
    return below, np.ceil(position), position - below


def _midpoint(position: Shares) -> Neighbours:
    below, above = np.floor(position), np.ceil(position)
    return below, above, (above - below) * 0.5


def _rounded(rounding: Callable[[Any], Any]) -> Method:
    def method(position: Shares) -> Neighbours:
        only = rounding(position)
        return only, only, position * 0.0

    return method


# these are NumPy's functions, which record where they meet a Tensor
METHODS: dict[str, Method] = {
    "linear": _linear,
    "lower": _rounded(np.floor),
    "higher": _rounded(np.ceil),
    "midpoint": _midpoint,
    "nearest": _rounded(np.rint),
}


def _whole(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of lines, NaN for those with NaN."""
    below, above, weight = method(shares * (lines.shape[-1] - 1))
    if isinstance(below, Tensor) or isinstance(above, Tensor):
        shape = (*lines.shape[:-1], shares.size)
        low, high = _selected(lines, *(expanded(_places(bound), shape) for bound in (below, above)))
        last = call(MAX, lines, attrs=((lines.ndim - 1,), True))  # NaN if any element is
    else:
        ordered = _partitioned(lines, below, above)
        low, high = (getitem(ordered, (..., _places(bound))) for bound in (below, above))
        last = getitem(ordered, (..., slice(-1, None)))  # NaN counts as the largest
    low, high = floating(low, high)
    between = _between(low, high, weight)
    return apply(WHERE, apply(ISNAN, last), last, between) if lines.dtype in FLOAT else between


def _partitioned(lines: Tensor, below: Array, above: Array) -> Tensor:
    """Return lines with the elements at some places, and the last, where sorting puts them, which takes longer."""
    places = {lines.shape[-1] - 1, *_places(below).tolist(), *_places(above).tolist()}
    return call(PARTITION, lines, attrs=(tuple(sorted(places)), lines.ndim - 1))


def _places(positions: Any) -> Any:
    return positions.astype(int64)


def _without_nan(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of the elements that are not NaN, which counts as larger than these."""
    if lines.dtype not in FLOAT:
        return _whole(lines, shares, method)
    present = converted(apply(LOGICAL_NOT, apply(ISNAN, lines)), int64)
    count = call(SUM, present, attrs=((lines.ndim - 1,), True))
    # lines of NaN alone have nothing to pick from: their first element, NaN, is the answer
    last = converted(apply(MAXIMUM, count - 1, 0), float64)
    below, above, weight = method(shares * last)
    low, high = _selected(lines, _places(below), _places(above))
    return _between(low, high, weight)


def _selected(lines: Tensor, below: Tensor, above: Tensor) -> tuple[Tensor, Tensor]:
    """Return the elements that sorting would put at places that only the plan's run knows."""
    axis, count = lines.ndim - 1, below.shape[-1]
    places = call(CONCAT, below, above, attrs=(axis,))
    selected = call(SELECT, lines, places)
    return part_of(selected, axis, 0, count), part_of(selected, axis, count, count)


def _between(low: Tensor, high: Tensor, weight: Shares) -> Tensor:
    """Interpolate from the nearer end, so that the result never leaves the interval.

    Where the distance is infinite, each end is weighed by itself: what lies between a number and an infinity, or
    between two equal ones, is that infinity.
    """
    if isinstance(weight, np.ndarray):
        if not weight.any():
            return low
        weight = Tensor(data_node(weight.astype(low.dtype), low.device))
    weight = converted(weight, low.dtype)
    rest = 1 - weight
    rise = high - low
    near = apply(WHERE, weight < 0.5, low + rise * weight, high - rise * rest)
    result = apply(WHERE, apply(ISFINITE, rise), near, low * rest + high * weight)
    return apply(WHERE, apply(EQUAL, weight, 0), low, result)
