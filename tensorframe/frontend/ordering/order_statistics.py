"""Order statistics: medians, quantiles and percentiles, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import COMPLEX, FLOAT, NARROW, float32, float64, float_of, int64
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.memoization import remembered
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import (
    converted,
    expanded,
    filled,
    floating,
    operand,
    permuted,
    reshaped,
)
from tensorframe.frontend.ordering.quantile_methods import METHODS, Method, MethodName, Shares
from tensorframe.frontend.ordering.sorting import sort
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import choice
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.graph.shape import normalize_axes, reduced
from tensorframe.ops.elementwise import (
    EQUAL,
    FLOOR_DIVIDE,
    ISFINITE,
    ISNAN,
    LOGICAL_NOT,
    MAXIMUM,
    MINIMUM,
    WHERE,
)
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.movement import CONCAT
from tensorframe.ops.reduction import ANY_TRUE, CUMULATIVE_SUM, MAX, SUM
from tensorframe.ops.rules.ordering import is_selected
from tensorframe.ops.sorting import ARGSORT, PARTITION, SELECT

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Array = np.ndarray[Any, Any]
# what picks quantiles from lines
Pick = Callable[[Tensor, Shares, Method], Tensor]
# what makes one of the two elements on its sides, and the share of the upper one
Join = Callable[[Tensor, Tensor, Shares], Tensor]


@remembered
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
    result = _or_nan("median", a, 0.5, axis, keepdims, "linear", _whole_of_any)
    return delivered("median", result, out)


@remembered
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
    result = _or_nan("nanmedian", a, 0.5, axis, keepdims, "linear", _without_nan_of_any)
    return delivered("nanmedian", result, out)


@remembered
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
    result = _asked("quantile", a, q, axis, keepdims, method, _whole, weights)
    return delivered("quantile", result, out)


@remembered
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
    result = _asked("nanquantile", a, q, axis, keepdims, method, _without_nan, weights)
    return delivered("nanquantile", result, out)


@remembered
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
    result = _asked("percentile", a, shares, axis, keepdims, method, _whole, weights)
    return delivered("percentile", result, out)


@remembered
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
    result = _asked("nanpercentile", a, shares, axis, keepdims, method, _without_nan, weights)
    return delivered("nanpercentile", result, out)


def _asked(
    name: str, a: Any, q: Any, axis: Axis, keepdims: bool, method: str, pick: Pick, weights: Any
) -> Tensor:
    if weights is None:
        # with NaN left out there may be nothing in a line, so that none at all is no error either
        search = _quantiles if pick is _whole else _or_nan
        return search(name, a, q, axis, keepdims, method, pick)
    choice(f"{name} with weights", "method", method, ("inverted_cdf",))
    return _weighted(name, operand(a), q, axis, keepdims, weights, leave_nan=pick is _whole)


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
        return _or_nan(name, a, q, axis, keepdims, "linear", _without_nan)
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


def _between(low: Tensor, high: Tensor, weight: Shares) -> Tensor:
    """Interpolate from the nearer end, so that the result never leaves the interval.

    Where the distance is infinite, each end is weighed by itself: what lies between a number and an infinity, or
    between two equal ones, is that infinity.
    """
    if isinstance(weight, np.ndarray):
        if not weight.any():
            return low
        weight = weight.astype(low.dtype)
        if weight.shape == (1,):
            return _between_by_one(low, high, weight)
        weight = Tensor(data_node(weight, low.device))
    weight = converted(weight, low.dtype)
    rest = 1 - weight
    rise = high - low
    near = apply(WHERE, weight < 0.5, low + rise * weight, high - rise * rest)
    result = apply(WHERE, apply(ISFINITE, rise), near, low * rest + high * weight)
    return apply(WHERE, apply(EQUAL, weight, 0), low, result)


def _between_by_one(low: Tensor, high: Tensor, weight: Array) -> Tensor:
    """Return what `_between` does where there is one weight, which says now which end is the nearer one."""
    upper, lower = float(weight[0]), float((1 - weight)[0])
    if not upper:
        return low
    rise = high - low
    near = low + rise * upper if upper < 0.5 else high - rise * lower
    return apply(WHERE, apply(ISFINITE, rise), near, low * lower + high * upper)


def _middle(low: Tensor, high: Tensor, weight: Shares) -> Tensor:
    """Return the mean of two neighbours, rounded as NumPy's is, or the one that is in the middle."""
    if isinstance(weight, np.ndarray) and not weight.any():
        return low
    narrow = low.dtype in NARROW  # whose sum may be infinite
    first, second = (converted(end, float32) if narrow else end for end in (low, high))
    mean = converted(_halfway(first, second), low.dtype)
    if isinstance(weight, np.ndarray):
        return mean
    return apply(WHERE, apply(EQUAL, weight, 0), low, mean)


def _whole(lines: Tensor, shares: Shares, method: Method, join: Join = _between) -> Tensor:
    """Return quantiles of lines, NaN for those with NaN."""
    below, above, weight = method(shares, lines.shape[-1] - 1)
    selects = _selects(lines, 2 * shares.size)
    if isinstance(below, Tensor) or isinstance(above, Tensor) or selects:
        low, high = _selected(lines, below, above)
        last = call(MAX, lines, attrs=((lines.ndim - 1,), True))  # NaN if any element is
    else:
        ordered = _partitioned(lines, below, above)
        low, high = (_at(ordered, _places(bound)) for bound in (below, above))
        last = part_of(ordered, ordered.ndim - 1, lines.shape[-1] - 1, 1)  # NaN is the largest
    low, high = floating(low, high)
    between = join(low, high, weight)
    return apply(WHERE, apply(ISNAN, last), last, between) if lines.dtype in FLOAT else between


def _whole_of_any(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of lines of real numbers, or means of the middle ones of complex ones, which are sorted."""
    if lines.dtype not in COMPLEX:
        return _whole(lines, shares, method, _middle)
    ordered = sort(lines)
    size = lines.shape[-1]
    low, high = (
        part_of(ordered, lines.ndim - 1, place, 1) for place in ((size - 1) // 2, size // 2)
    )
    last = part_of(ordered, lines.ndim - 1, size - 1, 1)  # NaN counts as the largest
    return apply(WHERE, apply(ISNAN, last), last, _halfway(low, high))


def _without_nan_of_any(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of the real numbers that are not NaN, or the mean of the middle ones of complex ones."""
    if lines.dtype not in COMPLEX:
        return _without_nan(lines, shares, method, _middle)
    axis = lines.ndim - 1
    count, last = _present(lines)
    below, above = (apply(FLOOR_DIVIDE, number, 2) for number in (last, count))
    ordered = sort(lines)  # NaN comes last, and first where there is nothing else
    low, high = (call(TAKE_ALONG_AXIS, ordered, place, attrs=(axis,)) for place in (below, above))
    return _halfway(low, high)


def _halfway(low: Any, high: Any) -> Tensor:
    middle: Tensor = (low + high) / 2
    return middle


def _present(lines: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many elements of each line are not NaN, and the place of the last of them in order, 0 if none is."""
    present = converted(apply(LOGICAL_NOT, apply(ISNAN, lines)), int64)
    count = call(SUM, present, attrs=((lines.ndim - 1,), True))
    return count, apply(MAXIMUM, count - 1, 0)


def _partitioned(lines: Tensor, below: Array, above: Array) -> Tensor:
    """Return lines with the elements at some places, and the last, where sorting puts them, which takes longer."""
    places = {lines.shape[-1] - 1, *_places(below).tolist(), *_places(above).tolist()}
    return call(PARTITION, lines, attrs=(tuple(sorted(places)), lines.ndim - 1))


def _at(lines: Tensor, places: Array) -> Tensor:
    """Return the elements of lines at some places; of one place, as a view."""
    if places.shape == (1,):
        return part_of(lines, lines.ndim - 1, int(places[0]), 1)
    return getitem(lines, (..., places))


def _places(positions: Any) -> Any:
    return positions.astype(int64)


def _without_nan(lines: Tensor, shares: Shares, method: Method, join: Join = _between) -> Tensor:
    """Return quantiles of the elements that are not NaN, which counts as larger than these."""
    if lines.dtype not in FLOAT:
        return _whole(lines, shares, method, join)
    # lines of NaN alone have nothing to pick from: their first element, NaN, is the answer
    last = converted(_present(lines)[1], float64)
    below, above, weight = method(shares, last)
    low, high = _selected(lines, below, above)
    return join(low, high, weight)


def _selected(lines: Tensor, below: Any, above: Any) -> tuple[Tensor, Tensor]:
    """Return the elements that sorting would put at places, of which each line may have its own."""
    axis = lines.ndim - 1
    if isinstance(below, np.ndarray) and np.array_equal(below, above):
        only = call(SELECT, lines, _beside(lines, below))
        return only, only
    low, high = (_beside(lines, bound) for bound in (below, above))
    selected = call(SELECT, lines, call(CONCAT, low, high, attrs=(axis,)))
    count = low.shape[axis]
    return part_of(selected, axis, 0, count), part_of(selected, axis, count, count)


def _selects(lines: Tensor, count: int) -> bool:
    """Whether so many places are selected by kernels that leave a line as it is, where partitioning would sort it."""
    able = capabilities(lines.device)
    has_kernels = able.compiles and not able.host_memory and holds(lines.device, int64)
    return has_kernels and is_selected(lines.shape[-1], count)


def _beside(lines: Tensor, positions: Any) -> Tensor:
    """Return places in lines as a tensor beside them; one that is known is a number of a kernel."""
    places = _places(positions)
    shape = (*lines.shape[:-1], places.shape[-1])
    if isinstance(places, Tensor):
        return expanded(places, shape)
    if places.size == 1:
        return filled(shape, int(places[0]), int64, lines.device)
    return expanded(Tensor(data_node(places, lines.device)), shape)
