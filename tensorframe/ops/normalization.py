"""Normalisations: elements shifted and scaled by what they have in common along axes, each one row.

Gradients are those of the normalised elements with respect to all that they were normalised by, in terms of the result:
nothing but the operand has to be stored for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorframe.dtypes import FLOAT
from tensorframe.graph.op import FULL, same
from tensorframe.ops.formulas import Axes, formula, unchanged
from tensorframe.ops.term import Term, call, sqrt, square


def _mean(x: Term, axes: Axes) -> Term:
    return call("mean", x, attrs=(axes, True))


def _deviation(x: Term, axes: Axes, eps: float) -> Term:
    """Return one over the standard deviation: the variance is the one that `var` gives, to the plan."""
    count = float(prod([x.shape[axis] for axis in axes]))
    return 1 / sqrt(call("var", x, attrs=(axes, True, count)) + eps)


def _standardized(x: Term, axes: Axes, eps: float) -> Term:
    return (x - _mean(x, axes)) * _deviation(x, axes, eps)


def _of_standardized(ct: Term, out: Term, x: Term, axes: Axes, eps: float) -> Sequence[Any]:
    """Rule of `standardize`: what would change the mean or the deviation of the result does not get through.

    Source: S. Ioffe and C. Szegedy, "Batch normalization", arXiv 1502.03167, section 3.
    """
    along = out * _mean(ct * out, axes)
    return ((ct - _mean(ct, axes) - along) * _deviation(x, axes, eps),)


def _scale(x: Term, axes: Axes, eps: float) -> Term:
    return 1 / sqrt(_mean(square(x), axes) + eps)


def _scaled(x: Term, axes: Axes, eps: float) -> Term:
    return x * _scale(x, axes, eps)


def _of_scaled(ct: Term, out: Term, x: Term, axes: Axes, eps: float) -> Sequence[Any]:
    """Rule of `rms_scale`: what would change the size of the result does not get through."""
    return ((ct - out * _mean(ct * out, axes)) * _scale(x, axes, eps),)


STANDARDIZE = formula("standardize", FLOAT, same, _standardized, "Deviations from the mean along axes, over the root of their variance and `eps`.", shape=unchanged, attributes=("axes", "eps"), in_standard=False, public=False, precision=FULL, vjp=_of_standardized)
RMS_SCALE = formula("rms_scale", FLOAT, same, _scaled, "The elements over the root of their mean square along axes and `eps`.", shape=unchanged, attributes=("axes", "eps"), in_standard=False, public=False, precision=FULL, vjp=_of_scaled)
