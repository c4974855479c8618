"""Interpolation: functions given by points, straight in between."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import COMPLEX
from tensorframe.errors import DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.memoization import memoized_of
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.operands import converted, floating, operand, widened
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops.elementwise import GREATER, IMAG, LESS, REAL_PART, REMAINDER, WHERE
from tensorframe.ops.formulas import INTERP
from tensorframe.ops.movement import CONCAT
from tensorframe.ops.sorting import ARGSORT

__all__ = ["interp"]


@memoized_of(3)
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: float | None = None,
) -> Tensor:
    """The values at `x` of the function through the points `(xp, fp)`, straight in between.

    `xp` rises, unless there is a `period`. Outside of it: `left` and `right`, by default the first and the last of
    `fp`. The shape is that of `x`, the dtype the floating one that all promote to; NaN stays NaN.

    >>> tfr.interp(tfr.asarray([0.5, 9.0]), tfr.asarray([0.0, 1.0]), tfr.asarray([10.0, 20.0])).tolist()
    [15.0, 20.0]
    """
    values = operand(fp)
    if values.dtype in COMPLEX:
        parts = [
            interp(x, xp, apply(part, values), _part_of(left, part), _part_of(right, part), period)
            for part in (REAL_PART, IMAG)
        ]
        both: Any = parts[0] + 1j * parts[1]
        return converted(both, values.dtype)
    x, xp, fp = floating(x, xp, fp)
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ShapeError(
            f"interp: xp and fp are vectors of equal length, one at least; got {xp.shape} and {fp.shape}"
        )
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    # of half precision in float32, which would be rounded at every step
    result = call(INTERP, widened(x), widened(xp), widened(fp))
    first, last = (slice(0, 1), slice(-1, None)) if x.ndim else (0, -1)
    if left is not None:
        result = apply(WHERE, apply(LESS, x, getitem(xp, first)), left, result)
    if right is not None:
        result = apply(WHERE, apply(GREATER, x, getitem(xp, last)), right, result)
    return converted(result, x.dtype)


def _part_of(end: Any, part: Op) -> Any:
    """Return the real or imaginary part of what stands outside of the points, which is complex or real."""
    return None if end is None else apply(part, operand(end) + 0j)


def _periodic(x: Tensor, xp: Tensor, fp: Tensor, period: float) -> tuple[Tensor, Tensor, Tensor]:
    """Bring everything into one period, and continue the points by one on either side."""
    if not isinstance(period, int | float):
        raise DTypeError(f"interp: period is a number, got {type(period).__name__}")
    if period == 0:
        raise OutOfRangeError("interp: period must not be zero")
    period = abs(period)
    x, xp = apply(REMAINDER, x, period), apply(REMAINDER, xp, period)
    order = call(ARGSORT, xp, attrs=(0, False, True))
    xp, fp = getitem(xp, order), getitem(fp, order)
    before, after = slice(-1, None), slice(0, 1)
    ends = (getitem(xp, before) - period, xp, getitem(xp, after) + period)
    values = (getitem(fp, before), fp, getitem(fp, after))
    return x, call(CONCAT, *ends, attrs=(0,)), converted(call(CONCAT, *values, attrs=(0,)), x.dtype)
