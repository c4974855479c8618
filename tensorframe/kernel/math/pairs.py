"""Pairs: sums of float32 with what rounding took from them, for devices without float64 (compensated summation).

A pair is the sum as float32 adds it, and the sum of the errors of its additions, which `two_sum` gives exactly. Of n
additions its error is a rounding of the result and n^2 2^-48 of the sum of magnitudes: A. Neumaier,
"Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54 (1974). The first half alone is what
float32 would give, so that infinities and NaN, of which errors are NaN, come through.
"""

from __future__ import annotations

from tensorframe.dtypes import DType, float32
from tensorframe.kernel.ir import PAIR, Expr, apply, literal
from tensorframe.kernel.ir.formula import isnan, where
from tensorframe.kernel.math.parts import two_sum
from tensorframe.kernel.math.scalars import converted


def held_as(x: Expr, dtype: DType) -> Expr:
    """Return a number as a dtype holds it, which may be that of pairs."""
    if dtype != PAIR:
        return converted(number_of(x), dtype)
    return x if x.dtype == PAIR else _pair(converted(x, float32), literal(0, float32))


def number_of(x: Expr) -> Expr:
    """Return the number that a pair stands for, rounded once; of anything else, itself."""
    if x.dtype != PAIR:
        return x
    high, low = _parts(x)
    return where(isnan(low), high, high + low)


def added(x: Expr, y: Expr) -> Expr:
    """Return the sum of two pairs."""
    (high, low), (other, more) = _parts(x), _parts(y)
    total, lost = two_sum(high, other)
    return _pair(total, (low + more) + lost)


def _pair(high: Expr, low: Expr) -> Expr:
    return apply("pair", high, low, dtype=PAIR)


def _parts(x: Expr) -> tuple[Expr, Expr]:
    """Return both numbers of a pair: those that it was just made of, where it was."""
    if getattr(x, "op", "") == "pair":
        high, low = x.operands
        return high, low
    return apply("high", x, dtype=float32), apply("low", x, dtype=float32)
