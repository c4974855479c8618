"""Formulas of several kinds of rows: means, variances, softmax and its relatives along axes, interpolation."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tensorframe.dtypes import ANY, BOOL, COMPLEX, FLOAT, FLOATING, INTEGER, NARROW, DType, int64
from tensorframe.graph.op import FULL, NONE, DTypeRule, Kind, Op, real_part, register, same
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.derivatives import nonzero
from tensorframe.ops.reduction import index_dtype, non_empty
from tensorframe.ops.rules.formulas import (
    of_log_softmax,
    of_logsumexp,
    of_mean,
    of_softmax,
    of_var,
)
from tensorframe.ops.term import (
    Term,
    call,
    conj,
    equal,
    exp,
    imag,
    isfinite,
    isnan,
    log,
    logical_and,
    logical_or,
    maximum,
    minimum,
    not_equal,
    real,
    root,
    square,
    where,
)

Axes = tuple[int, ...]


def formula(
    name: str,
    accepts: frozenset[DType],
    result: DTypeRule,
    expand: Callable[..., Term],
    doc: str,
    **facts: Any,
) -> Op:
    """Define a row by its meaning in terms of rows of several kinds; attributes follow the operands.

    None takes half precision, which would be rounded at every step: whoever records one converts before and after.
    """
    arity = facts.pop("arity", 1)
    return register(Op(name, Kind.FORMULA, arity, accepts - NARROW, result, doc, expand=expand, **facts))


def _reduced(shapes: tuple[Shape, ...], axes: Axes, keepdims: bool, *_: Any) -> Shape:
    return reduced(shapes[0], axes, keepdims=keepdims)


def unchanged(shapes: tuple[Shape, ...], *_: Any) -> Shape:
    """Shape rule: that of the first operand."""
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


def _masked_softmax(x: Term, axes: Axes) -> Term:
    largest = _largest(x, axes)
    # of -inf alone nothing is subtracted: -inf - -inf is NaN, and here it means that nothing takes part
    exponentials = exp(x - where(equal(largest, -inf), 0.0, largest))
    return exponentials / nonzero(exponentials.sum(axes, keepdims=True))


def _log_softmax(x: Term, axes: Axes) -> Term:
    shifted = x - _largest(x, axes)
    return shifted - log(exp(shifted).sum(axes, keepdims=True))


def _log_sum(x: Term, axes: Axes, keepdims: bool) -> Term:
    largest = _largest(x, axes)
    # inf - inf is NaN: an infinite maximum is not subtracted, exp gives the right 0 or inf by itself
    shift = where(isfinite(largest), largest, 0.0)
    result = log(exp(x - shift).sum(axes, keepdims=True)) + shift
    return result if keepdims else result.reshaped(reduced(x.shape, axes, keepdims=False))


def _range(x: Term, axes: Axes, keepdims: bool) -> Term:
    return x.max(axes, keepdims) - x.min(axes, keepdims)


def _largest_number(x: Term, axes: Axes, keepdims: bool) -> Term:
    missing = isnan(x)
    return where(missing.all(axes, keepdims), nan, where(missing, -inf, x).max(axes, keepdims))


def _smallest_number(x: Term, axes: Axes, keepdims: bool) -> Term:
    missing = isnan(x)
    return where(missing.all(axes, keepdims), nan, where(missing, inf, x).min(axes, keepdims))


def _nonzero_count(x: Term, axes: Axes, keepdims: bool) -> Term:
    present = x if x.dtype in BOOL else not_equal(x, 0)
    return present.cast(int64).sum(axes, keepdims)


def _length(x: Term, axes: Axes, keepdims: bool) -> Term:
    if x.dtype in COMPLEX:  # without the square root that a magnitude takes
        return root((square(real(x)) + square(imag(x))).sum(axes, keepdims))
    return root(square(x).sum(axes, keepdims))


def _interpolated(x: Term, xp: Term, fp: Term) -> Term:
    last = xp.shape[0] - 1
    low = maximum(call("searchsorted", xp, x, attrs=("right",)) - 1, 0)
    high = minimum(low + 1, last)
    x0, f0, f1 = _at(xp, low), _at(fp, low), _at(fp, high)
    line = _line(x, (x0, f0), (_at(xp, high), f1))
    on_point = logical_or(equal(x, x0), equal(low, last))
    inside = where(isnan(x), x, where(on_point, f0, line))
    above_first = where(x < _end(xp, 0, x), _end(fp, 0, x), inside)
    return where(x > _end(xp, last, x), _end(fp, last, x), above_first)


def _at(points: Term, places: Term) -> Term:
    return call("gather", points, places, attrs=((0,), 0))


def _end(points: Term, place: int, x: Term) -> Term:
    """Return the point at a place, to be compared with `x`."""
    point = points.sliced((place,), (1,), (1,))
    return point if x.shape else point.reshaped(())


def _line(x: Term, left: tuple[Term, Term], right: tuple[Term, Term]) -> Term:
    """Return the line through two points, from the left one or, where that gives NaN, from the right one.

    An infinite abscissa or ordinate leaves one of the two forms a number; between equal ordinates, and be they
    infinite, the line is flat.
    """
    (x0, f0), (x1, f1) = left, right
    slope = (f1 - f0) / (x1 - x0)
    from_left, from_right = slope * (x - x0) + f0, slope * (x - x1) + f1
    either = where(isnan(from_left), from_right, from_left)
    flat = logical_and(isnan(either), equal(f0, f1))
    return where(flat, f0, either)


MEAN = formula("mean", FLOATING, same, _mean, "Sum along axes, divided by the number of elements.", shape=_reduced, attributes=("axes", "keepdims"), costly=True, precision=FULL, vjp=of_mean)
VAR = formula("var", FLOATING, real_part, _variance, "Squared deviations from the mean, summed along axes and divided by `divisor`.", shape=_reduced, attributes=("axes", "keepdims", "divisor"), costly=True, precision=FULL, vjp=of_var)
SOFTMAX = formula("softmax", FLOAT, same, _softmax, "Exponentials, scaled to sum to one along axes.", shape=unchanged, attributes=("axes",), in_standard=False, precision=FULL, vjp=of_softmax)
MASKED_SOFTMAX = formula("masked_softmax", FLOAT, same, _masked_softmax, "Softmax along axes that gives zeros where all elements are -inf.", shape=unchanged, attributes=("axes",), in_standard=False, precision=FULL, public=False, vjp=of_softmax)
LOG_SOFTMAX = formula("log_softmax", FLOAT, same, _log_softmax, "Logarithm of softmax.", shape=unchanged, attributes=("axes",), in_standard=False, precision=FULL, vjp=of_log_softmax)
LOGSUMEXP = formula("logsumexp", FLOAT, same, _log_sum, "Logarithm of the sum of exponentials along axes.", shape=_reduced, attributes=("axes", "keepdims"), in_standard=False, costly=True, precision=FULL, vjp=of_logsumexp)
PTP = formula("ptp", FLOAT | INTEGER, same, _range, "Largest minus smallest element along axes.", shape=non_empty("ptp"), attributes=("axes", "keepdims"), in_standard=False, costly=True)
NANMAX = formula("nanmax", FLOAT, same, _largest_number, "Largest element along axes that is not NaN; NaN if all are.", shape=non_empty("nanmax"), attributes=("axes", "keepdims"), in_standard=False, costly=True)
NANMIN = formula("nanmin", FLOAT, same, _smallest_number, "Smallest element along axes that is not NaN; NaN if all are.", shape=non_empty("nanmin"), attributes=("axes", "keepdims"), in_standard=False, costly=True)
VECTOR_NORM = formula("vector_norm", FLOATING, real_part, _length, "Square root of the sum of squared magnitudes along axes.", shape=_reduced, attributes=("axes", "keepdims"), in_standard=False, costly=True, precision=FULL)
COUNT_NONZERO = formula("count_nonzero", ANY, index_dtype, _nonzero_count, "Number of elements along axes that are not zero.", shape=_reduced, attributes=("axes", "keepdims"), costly=True, vjp=NONE)
INTERP = formula("interp", FLOAT, same, _interpolated, "Values of the function through points, straight in between.", shape=unchanged, arity=3, in_standard=False, costly=True)
