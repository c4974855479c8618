"""Densities of the gamma and beta distributions, as pairs of float64: all that incomplete functions owe to rounding.

A density is e to a power that may be hundreds, whose rounding would change it as much, beside what the gamma function is
by Stirling's formula (DLMF 5.11.3). Shapes below eight are taken up by recurrence (5.5.1) before that is used.
"""

from __future__ import annotations

from math import pi
from typing import Any

from tensorframe.ops import double_double as dd
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_algebra import Algebra
from tensorframe.ops.special_math import polynomial

Value = Any

_LIFT = 8
# 1 / (2 pi), and what float64 lacks of it
_TURN = (1 / (2 * pi), -9.839338337591243e-18)


def _lifted(shape: Value, m: Algebra) -> tuple[Value, dd.Pair]:
    """Return whether a number is below eight, and that number, then with eight added to it."""
    few = shape < _LIFT
    return few, dd.two_sum(shape, m.where(few, float(_LIFT), 0.0))


def _beside_stirling(shape: dd.Pair, m: Algebra) -> Value:
    """Return the logarithm of what Stirling's formula leaves of gamma, for numbers from eight on."""
    return polynomial(1 / (shape[0] * shape[0]), tables.STIRLING, m) / shape[0]


def _rise(number: dd.Pair, lifted: dd.Pair, few: Value, m: Algebra) -> dd.Pair:
    """Return number (number + 1) ... (number + 7) / lifted^8, one where nothing was lifted."""
    product = number
    for step in range(1, _LIFT):
        product = dd.multiply(product, dd.raised(number, step), m)
    power = m.where(few, lifted[0], 1.0), m.where(few, lifted[1], 0.0)
    for _ in range(3):
        power = dd.multiply(power, power, m)
    return dd.divide((m.where(few, product[0], 1.0), m.where(few, product[1], 0.0)), power, m)


def gamma_density(a: Value, x: Value, m: Algebra) -> dd.Pair:
    """Return x^a e^-x / gamma(a), for numbers above 0."""
    few, lifted = _lifted(a, m)
    distance = dd.add((x, 0.0), dd.negative(lifted))
    power = dd.scale(dd.log_ratio((x, 0.0), lifted, distance, m), a, m)
    power = dd.add(power, dd.negative(distance))
    power = dd.add(power, (0 - _beside_stirling(lifted, m), 0.0))
    peak = dd.sqrt(dd.multiply(lifted, _TURN, m), m)
    peak = dd.multiply(peak, _rise((a, 0.0), lifted, few, m), m)
    return dd.multiply(dd.exp(power, m), peak, m)


def beta_density(a: Value, b: Value, x: dd.Pair, y: dd.Pair, m: Algebra) -> dd.Pair:
    """Return x^a y^b / B(a, b) for y = 1 - x and shapes above 0."""
    whole = dd.two_sum(a, b)
    (few_a, large_a), (few_b, large_b) = _lifted(a, m), _lifted(b, m)
    few = whole[0] < _LIFT
    high, low = dd.two_sum(whole[0], m.where(few, float(_LIFT), 0.0))
    large = dd.two_sum(high, low + whole[1])
    # without shapes that were lifted it is what both logarithms' arguments differ from one by
    left = dd.add(dd.scale(x, b, m), dd.negative(dd.scale(y, a, m)))
    power: dd.Pair = (_beside_stirling(large, m), 0.0)
    for shape, lifted, part, sign in ((a, large_a, x, 1.0), (b, large_b, y, -1.0)):
        reached = dd.multiply(part, large, m)
        apart = dd.add(reached, dd.negative(lifted))
        plain = m.both(a >= _LIFT, b >= _LIFT)
        apart = m.where(plain, left[0] * sign, apart[0]), m.where(plain, left[1] * sign, apart[1])
        logarithm = dd.log_ratio(reached, lifted, apart, m)
        power = dd.add(power, dd.scale(logarithm, shape, m))
        power = dd.add(power, (0 - _beside_stirling(lifted, m), 0.0))
    lifts = [m.where(chosen, float(_LIFT), 0.0) for chosen in (few_a, few_b, few)]
    power = dd.add(power, (lifts[0] + lifts[1] - lifts[2], 0.0))
    peak = dd.multiply(dd.divide(large_a, large, m), dd.multiply(large_b, _TURN, m), m)
    peak = dd.multiply(dd.sqrt(peak, m), _rise((a, 0.0), large_a, few_a, m), m)
    peak = dd.multiply(peak, _rise((b, 0.0), large_b, few_b, m), m)
    peak = dd.divide(peak, _rise(whole, large, few, m), m)
    return dd.multiply(dd.exp(power, m), peak, m)
