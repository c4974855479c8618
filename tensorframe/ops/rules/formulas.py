"""Gradients of formulas along axes, in terms of their result: what they were made of need not be kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.ops.derivatives import nonzero
from tensorframe.ops.rules.reduction import Axes, spread, with_axes
from tensorframe.ops.term import Term, call, exp, isfinite, where


def of_mean(ct: Term, _out: Term, x: Term, axes: Axes, keepdims: bool) -> Sequence[Any]:
    """Rule of a mean: an equal share to each element."""
    return (spread(ct / float(x.count(axes)), x, axes, keepdims),)


def of_var(
    ct: Term, _out: Term, x: Term, axes: Axes, keepdims: bool, divisor: float
) -> Sequence[Any]:
    """Rule of a variance: twice the deviation, since deviations from the mean add up to nothing."""
    mean = call("mean", x, attrs=(axes, True))  # the same as in the formula, to the plan
    share = with_axes(ct * 2.0 / divisor, x, axes, keepdims)
    return ((x - mean) * share,)


def of_softmax(ct: Term, out: Term, _x: Term, axes: Axes) -> Sequence[Any]:
    """Rule of softmax: y (c - sum(c y))."""
    return (out * (ct - (ct * out).sum(axes, keepdims=True)),)


def of_log_softmax(ct: Term, out: Term, _x: Term, axes: Axes) -> Sequence[Any]:
    """Rule of log_softmax: c - exp(y) sum(c)."""
    return (ct - exp(out) * ct.sum(axes, keepdims=True),)


def of_logsumexp(ct: Term, out: Term, x: Term, axes: Axes, keepdims: bool) -> Sequence[Any]:
    """Rule of logsumexp: the softmax, 0 where the sum is of nothing."""
    total = with_axes(call("stop_gradient", out, attrs=()), x, axes, keepdims)
    shift = where(isfinite(total), total, 0.0)  # as in the formula: inf - inf is NaN
    parts = exp(x - shift)
    # where elements are large, the result has few digits behind the point, and the parts do not add up to one
    share = with_axes(ct, x, axes, keepdims) / nonzero(parts.sum(axes, keepdims=True))
    return (share * parts,)
