"""Selected elements: `where=` and `initial=` of reductions, and `out=`.

Loaded by the first call that has one: calls without such options never come here.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tensorframe import dtypes
from tensorframe.dtypes import BOOL, DType
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import cast_into, converted, expanded, filled, operand
from tensorframe.frontend.reductions.elementary import Axis, along, reduced_along
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.shape import broadcast, reduced_axes
from tensorframe.ops import reduction as row
from tensorframe.ops.elementwise import ADD, CONJ, MAXIMUM, MINIMUM, MULTIPLY, REAL_PART, WHERE
from tensorframe.ops.reduction import SUM

# what joins a first value to a result, and the value of an element that does not count
_JOINS: Final[dict[Op, Op]] = {
    row.SUM: ADD,
    row.PROD: MULTIPLY,
    row.MAX: MAXIMUM,
    row.MIN: MINIMUM,
}
_NEUTRAL: Final[dict[Op, Any]] = {
    row.SUM: 0,
    row.PROD: 1,
    row.ANY_TRUE: False,
    row.ALL_TRUE: True,
}


def reduced_where(
    op: Op, x: Tensor, axis: Axis, keepdims: bool, initial: Any = None, where: Any = True
) -> Tensor:
    """Return a reduction of the elements where a condition is true, and of the value `initial`.

    A largest or smallest element of a selection needs `initial`, the result where nothing is selected.
    """
    axes = reduced_axes(op.name, axis, x.ndim)
    if where is not True:
        neutral = _NEUTRAL.get(op, initial)
        if neutral is None:
            raise ArgumentError(
                f"{op.name}: where= needs initial=, the result where nothing is selected",
                suggestions=("initial=-tfr.inf" if op is row.MAX else "initial=tfr.inf",),
            )
        x = _selected(op.name, x, where, neutral)
    if initial is None:
        return reduced_along(op, x, axes, keepdims)
    start = cast_into(initial, x.dtype)
    if start.ndim:
        raise ShapeError(f"{op.name}: initial is one number, got shape {start.shape}")
    if not _count(x, axes) and op not in _NEUTRAL:
        # there is no largest element of none, but there is this one
        nothing = filled(x.shape, False, dtypes.bool_, x.device)
        result = along(row.ANY_TRUE, nothing, axes, keepdims)
        return expanded(start, result.shape)
    return apply(_JOINS[op], reduced_along(op, x, axes, keepdims), start)


def _count(x: Tensor, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def condition_for(op: str, x: Tensor, where: Any) -> Tensor:
    """Return a condition in the shape of `x`; DTypeError if it is not of bools, ShapeError if it does not fit."""
    condition = operand(where)
    if condition.dtype not in BOOL:
        raise DTypeError(f"{op}: where= takes a condition of bools, got {condition.dtype}")
    if broadcast(op, condition.shape, x.shape) != x.shape:
        raise ShapeError(f"{op}: a condition of shape {condition.shape} for elements of {x.shape}")
    return expanded(condition, x.shape)


def _selected(op: str, x: Tensor, where: Any, neutral: Any) -> Tensor:
    """Return the elements where a condition is true, and elsewhere what does not count."""
    rest = cast_into(neutral, x.dtype)
    return apply(WHERE, condition_for(op, x, where), x, rest)


def without(op: str, x: Tensor, where: Any) -> Tensor:
    """Return floating elements with NaN where a condition is false: reductions that leave out NaN skip them."""
    if where is True:
        return x
    wide = x if x.dtype in dtypes.FLOATING else converted(x, dtypes.float_of(x.dtype))
    return _selected(op, wide, where, math.nan)


def mean_where(x: Tensor, axes: tuple[int, ...], keepdims: bool, where: Any) -> Tensor:
    """Return the mean of the elements where a condition is true; NaN where there are none."""
    chosen = condition_for("mean", x, where)
    total = along(SUM, apply(WHERE, chosen, x, 0), axes, keepdims)
    return total / _how_many(chosen, x.dtype, axes, keepdims)


def _how_many(chosen: Tensor, dtype: DType, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return along(SUM, converted(chosen, dtype), axes, keepdims)


def variance_around(
    op: str,
    x: Tensor,
    axes: tuple[int, ...],
    keepdims: bool,
    *,
    correction: float,
    where: Any = True,
    mean: Any = None,
) -> Tensor:
    """Return the variance of the elements where a condition is true, around a mean that may be known already.

    `mean` has the axes of `x`, those that are reduced with size 1.
    """
    chosen = condition_for(op, x, where)
    centre = mean_where(x, axes, True, where) if mean is None else converted(operand(mean), x.dtype)
    if broadcast(op, centre.shape, x.shape) != x.shape:
        raise ShapeError(
            f"{op}: a mean of shape {centre.shape} for elements of {x.shape}",
            suggestions=("mean=tfr.mean(x, axis, keepdims=True)",),
        )
    deviations: Any = apply(WHERE, chosen, x - centre, 0)
    squares = apply(REAL_PART, deviations * apply(CONJ, deviations))
    divisor: Any = _how_many(chosen, squares.dtype, axes, keepdims) - correction
    # fewer elements than the correction: as if there were none
    return along(SUM, squares, axes, keepdims) / apply(MAXIMUM, divisor, 0)
