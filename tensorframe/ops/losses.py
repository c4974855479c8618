"""Losses: rows whose gradients are simpler, or more accurate, than those of what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from tensorframe.dtypes import FLOAT
from tensorframe.graph.op import FULL, same
from tensorframe.graph.shape import Shape, reduced
from tensorframe.ops.derivatives import partials
from tensorframe.ops.elementwise import row
from tensorframe.ops.formulas import formula
from tensorframe.ops.term import (
    Term,
    arange,
    call,
    equal,
    exp,
    log,
    log1p,
    logical_and,
    maximum,
    sigmoid,
    sign,
    square,
    where,
)


def _without_axis(shapes: tuple[Shape, ...], axis: int) -> Shape:
    return reduced(shapes[0], (axis,), keepdims=False)


def _kept(x: Term, index: Term, axis: int) -> Term:
    """Return what has one element for each line of `x` along an axis, with that axis."""
    return index.reshaped(reduced(x.shape, (axis,), keepdims=True))


def _picked(x: Term, index: Term, axis: int) -> Term:
    chosen = call("take_along_axis", x, _kept(x, index, axis), attrs=(axis,))
    return chosen.reshaped(index.shape)


def _is_picked(x: Term, index: Term, axis: int) -> Term:
    """Return, for each element of `x`, whether it is the one that its line's index picks.

    That element is read, too: an index that is out of bounds is an error for a gradient alone as well.
    """
    size, after = x.shape[axis], len(x.shape) - axis - 1
    places = arange(x, size).cast(index.dtype).reshaped((size, *[1] * after))
    chosen = call("take_along_axis", x, _kept(x, index, axis), attrs=(axis,))
    return logical_and(equal(_kept(x, index, axis), places), chosen <= inf)


def _of_picked(ct: Term, _out: Term, x: Term, index: Term, axis: int) -> Sequence[Any]:
    """Rule of elements that are picked: zero at all others of a line, without a scatter."""
    return where(_is_picked(x, index, axis), _kept(x, ct, axis), 0), None


def _exponentials(x: Term, axis: int) -> tuple[Term, Term, Term]:
    """Return the largest element of each line, exponentials relative to it, and their sum: for softmax of any kind."""
    largest = x.max((axis,), keepdims=True)
    exponentials = exp(x - largest)
    return largest, exponentials, exponentials.sum((axis,), keepdims=True)


def _cross_entropy(x: Term, index: Term, axis: int) -> Term:
    largest, _, total = _exponentials(x, axis)
    chosen = call("take_along_axis", x, _kept(x, index, axis), attrs=(axis,))
    return (log(total) - (chosen - largest)).reshaped(index.shape)


def _of_cross_entropy(ct: Term, _out: Term, x: Term, index: Term, axis: int) -> Sequence[Any]:
    """Rule of cross entropy with class numbers: the softmax, less one at the class."""
    _, exponentials, total = _exponentials(x, axis)
    share = exponentials / total
    difference = where(_is_picked(x, index, axis), share - 1, share)
    return difference * _kept(x, ct, axis), None


# Operands: the elements, and for each line along the axis an index that is checked when it is read.
PICK = formula("pick", FLOAT, same, _picked, "One element of each line along an axis, by its index.", shape=_without_axis, arity=2, attributes=("axis",), in_standard=False, public=False, vjp=_of_picked)
CROSS_ENTROPY = formula("cross_entropy", FLOAT, same, _cross_entropy, "Minus the logarithm of the softmax of each line along an axis, at its index.", shape=_without_axis, arity=2, attributes=("axis",), in_standard=False, public=False, precision=FULL, vjp=_of_cross_entropy)


def _clipped(x: Term, most: Term) -> Term:
    """Return the elements, those beyond `most` on either side as `most` of their sign."""
    return where(abs(x) <= most, x, sign(x) * most)


# --- elementwise
HUBER = row("huber", FLOAT, same, lambda x, y, delta: where(abs(x - y) <= delta, square(x - y) * 0.5, (abs(x - y) - delta * 0.5) * delta), "Half the squared distance up to delta, from there on a line.", public=False, vjp=partials(lambda _out, x, y, delta: _clipped(x - y, delta), lambda _out, x, y, delta: _clipped(y - x, delta), lambda _out, x, y, delta: maximum(abs(x - y) - delta, 0)), at={(1.0, 3.0, 1.0): 1.5, (1.0, 1.5, 1.0): 0.125})
LOGIT_ENTROPY = row("logit_entropy", FLOAT, same, lambda x, y: maximum(x, 0) - x * y + log1p(exp(-abs(x))), "Cross entropy of the probability sigmoid(x), where y is the right one.", public=False, vjp=partials(lambda _out, x, y: sigmoid(x) - y, lambda _out, x, _y: -x), at={(100.0, 1.0): 0.0, (-100.0, 1.0): 100.0})
# logarithms are cut off at -100, and quotients at 1e12, as PyTorch has it: a probability of 0 is no infinite loss
BINARY_ENTROPY = row("binary_entropy", FLOAT, same, lambda x, y: -(y * maximum(log(x), -100) + (1 - y) * maximum(log1p(-x), -100)), "Cross entropy of the probability x, where y is the right one.", public=False, vjp=partials(lambda _out, x, y: (x - y) / maximum((1 - x) * x, 1e-12), lambda _out, x, _y: maximum(log1p(-x), -100) - maximum(log(x), -100)), at={(1.0, 1.0): -0.0, (0.0, 1.0): 100.0})
# maximum, but for what flows where both are equal: all of it to the first operand, as in PyTorch's clamp
AT_LEAST = row("at_least", FLOAT, same, lambda x, least: maximum(x, least), "The elements, those below a bound replaced by it.", public=False, vjp=lambda ct, _out, x, least: (lambda: where(x >= least, ct, 0), lambda: where(x >= least, 0, ct)), at={(-1.0, 0.0): 0.0})  # noqa: PLW0108 - the row counts its parameters
# the bound is for what is computed alone: slopes are those of the elements themselves
RAISED = row("raised", FLOAT, same, lambda x, least: maximum(x, least), "The elements, those below a bound replaced by it, with the slope 1 everywhere.", public=False, vjp=lambda ct, _out, _x, _least: (ct, None), at={(-1.0, 0.5): 0.5})  # noqa: PLW0108 - the row counts its parameters
