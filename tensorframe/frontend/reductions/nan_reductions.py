"""Reductions that leave NaN elements out: each NaN becomes what changes nothing, then the ordinary reduction runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import DTypeLike
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.operands import converted, operand, widened
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import number
from tensorframe.frontend.reductions import elementary as reductions
from tensorframe.frontend.reductions import scans, statistics
from tensorframe.frontend.reductions.elementary import Axis, reduced_by
from tensorframe.frontend.reductions.selection import without
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import reduced_axes
from tensorframe.ops.elementwise import CONJ, ISNAN, REAL_PART, SQRT, WHERE
from tensorframe.ops.formulas import NANMAX, NANMIN
from tensorframe.ops.reduction import SUM

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _filled(x: Any, value: complex) -> Tensor:
    """Return `x` with `value` in the place of NaN."""
    tensor = operand(x)
    if tensor.dtype not in dtypes.FLOATING:
        return tensor
    return apply(WHERE, apply(ISNAN, tensor), value, tensor)


def _as(x: Any, dtype: DTypeLike | None) -> Tensor:
    """Return `x` in the dtype to compute in, if one is said."""
    tensor = operand(x)
    return tensor if dtype is None else converted(tensor, dtypes.as_dtype(dtype))


@memoized
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Sum along `axis` of the elements that are not NaN; 0 where there are none. Dtypes as for `sum`.

    >>> tfr.nansum(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    3.0
    >>> tfr.nansum(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=0).tolist()
    [4.0, 5.0]
    """
    return reductions.sum(_filled(a, 0), axis, dtype, out, keepdims, initial, where)


@memoized
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Product along `axis` of the elements that are not NaN; 1 where there are none. Dtypes as for `sum`.

    >>> tfr.nanprod(tfr.asarray([3.0, tfr.nan, 2.0])).item()
    6.0
    >>> tfr.nanprod(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1).tolist()
    [1.0, 15.0]
    """
    return reductions.prod(_filled(a, 1), axis, dtype, out, keepdims, initial, where)


@memoized
def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None
) -> Tensor:
    """Sums of the elements that are not NaN up to each position; None runs through all elements in C order.

    >>> tfr.nancumsum(tfr.asarray([1.0, tfr.nan, 2.0])).tolist()
    [1.0, 1.0, 3.0]
    >>> tfr.nancumsum(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=0).tolist()
    [[1.0, 0.0], [4.0, 5.0]]
    """
    return scans.cumsum(_filled(a, 0), axis, dtype, out)


def _extreme(
    row: Op, plain: Callable[..., Tensor], x: Any, axis: Axis, keepdims: bool, **options: Any
) -> Tensor:
    """Return the reduction `row`, or the `plain` one where no element can be NaN, or a value replaces NaN."""
    tensor = operand(x)
    if tensor.dtype not in dtypes.FLOATING:
        return plain(tensor, axis, keepdims=keepdims, **options)
    first = options["initial"]
    if first is not None or options["where"] is not True:
        tensor = tensor if first is None else _filled(tensor, first)
        return plain(tensor, axis, keepdims=keepdims, **options)
    if tensor.dtype in dtypes.COMPLEX:
        return delivered(row.name, _complex_extreme(plain, tensor, axis, keepdims), options["out"])
    # of half precision in float32: what is chosen is the same
    wide = tensor if tensor.dtype in row.accepts else widened(tensor)
    result = converted(reduced_by(row, wide, axis, keepdims), tensor.dtype)
    return delivered(row.name, result, options["out"])


def _complex_extreme(plain: Callable[..., Tensor], x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Return the extreme complex number of those that are not NaN; NaN where all are."""
    beyond = -math.inf if plain is reductions.max else math.inf
    chosen = plain(_filled(x, complex(beyond, beyond)), axis, keepdims=keepdims)
    undefined = reductions.all(apply(ISNAN, x), axis, keepdims=keepdims)
    return apply(WHERE, undefined, math.nan, chosen)


@memoized
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Largest element along `axis` that is not NaN; NaN where all are. Errors as for `max`.

    >>> tfr.nanmax(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    2.0
    >>> tfr.nanmax(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1, keepdims=True).tolist()
    [[1.0], [5.0]]
    """
    return _extreme(
        NANMAX, reductions.max, a, axis, keepdims, out=out, initial=initial, where=where
    )


@memoized
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: Output = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """Smallest element along `axis` that is not NaN; NaN where all are. Errors as for `min`.

    >>> tfr.nanmin(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    1.0
    >>> tfr.nanmin(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=0).tolist()
    [1.0, 5.0]
    """
    return _extreme(
        NANMIN, reductions.min, a, axis, keepdims, out=out, initial=initial, where=where
    )


@memoized
def nanargmax(
    a: ArrayLike, axis: Axis = None, out: Output = None, *, keepdims: bool = False
) -> Tensor:
    """Position (int64) of the first largest element along `axis` that is not NaN; 0 where all are NaN.

    >>> tfr.nanargmax(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    2
    >>> tfr.nanargmax(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=0).tolist()
    [1, 1]
    """
    return reductions.argmax(_filled(a, -math.inf), axis, out, keepdims=keepdims)


@memoized
def nanargmin(
    a: ArrayLike, axis: Axis = None, out: Output = None, *, keepdims: bool = False
) -> Tensor:
    """Position (int64) of the first smallest element along `axis` that is not NaN; 0 where all are NaN.

    >>> tfr.nanargmin(tfr.asarray([tfr.nan, 1.0, 2.0])).item()
    1
    >>> tfr.nanargmin(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1).tolist()
    [0, 0]
    """
    return reductions.argmin(_filled(a, math.inf), axis, out, keepdims=keepdims)


def _present(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Return how many elements along `axis` are not NaN, in the working dtype."""
    numbers = converted(apply(ISNAN, x), x.dtype)
    return reduced_by(SUM, 1 - numbers, axis, keepdims)


@memoized
def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: Output = None
) -> Tensor:
    """Products of the elements up to each position along `axis`, NaN taken for 1. Arguments as for `cumprod`.

    >>> tfr.nancumprod(tfr.asarray([2.0, tfr.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    >>> tfr.nancumprod(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1).tolist()
    [[1.0, 1.0], [3.0, 15.0]]
    """
    return scans.cumprod(_filled(a, 1), axis, dtype, out)


@memoized
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: Output = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Tensor:
    """Mean along `axis` of the elements that are not NaN; NaN where there are none. Dtypes as for `mean`.

    >>> tfr.nanmean(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    1.5
    >>> tfr.nanmean(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=0).tolist()
    [2.0, 5.0]
    """
    tensor = _as(a, dtype)
    axis = reduced_axes("nanmean", axis, tensor.ndim)
    if tensor.dtype not in dtypes.FLOATING:
        return statistics.mean(tensor, axis, None, out, keepdims, where=where)
    wide = converted(tensor, statistics.working_dtype(tensor.dtype))
    result = converted(_mean(without("nanmean", wide, where), axis, keepdims), tensor.dtype)
    return delivered("nanmean", result, out)


def _mean(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return reduced_by(SUM, _filled(x, 0), axis, keepdims) / _present(x, axis, keepdims)


def _variance(x: Tensor, axis: Axis, correction: float, keepdims: bool, centre: Tensor) -> Tensor:
    # NaN in x alone is left out: an infinite mean makes deviations NaN too, and these count
    deviations = apply(WHERE, apply(ISNAN, x), 0, x - centre)
    squares = apply(REAL_PART, deviations * apply(CONJ, deviations))
    count = apply(REAL_PART, _present(x, axis, keepdims)) - correction
    # too few numbers for the correction: NaN, as NumPy gives
    divisor = apply(WHERE, count > 0, count, math.nan)
    return reduced_by(SUM, squares, axis, keepdims) / divisor


@memoized
def nanvar(
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
    """Variance along `axis` of the elements that are not NaN; NaN where there are too few. Arguments as for `var`.

    >>> tfr.nanvar(tfr.asarray([1.0, tfr.nan, 3.0])).item()
    1.0
    >>> tfr.nanvar(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1).tolist()
    [0.0, 1.0]
    """
    tensor = _as(a, dtype)
    axes = reduced_axes("nanvar", axis, tensor.ndim)
    less = number("nanvar", "correction", ddof if correction is None else correction)
    if tensor.dtype not in dtypes.FLOATING:
        return statistics.var(
            tensor, axes, None, out, keepdims=keepdims, where=where, mean=mean, correction=less
        )
    wide = without("nanvar", converted(tensor, statistics.working_dtype(tensor.dtype)), where)
    centre = (
        _mean(wide, axes, keepdims=True) if mean is None else converted(operand(mean), wide.dtype)
    )
    variance = _variance(wide, axes, less, keepdims, centre)
    return delivered("nanvar", converted(variance, dtypes.real_of(tensor.dtype)), out)


@memoized
def nanstd(
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
    """Standard deviation along `axis` of the elements that are not NaN: the square root of `nanvar`.

    >>> tfr.nanstd(tfr.asarray([1.0, tfr.nan, 3.0])).item()
    1.0
    >>> tfr.nanstd(tfr.asarray([[1.0, tfr.nan], [3.0, 5.0]]), axis=1).tolist()
    [0.0, 1.0]
    """
    less = number("nanstd", "correction", ddof if correction is None else correction)
    axes = reduced_axes("nanstd", axis, operand(a).ndim)
    variance = nanvar(a, axes, dtype, keepdims=keepdims, where=where, mean=mean, correction=less)
    return delivered("nanstd", apply(SQRT, variance), out)
