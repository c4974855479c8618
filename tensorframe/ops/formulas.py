"""Formulas along axes: means, variances, softmax and its relatives, each one row that means several others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, NARROW, DType
from tensorframe.graph.op import DTypeRule, Kind, Op, real_part, register, same
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.rules.formulas import (
    of_log_softmax,
    of_logsumexp,
    of_mean,
    of_softmax,
    of_var,
)
from tensorframe.ops.term import Term, conj, exp, isfinite, log, real, where

Axes = tuple[int, ...]


def formula(
    name: str,
    accepts: frozenset[DType],
    result: DTypeRule,
    expand: Callable[..., Term],
    doc: str,
    **facts: Any,
) -> Op:
    """Define a row by its meaning in terms of rows of several kinds; attributes follow the operand.

    None takes half precision, which would be rounded at every step: whoever records one converts before and after.
    """
    return register(Op(name, Kind.FORMULA, 1, accepts - NARROW, result, doc, expand=expand, **facts))


def _reduced(shapes: tuple[Shape, ...], axes: Axes, keepdims: bool, *_: Any) -> Shape:
    return reduced(shapes[0], axes, keepdims=keepdims)


def _unchanged(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    return shapes[0]


def _mean(x: Term, axes: Axes, keepdims: bool) -> Term:
    # a float: an integer could exceed what the dtype of the sum holds exactly, and 0 / 0 must be NaN
    return x.sum(axes, keepdims) / float(x.count(axes))


def _variance(x: Term, axes: Axes, keepdims: bool, divisor: float) -> Term:
    deviations = x - _mean(x, axes, keepdims=True)
    mirrored = conj(deviations) if x.dtype in COMPLEX else deviations
    squares = deviations * mirrored
    return (real(squares) if x.dtype in COMPLEX else squares).sum(axes, keepdims) / divisor


def _largest(x: Term, axes: Axes) -> Term:
    """Maximum with axes kept; of no elements, whatever broadcasts."""
    return x.max(axes, keepdims=True) if x.count(axes) else x.sum(axes, keepdims=True)


def _softmax(x: Term, axes: Axes) -> Term:
    exponentials = exp(x - _largest(x, axes))
    return exponentials / exponentials.sum(axes, keepdims=True)


def _log_softmax(x: Term, axes: Axes) -> Term:
    shifted = x - _largest(x, axes)
    return shifted - log(exp(shifted).sum(axes, keepdims=True))


def _log_sum(x: Term, axes: Axes, keepdims: bool) -> Term:
    largest = _largest(x, axes)
    # inf - inf is NaN: an infinite maximum is not subtracted, exp gives the right 0 or inf by itself
    shift = where(isfinite(largest), largest, 0.0)
    result = log(exp(x - shift).sum(axes, keepdims=True)) + shift
    return result if keepdims else result.reshaped(reduced(x.shape, axes, keepdims=False))


MEAN = formula("mean", FLOATING, same, _mean, "Sum along axes, divided by the number of elements.", shape=_reduced, attributes=("axes", "keepdims"), costly=True, vjp=of_mean)
VAR = formula("var", FLOATING, real_part, _variance, "Squared deviations from the mean, summed along axes and divided by `divisor`.", shape=_reduced, attributes=("axes", "keepdims", "divisor"), costly=True, vjp=of_var)
SOFTMAX = formula("softmax", FLOAT, same, _softmax, "Exponentials, scaled to sum to one along axes.", shape=_unchanged, attributes=("axes",), in_standard=False, vjp=of_softmax)
LOG_SOFTMAX = formula("log_softmax", FLOAT, same, _log_softmax, "Logarithm of softmax.", shape=_unchanged, attributes=("axes",), in_standard=False, vjp=of_log_softmax)
LOGSUMEXP = formula("logsumexp", FLOAT, same, _log_sum, "Logarithm of the sum of exponentials along axes.", shape=_reduced, attributes=("axes", "keepdims"), in_standard=False, costly=True, vjp=of_logsumexp)
