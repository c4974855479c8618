"""Tolerance: which results must agree to the bit, and how far off rounding may put the others.

Leaves are small multiples of one half. While values stay small multiples of 1/8, sums and products are exact in any
order, so that results may be compared exactly and comparisons, rounding and casts cannot tip over. Where a result is
not exact, a bound of its absolute error is carried along: one for a tensor, known while a program is drafted.
`runtime/checks/rounding_bounds.py` bounds each element of values that are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, FLOATING, FORMAT, DType, real_of

Array = np.ndarray[Any, Any]

GRID = 8.0
# units in the last place that an elementwise function, or the few that it is written in, may be off
UNITS = 16.0
WORST = 0.01  # the relative error from which on a value is only looked at, not computed with

# of two operands: those whose errors add up, and those that hand on the larger one
ADDING = {"add", "subtract", "hypot", "logaddexp"}
CHOOSING = {"maximum", "minimum", "fmax", "fmin", "where"}
# how fast elementwise functions of one operand grow, given the largest magnitude it has; functions that jump, or have a
# pole, are not listed and take exact operands only
SLOPES: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(("abs", "negative", "positive", "real", "imag", "conj"), lambda _: 1.0),
    **dict.fromkeys(("sin", "cos", "tanh", "atan", "asinh", "relu", "softplus"), lambda _: 1.0),
    **dict.fromkeys(("sigmoid", "erf", "erfc", "silu", "gelu", "deg2rad"), lambda _: 1.2),
    "rad2deg": lambda _: 58.0,
    "square": lambda largest: 2.0 * largest,
    **dict.fromkeys(
        ("exp", "expm1", "sinh", "cosh", "exp2"), lambda largest: math.exp(min(largest, 99.0))
    ),
}


def epsilon(dtype: DType) -> float:
    """Return the distance from one to the next number; zero for what is not floating."""
    if dtype not in FLOATING:
        return 0.0
    return FORMAT[real_of(dtype)].epsilon


def largest(array: Array) -> float:
    """Return the largest finite magnitude."""
    if array.dtype not in FLOATING:
        array = array.astype(np.float64)
    magnitude = np.abs(array)
    finite = magnitude[np.isfinite(magnitude)]
    return float(finite.max(initial=0)) if finite.size else 0.0


def on_grid(array: Array, dtype: DType | None = None) -> bool:
    """Whether all elements are small multiples of 1/8, so that `dtype` can add and compare them exactly."""
    dtype = dtype or array.dtype
    if dtype not in FLOATING:
        return True
    if array.dtype in COMPLEX:
        return on_grid(array.real, real_of(dtype)) and on_grid(array.imag, real_of(dtype))
    scaled = array.astype(np.float64) * GRID
    limit = min(1.0 / epsilon(real_of(dtype)), 2.0**40) / 2
    return bool(
        np.isfinite(scaled).all()
        and (np.abs(scaled) <= limit).all()
        and (scaled == np.rint(scaled)).all()
    )


def rounding(array: Array, units: float = UNITS) -> float:
    """Return how far off an operation may be that gives `array`."""
    return units * epsilon(array.dtype) * largest(array)


def propagated(name: str, errors: Sequence[float], operands: Sequence[Array]) -> float | None:
    """Return the error that an elementwise op hands on from its operands; None if it may be any."""
    sizes = [largest(operand) for operand in operands]
    if not any(errors):
        return 0.0
    if len(errors) == 1 and name in SLOPES:
        return SLOPES[name](sizes[0]) * errors[0]
    if len(errors) != 2:
        return None
    if name in ADDING:
        return sum(errors)
    if name in CHOOSING:
        return max(errors)
    if name == "multiply":
        return sizes[0] * errors[1] + sizes[1] * errors[0] + errors[0] * errors[1]
    return None


def elementwise_error(
    name: str,
    function: Callable[..., Any],
    errors: Sequence[float],
    operands: Sequence[Array],
    result: Array,
) -> float | None:
    """Return the error of an elementwise result; zero if it is exact, None if it may be any."""
    handed_on = propagated(name, errors, operands)
    if handed_on is None:
        return None
    if handed_on == 0.0 and on_grid(result) and _same_in_double(function, operands, result):
        return 0.0
    return handed_on + rounding(result)


def _same_in_double(function: Callable[..., Any], operands: Sequence[Array], result: Array) -> bool:
    """Whether float64 gives the same, so that no rounding happened on the way."""
    if epsilon(result.dtype) in (0.0, epsilon(np.dtype("float64"))):
        return True
    wide = np.complex128 if any(operand.dtype in COMPLEX for operand in operands) else np.float64
    doubled = [
        operand.astype(wide) if operand.dtype in FLOATING else operand for operand in operands
    ]
    return bool(np.array_equal(np.asarray(function(*doubled)), result.astype(wide)))
