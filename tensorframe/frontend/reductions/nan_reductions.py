"""Reductions that leave NaN elements out: each NaN becomes what changes nothing, then the ordinary reduction runs."""

from __future__ import annotations

import math
from typing import Any

from tensorframe import dtypes
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import converted, operand, widened
from tensorframe.frontend.parameters import number
from tensorframe.frontend.reductions import elementary as reductions
from tensorframe.frontend.reductions import scans, statistics
from tensorframe.frontend.reductions.elementary import Axis, reduced_by
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import normalize_axes
from tensorframe.ops.elementwise import CONJ, ISNAN, REAL_PART, SQRT, WHERE
from tensorframe.ops.formulas import NANMAX, NANMIN
from tensorframe.ops.reduction import MAX, MIN, SUM

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _filled(x: Any, value: float) -> Tensor:
    """Return `x` with `value` in the place of NaN."""
    tensor = operand(x)
    if tensor.dtype not in dtypes.FLOATING:
        return tensor
    return apply(WHERE, apply(ISNAN, tensor), value, tensor)


def _as(x: Any, dtype: Any) -> Tensor:
    """Return `x` in the dtype to compute in, if one is said."""
    tensor = operand(x)
    return tensor if dtype is None else converted(tensor, dtypes.as_dtype(dtype))


def nansum(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum along `axis` of the elements that are not NaN; 0 where there are none. Dtypes as for `sum`.

    >>> tfr.nansum(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    3.0
    """
    return reductions.sum(_filled(x, 0), axis, dtype, keepdims)


def nanprod(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Product along `axis` of the elements that are not NaN; 1 where there are none. Dtypes as for `sum`.

    >>> tfr.nanprod(tfr.asarray([3.0, tfr.nan, 2.0])).item()
    6.0
    """
    return reductions.prod(_filled(x, 1), axis, dtype, keepdims)


def nancumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Sums of the elements that are not NaN up to each position; None runs through all elements in C order.

    >>> tfr.nancumsum(tfr.asarray([1.0, tfr.nan, 2.0])).tolist()
    [1.0, 1.0, 3.0]
    """
    return scans.cumsum(_filled(x, 0), axis, dtype)


def _extreme(row: Op, of_others: Op, x: Any, axis: Axis, keepdims: bool) -> Tensor:
    """Return the reduction `row`, or `of_others` where no element can be NaN."""
    tensor = operand(x)
    if tensor.dtype not in dtypes.FLOATING:
        return reduced_by(of_others, tensor, axis, keepdims)
    # of half precision in float32: what is chosen is the same
    wide = tensor if tensor.dtype in row.accepts else widened(tensor)
    return converted(reduced_by(row, wide, axis, keepdims), tensor.dtype)


def nanmax(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Largest element along `axis` that is not NaN; NaN where all are. Errors as for `max`.

    >>> tfr.nanmax(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    2.0
    """
    return _extreme(NANMAX, MAX, x, axis, keepdims)


def nanmin(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Smallest element along `axis` that is not NaN; NaN where all are. Errors as for `min`.

    >>> tfr.nanmin(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    1.0
    """
    return _extreme(NANMIN, MIN, x, axis, keepdims)


def nanargmax(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the first largest element along `axis` that is not NaN; 0 where all are NaN.

    >>> tfr.nanargmax(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    2
    """
    return reductions.argmax(_filled(x, -math.inf), axis, keepdims)


def nanargmin(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Position (int64) of the first smallest element along `axis` that is not NaN; 0 where all are NaN.

    >>> tfr.nanargmin(tfr.asarray([tfr.nan, 1.0, 2.0])).item()
    1
    """
    return reductions.argmin(_filled(x, math.inf), axis, keepdims)


def _present(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    """Return how many elements along `axis` are not NaN, in the working dtype."""
    numbers = converted(apply(ISNAN, x), x.dtype)
    return reduced_by(SUM, 1 - numbers, axis, keepdims)


def nanmean(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Mean along `axis` of the elements that are not NaN; NaN where there are none. Dtypes as for `mean`.

    >>> tfr.nanmean(tfr.asarray([1.0, tfr.nan, 2.0])).item()
    1.5
    """
    tensor = _as(x, dtype)
    axis = normalize_axes("nanmean", axis, tensor.ndim)
    if tensor.dtype not in dtypes.FLOATING:
        return statistics.mean(tensor, axis, keepdims=keepdims)
    wide = converted(tensor, statistics.working_dtype(tensor.dtype))
    return converted(_mean(wide, axis, keepdims), tensor.dtype)


def _mean(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return reduced_by(SUM, _filled(x, 0), axis, keepdims) / _present(x, axis, keepdims)


def _variance(x: Tensor, axis: Axis, correction: float, keepdims: bool) -> Tensor:
    # NaN in x alone is left out: an infinite mean makes deviations NaN too, and these count
    deviations = apply(WHERE, apply(ISNAN, x), 0, x - _mean(x, axis, keepdims=True))
    squares = apply(REAL_PART, deviations * apply(CONJ, deviations))
    count = apply(REAL_PART, _present(x, axis, keepdims)) - correction
    # too few numbers for the correction: NaN, as NumPy gives
    divisor = apply(WHERE, count > 0, count, math.nan)
    return reduced_by(SUM, squares, axis, keepdims) / divisor


def nanvar(
    x: Any,
    /,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    ddof: float | None = None,
) -> Tensor:
    """Variance along `axis` of the elements that are not NaN; NaN where there are too few. Arguments as for `var`.

    >>> tfr.nanvar(tfr.asarray([1.0, tfr.nan, 3.0])).item()
    1.0
    """
    tensor = _as(x, dtype)
    axis = normalize_axes("nanvar", axis, tensor.ndim)
    correction = number("nanvar", "correction", correction if ddof is None else ddof)
    if tensor.dtype not in dtypes.FLOATING:
        return statistics.var(tensor, axis, correction, keepdims)
    wide = converted(tensor, statistics.working_dtype(tensor.dtype))
    return converted(_variance(wide, axis, correction, keepdims), dtypes.real_of(tensor.dtype))


def nanstd(
    x: Any,
    /,
    axis: Axis = None,
    correction: float = 0.0,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    ddof: float | None = None,
) -> Tensor:
    """Standard deviation along `axis` of the elements that are not NaN: the square root of `nanvar`.

    >>> tfr.nanstd(tfr.asarray([1.0, tfr.nan, 3.0])).item()
    1.0
    """
    axis = normalize_axes("nanstd", axis, operand(x).ndim)
    return apply(SQRT, nanvar(x, axis, correction, keepdims, dtype=dtype, ddof=ddof))
