"""Incomplete gamma and beta functions in float64, written as `special_math.py` is: without branches or loops.

The smaller of both tails is an integral over logarithms (of the argument, or of its odds): in them the integrand is
exp(-h(s)) times the density at the end, with a convex h, so a fixed rule up to where nothing is left has all digits. What
surrounds the integral is computed with pairs of float64: each rounding there would be one of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, inf, nan, sqrt
from typing import Any

from tensorframe.ops import double_double as dd
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_algebra import Algebra, Formula
from tensorframe.ops.special_densities import beta_density, gamma_density

Value = Any

# an integrand of exp(-37.5) is nothing beside one
_END = 37.5
# shapes below it are taken up by recurrence: their tails are long
_SHIFTS = 4
# exp(w) - 1 - w over w^2, and log(1 + y) - y by s = y / (2 + y): (2 atanh(s) - 2 s) / (2 s^3)
_EXPONENTIAL = tuple([1 / factorial(k) for k in range(18, 1, -1)])
_LOGARITHM = tuple([1 / (2 * k + 1) for k in range(17, 0, -1)])
# terms of series of powers up to one over factorials, the last of them as pairs; and of powers up to a third
_SMALL, _WIDE, _FLAT = 18, 4, 34
_NEWTON = 4
# shapes beyond it are infinite, or leave steps
_MOST = 1e100


def _curved(w: Value, m: Algebra) -> Value:
    """Return exp(w) - 1 - w."""
    near = m.horner(w, _EXPONENTIAL) * (w * w)
    return m.where(abs(w) < 1, near, m.call("exp", w) - (w + 1))


def _log_rest(y: Value, m: Algebra) -> Value:
    """Return log(1 + y) - y up to one."""
    s = y / (y + 2)
    v = s * s
    return m.horner(v, _LOGARITHM) * (2 * s * v) - y * s


def _integral(
    end: Value, exponent: Callable[[Value], Value], m: Algebra, begin: Value = 0.0
) -> Value:
    """Return the integral of exp(-h) from where it begins to an end."""
    total: Value = 0.0
    lost: Value = 0.0
    length = end - begin
    for node, weight in tables.GAUSS:
        value = m.call("exp", -exponent(begin + length * node)) * weight
        total, rest = dd.two_sum(total, value)
        lost = lost + rest
    return (total + lost) * length


def _quadratic_end(slope: Value, curvature: Value, m: Algebra) -> Value:
    """Return where slope s + curvature s^2 is `_END`."""
    root = m.call("hypot", slope, m.call("sqrt", curvature) * (2 * sqrt(_END)))
    return 2 * _END / (slope + root)


def _chosen(condition: Value, x: dd.Pair, y: dd.Pair, m: Algebra) -> dd.Pair:
    return m.where(condition, x[0], y[0]), m.where(condition, x[1], y[1])


def _complement(x: dd.Pair) -> Value:
    """Return 1 - x."""
    high, low = dd.add((1.0, 0.0), dd.negative(x))
    return high + low


# --- gamma


def _gamma_tail(a: Value, x: Value, m: Algebra) -> dd.Pair:
    """Return P(a, x) where x is below a, else Q(a, x)."""
    lower = x < a
    density = gamma_density(a, x, m)
    shifted = m.both(lower, a < _SHIFTS)
    steps: dd.Pair = (1.0, 0.0)
    factor = dd.divide((x, 0.0), (a, 0.0), m)
    for step in range(_SHIFTS - 1, 0, -1):  # 8.8.5
        ratio = dd.divide((x, 0.0), dd.two_sum(a, float(step)), m)
        steps = dd.add_alike((1.0, 0.0), dd.multiply(steps, ratio, m))
        factor = dd.multiply(factor, ratio, m)
    begun = dd.divide(dd.multiply(density, steps, m), (a, 0.0), m)
    begun = _chosen(shifted, begun, (0.0, 0.0), m)
    density = _chosen(shifted, dd.multiply(density, factor, m), density, m)
    a = m.where(shifted, a + _SHIFTS, a)
    distance, sign = abs(x - a), m.where(lower, -1.0, 1.0)
    near = _quadratic_end(distance, x * (1 / 3), m)
    below = m.where(near < 1, near, (x + _END) / a)
    far = m.call("log", 1.1 * _END / x + 3.5)
    above = m.call("minimum", _quadratic_end(distance, x * 0.5, m), far)
    end = m.where(lower, below, above)

    def exponent(s: Value) -> Value:
        return distance * s + x * _curved(sign * s, m)

    return dd.add_alike(begun, dd.scale(density, _integral(end, exponent, m), m))


def _small_gammas(a: Value, x: Value, m: Algebra) -> tuple[Value, Value]:
    """Return P and Q for a and x below 1, by 8.7.1: each without subtracting it from 1."""
    low = a < 0.5
    z = m.where(low, a, a - 1)
    # x^a - 1 and 1 / gamma(1 + a) - 1, which both are as small as a is
    power = dd.scale(dd.log_ratio((x, 0.0), (1.0, 0.0), dd.two_sum(x, -1.0), m), a, m)
    grown = dd.expm1(power, m)
    slope = dd.polynomial((z, 0.0), tables.RECIPROCAL_GAMMA[:-1], _WIDE, m)
    raised = dd.add_alike(slope, dd.scale(slope, a, m))
    scale = dd.scale(_chosen(low, dd.add_alike((1.0, 0.0), raised), slope, m), z, m)
    value = dd.multiply(dd.exp(power, m), dd.add((1.0, 0.0), scale), m)
    beside_one = dd.add(dd.add(grown, scale), dd.multiply(grown, scale, m))
    series: Value = 0.0
    for step in range(_SMALL, _WIDE, -1):
        series = (series + 1 / (a + step)) * (x * (-1 / step))
    last: dd.Pair = (series, 0.0)
    for step in range(_WIDE, 0, -1):
        last = dd.add(last, dd.divide((1.0, 0.0), dd.two_sum(a, float(step)), m))
        last = dd.divide(dd.scale(last, 0 - x, m), (float(step), 0.0), m)
    rest = dd.multiply(value, dd.scale(last, a, m), m)
    lower, upper = dd.add(value, rest), dd.add(beside_one, rest)
    return lower[0] + lower[1], 0 - (upper[0] + upper[1])


def _gammas(a: Value, x: Value, upper: bool, m: Algebra) -> Value:
    most = m.call("maximum", a, x) > _MOST
    defined = m.both(a >= 0, x >= 0)
    inside = m.both(m.both(a > 0, x > 0), most < 1)
    few, end = m.where(inside, a, 1.0), m.where(inside, x, 1.0)
    tail = _gamma_tail(few, end, m)
    plain = tail[0] + tail[1]
    below, above = (_complement(tail), plain) if upper else (plain, _complement(tail))
    value = m.where(end < few, below, above)
    value = m.seldom(
        m.both(few < 1, end < 1), lambda a, x: _small_gammas(a, x, m)[upper], value, few, end
    )
    none, whole = (1.0, 0.0) if upper else (0.0, 1.0)
    steps = m.where(x < a, none, m.where(m.equal(x, a), 0.5, whole))
    value = m.where(most, steps, value)
    value = m.where(m.equal(x, 0), none, m.where(m.equal(x, inf), whole, value))
    value = m.where(m.equal(a, 0), whole, m.where(m.equal(a, inf), none, value))
    # neither end has a limit where the other is its own
    corner = m.both(m.equal(a, x), m.equal(a * 0.5, a))
    return m.where(defined, m.where(corner, nan, value), nan)


def _gammainc(a: Value, x: Value, m: Algebra) -> Value:
    return _gammas(a, x, False, m)


def _gammaincc(a: Value, x: Value, m: Algebra) -> Value:
    return _gammas(a, x, True, m)


# --- beta


def _beta_tail(
    a: Value, b: Value, x: dd.Pair, y: dd.Pair, density: dd.Pair, m: Algebra, more: dd.Pair = (0.0, 0.0)
) -> dd.Pair:
    """Return I(x; a, b), and `more` times the density, for y = 1 - x, where x is below a / (a + b)."""
    shifted = a < _SHIFTS
    steps: dd.Pair = (1.0, 0.0)
    whole = dd.two_sum(a, b)
    factor = dd.divide(dd.multiply(x, whole, m), (a, 0.0), m)
    for step in range(_SHIFTS - 1, 0, -1):  # 8.17.20
        high, low = dd.two_sum(a, float(step))
        # both sums rise by one from step to step
        ratio = dd.divide(dd.multiply(x, dd.raised(whole, step), m), (high, low), m)
        factor = dd.multiply(factor, ratio, m)
        before = dd.divide(dd.multiply(x, dd.raised(whole, step - 1), m), (high, low), m)
        steps = dd.add_alike((1.0, 0.0), dd.multiply(steps, before, m))
    begun = dd.divide(dd.multiply(density, steps, m), (a, 0.0), m)
    begun = _chosen(shifted, begun, (0.0, 0.0), m)
    begun = dd.add_alike(begun, dd.multiply(density, more, m))
    density = _chosen(shifted, dd.multiply(density, factor, m), density, m)
    a = m.where(shifted, a + _SHIFTS, a)
    left = dd.add(dd.scale(y, a, m), dd.negative(dd.scale(x, b, m)))
    slope = left[0] + left[1]
    (x, _), (y, _) = x, y
    n = a + b
    # by the smaller part, of which terms cancel least
    smaller, sign = m.where(x < y, x, y), m.where(x < y, -1.0, 1.0)

    def exponent(s: Value) -> Value:
        w = sign * s
        moved = smaller * m.call("expm1", w)
        near = smaller * _curved(w, m) + _log_rest(m.call("minimum", moved, 1.0), m)
        far = m.call("log1p", moved) - smaller * w
        return slope * s + n * m.where(moved < 1, near, far)

    # the integrand bends where the odds are even: a long way from there it is flat, or falls
    even = m.call("log", m.call("maximum", x, 1e-300) / m.call("maximum", y, 1e-300))
    end = _beta_end(a, b, x, y, slope, even, exponent, m)
    middle = m.where(m.both(even > 0, even < end), even, end * 0.5)
    both = _integral(middle, exponent, m) + _integral(end, exponent, m, middle)
    return dd.add_alike(begun, dd.scale(density, both, m))


def _beta_end(
    a: Value,
    b: Value,
    x: Value,
    y: Value,
    slope: Value,
    even: Value,
    exponent: Callable[[Value], Value],
    m: Algebra,
) -> Value:
    """Return where h is `_END`: Newton's method, which comes to a root of a convex function from above."""
    n = a + b
    odds = x / (x + y * 2.718281828459045)
    curvature = n * 0.5 * m.call("minimum", x * y, odds * (1 - odds))
    near = _quadratic_end(slope, curvature, m)
    # up to even odds h bends more and more
    steady = near < m.call("maximum", even, 1.0)
    end = m.where(steady, near, (_END - n * m.call("log", y)) / a)
    for _ in range(_NEWTON):
        gone = x * m.call("expm1", -end)
        steepness = (slope - b * gone) / (1 + gone)
        over = m.call("maximum", exponent(end) - _END, 0.0)
        end = end - over / m.call("maximum", steepness, 1e-300)
    return end


def _first_part(a: Value, b: Value, m: Algebra) -> Value:
    """Return the y up to which the integrand of I(1 - y; a, b) is a power of it times a series of a few terms."""
    return m.call("minimum", 0.5 / (a + b), 1 / 3)


def _almost_all(a: Value, b: Value, y: Value, m: Algebra) -> Value:
    """Return I(1 - y; a, b) for b below a half and half of a, and small y: up to some point, and from there on by a series.

    So nothing is taken from 1, however little is left of it, and the integral is no flat one that falls at its end alone.
    The series is that of 8.17.7.
    """
    begin = _first_part(a, b, m)
    x = dd.two_sum(1.0, 0 - begin)
    density = beta_density(a, b, x, (begin, 0.0), m)
    ends = []
    for end in (begin, y):
        series: Value = 0.0
        for step in range(_FLAT, 0, -1):
            series = (series + 1 / (step + b)) * ((step - a) * end / step)
        ends.append(series)
    apart = dd.two_sum(y, 0 - begin)
    logarithm = dd.scale(dd.log_ratio((y, 0.0), (begin, 0.0), apart, m), b, m)
    flat = dd.divide(dd.expm1(logarithm, m), (b, 0.0), m)
    rest = ends[0] - m.call("exp", logarithm[0]) * ends[1]
    flat = dd.scale(dd.add((rest, 0.0), dd.negative(flat)), m.call("exp", 0 - a * m.call("log1p", 0 - begin)), m)
    high, low = _beta_tail(a, b, x, (begin, 0.0), density, m, flat)
    return high + low


def _betainc(a: Value, b: Value, x: Value, m: Algebra) -> Value:
    whole_a, whole_b, argument = a, b, x
    inside = m.both(m.both(m.both(a > 0, b > 0), m.both(x > 0, x < 1)), m.both(a < _MOST, b < _MOST))
    a, b, x = m.where(inside, a, 1.0), m.where(inside, b, 1.0), m.where(inside, x, 0.5)
    y = dd.two_sum(1.0, 0 - x)
    lower = x * b <= y[0] * a
    parts: list[dd.Pair] = [(x, 0.0), y]
    left, right = _chosen(lower, parts[0], y, m), _chosen(lower, y, parts[0], m)
    first, second = m.where(lower, a, b), m.where(lower, b, a)
    density = beta_density(first, second, left, right, m)
    tail = _beta_tail(first, second, left, right, density, m)
    value = m.where(lower, tail[0] + tail[1], _complement(tail))
    swapped = a < b
    large, small = m.call("maximum", a, b), m.call("minimum", a, b)
    end = m.where(swapped, x, y[0])
    little = m.both(m.both(small < 0.5, small * 2 <= large), end < _first_part(large, small, m))
    little = m.both(little, m.both(swapped, lower) < 1)
    other = m.seldom(little, lambda a, b, y: _almost_all(a, b, y, m), value, large, small, end)
    value = m.where(m.both(little, swapped), 1 - other, other)
    a, b, x = m.call("minimum", whole_a, _MOST), m.call("minimum", whole_b, _MOST), argument
    value = m.where(m.equal(b, 0), 0.0, m.where(m.equal(a, 0), 1.0, value))
    value = m.where(b >= _MOST, 1.0, m.where(a >= _MOST, 0.0, value))
    value = m.where(m.equal(x, 0), 0.0, m.where(m.equal(x, 1), 1.0, value))
    defined = m.both(m.both(a >= 0, b >= 0), m.both(x >= 0, x <= 1))
    value = m.where(m.both(a >= _MOST, b >= _MOST), nan, value)
    value = m.where(m.both(m.equal(a, 0), m.equal(b, 0)), nan, value)
    return m.where(defined, value, nan)


# name of a row -> its formula
FORMULAS: dict[str, Formula] = {
    "betainc": _betainc,
    "gammainc": _gammainc,
    "gammaincc": _gammaincc,
}
