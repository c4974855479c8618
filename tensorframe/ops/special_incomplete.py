"""Incomplete gamma and beta functions in float64, written as `special_math.py` is: without branches or loops.

The smaller of both tails is an integral over logarithms (of the argument, or of its odds): in them the integrand is
exp(-h(s)) times its value at the end, with a convex h, so a fixed rule up to where nothing is left has all digits.
The value at the end comes without cancellation by what the gamma function is beside Stirling's formula (DLMF 5.11.3), and
its exponent as a pair of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, inf, nan, pi, sqrt
from typing import Any

from tensorframe.ops import double_double as dd
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_algebra import Algebra, Formula
from tensorframe.ops.special_math import gamma_below_eight, polynomial

Value = Any

# an integrand of exp(-37.5) is nothing beside one
_END = 37.5
# shapes below it are taken up by recurrence: their tails are long
_SHIFTS = 4
# exp(w) - 1 - w over w^2, and log(1 + y) - y by s = y / (2 + y): (2 atanh(s) - 2 s) / (2 s^3)
_EXPONENTIAL = tuple([1 / factorial(k) for k in range(18, 1, -1)])
_LOGARITHM = tuple([1 / (2 * k + 1) for k in range(12, 0, -1)])
_SMALL = tuple(range(18, 0, -1))
_NEWTON = 4
# shapes beyond it are infinite
_MOST = 1e100
# numbers up to it, and down to its reciprocal, are multiplied as pairs
_LARGE = 1e25


def _curved(w: Value, m: Algebra) -> Value:
    """Return exp(w) - 1 - w."""
    near = m.horner(w, _EXPONENTIAL) * (w * w)
    return m.where(abs(w) < 1, near, m.call("exp", w) - (w + 1))


def _log_rest(a: Value, ratio: Value, difference: Value, m: Algebra) -> Value:
    """Return a log(ratio) - difference, where the ratio is 1 + difference / a."""
    y = difference / a
    s = y / (y + 2)
    v = s * s
    near = m.horner(v, _LOGARITHM) * (2 * s * v) - y * s
    far = a * m.call("log", m.call("minimum", ratio, 1e308)) - difference
    return m.where(abs(y) < 0.4, a * near, far)


def _scaled_gamma(z: Value, m: Algebra) -> Value:
    """Return gamma(z) beside Stirling's formula, sqrt(2 pi / z) (z / e)^z."""
    large, small = m.call("maximum", z, 8.0), m.call("minimum", z, 8.0)
    far = m.call("exp", polynomial(1 / (large * large), tables.STIRLING, m) / large)
    stirling = m.call("pow", small, small - 0.5) * m.call("exp", -small) * sqrt(2 * pi)
    return m.where(z < 8, gamma_below_eight(small, m) / stirling, far)


def _integral(
    end: Value, exponent: Callable[[Value], Value], m: Algebra, begin: Value = 0.0
) -> Value:
    """Return the integral of exp(-h) from where it begins to an end."""
    total: Value = 0.0
    length = end - begin
    for node, weight in tables.GAUSS:
        total = total + m.call("exp", -exponent(begin + length * node)) * weight
    return total * length


def _quadratic_end(slope: Value, curvature: Value, m: Algebra) -> Value:
    """Return where slope s + curvature s^2 is `_END`."""
    root = m.call("hypot", slope, m.call("sqrt", curvature) * (2 * sqrt(_END)))
    return 2 * _END / (slope + root)


def _exponential(
    terms: Sequence[tuple[Value, dd.Pair]], rest: dd.Pair, plain: Value, m: Algebra
) -> Value:
    """Return e to the power of numbers times logarithms and a rest, whose rounding would change it as much as it is large.

    So the exponent is a pair of floats, unless one of the numbers is too large for products of pairs, or too small:
    then it is `plain`.
    """
    held = m.equal(0 * plain, 0)
    for factor, ratio in terms:
        held = m.both(held, m.both(factor > 1 / _LARGE, factor < _LARGE))
        held = m.both(held, m.both(ratio[0] > 1 / _LARGE, ratio[0] < _LARGE))
    power = rest
    for factor, ratio in terms:
        logarithm = dd.log((m.where(held, ratio[0], 1.0), m.where(held, ratio[1], 0.0)), m)
        power = dd.add(power, dd.scale(logarithm, m.where(held, factor, 1.0), m))
    exact = m.call("exp", power[0]) * (power[1] + 1)
    return m.where(held, exact, m.call("exp", plain))


# --- gamma


def _gamma_peak(a: Value, x: Value, m: Algebra) -> Value:
    """Return exp(a log(x / a) - (x - a))."""
    less, rest = dd.two_sum(x, 0 - a)
    plain = _log_rest(a, x / a, x - a, m)
    return _exponential([(a, dd.divide((x, 0.0), (a, 0.0), m))], (0 - less, 0 - rest), plain, m)


def _gamma_tail(a: Value, x: Value, m: Algebra) -> Value:
    """Return P(a, x) where x is below a, else Q(a, x)."""
    lower = x < a
    density = _gamma_peak(a, x, m)
    density = density * m.call("sqrt", a * (0.5 / pi)) / _scaled_gamma(a, m)  # 8.4.10 times a
    shifted = m.both(lower, a < _SHIFTS)
    steps: Value = 1.0
    factor: Value = 1.0
    for step in range(_SHIFTS - 1, 0, -1):  # 8.8.5
        steps = steps * (x / (a + step)) + 1
    for step in range(_SHIFTS):
        factor = factor * (x / (a + step))
    begun = m.where(shifted, density * steps / a, 0.0)
    density = density * m.where(shifted, factor, 1.0)
    a = m.where(shifted, a + _SHIFTS, a)
    distance, sign = abs(x - a), m.where(lower, -1.0, 1.0)
    near = _quadratic_end(distance, x * (1 / 3), m)
    below = m.where(near < 1, near, (x + _END) / a)
    far = m.call("log", 1.1 * _END / x + 3.5)
    above = m.call("minimum", _quadratic_end(distance, x * 0.5, m), far)
    end = m.where(lower, below, above)

    def exponent(s: Value) -> Value:
        return distance * s + x * _curved(sign * s, m)

    return begun + density * _integral(end, exponent, m)


def _small_gammas(a: Value, x: Value, m: Algebra) -> tuple[Value, Value]:
    """Return P and Q for a and x below 1, by 8.7.1: each without subtracting it from 1."""
    z = m.where(a < 0.5, a, a - 1)
    logarithm = z * polynomial(z, tables.NEAR_TWO, m) - m.where(a < 0.5, m.call("log1p", a), 0.0)
    power = a * m.call("log", x) - logarithm
    series: Value = 0.0
    for step in _SMALL:
        series = (series + 1 / (a + step)) * (x * (-1 / step))
    value = m.call("exp", power)
    rest = value * (a * series)
    return value + rest, 0 - m.call("expm1", power) - rest


def _gammas(a: Value, x: Value, upper: bool, m: Algebra) -> Value:
    tail = _gamma_tail(a, x, m)
    small = _small_gammas(a, x, m)[upper]
    direct = m.where(x < a, 1 - tail, tail) if upper else m.where(x < a, tail, 1 - tail)
    value = m.where(m.both(a < 1, x < 1), small, direct)
    none, whole = (1.0, 0.0) if upper else (0.0, 1.0)
    value = m.where(m.equal(x, 0), none, m.where(m.equal(x, inf), whole, value))
    value = m.where(m.equal(a, 0), whole, m.where(m.equal(a, inf), none, value))
    defined = m.both(a >= 0, x >= 0)
    # neither end has a limit where the other is its own
    corner = m.both(m.equal(a, x), m.equal(a * 0.5, a))
    return m.where(defined, m.where(corner, nan, value), nan)


def _gammainc(a: Value, x: Value, m: Algebra) -> Value:
    return _gammas(a, x, False, m)


def _gammaincc(a: Value, x: Value, m: Algebra) -> Value:
    return _gammas(a, x, True, m)


# --- beta


def _beta_tail(
    a: Value, b: Value, x: Value, y: Value, x_rest: Value, y_rest: Value, m: Algebra
) -> Value:
    """Return I(x; a, b) for y = 1 - x, where x is below a / (a + b), and what rounding took from both."""
    n = a + b
    distance = x * b - y * a
    plain = _log_rest(a, x * n / a, distance, m) + _log_rest(b, y * n / b, -distance, m)
    whole = dd.two_sum(a, b)
    ratios = [
        (shape, dd.divide(dd.multiply(part, whole, m), (shape, 0.0), m))
        for shape, part in ((a, (x, x_rest)), (b, (y, y_rest)))
    ]
    density = _exponential(ratios, (0.0, 0.0), plain, m)
    density = density * m.call("sqrt", a / n * (b * (0.5 / pi)))
    density = density * _scaled_gamma(n, m) / (_scaled_gamma(a, m) * _scaled_gamma(b, m))
    shifted = a < _SHIFTS
    steps: Value = 1.0
    factor = x * n / a
    for step in range(_SHIFTS - 1, 0, -1):  # 8.17.20
        steps = steps * (x * (n + (step - 1)) / (a + step)) + 1
    for step in range(1, _SHIFTS):
        factor = factor * (x * (n + step) / (a + step))
    begun = m.where(shifted, density / a * steps, 0.0)
    density = density * m.where(shifted, factor, 1.0)
    a = m.where(shifted, a + _SHIFTS, a)
    n = a + b
    rising, falling = m.product(y, a), m.product(x, b)  # these cancel near the mode
    slope = (rising[0] - falling[0]) + ((rising[1] - falling[1]) + (y_rest * a - x_rest * b))
    end = _beta_end(a, b, x, y, slope, m)

    def exponent(s: Value) -> Value:
        curved = _curved(-s, m)
        moved = x * (curved - s)
        return slope * s + n * (x * curved + _log_rest(1.0, moved + 1, moved, m))

    # the integrand bends where the odds are even: a long way from there it is flat, or falls
    even = m.call("log", m.call("maximum", x, 1e-300) / m.call("maximum", y, 1e-300))
    middle = m.where(m.both(even > 0, even < end), even, end * 0.5)
    both = _integral(middle, exponent, m) + _integral(end, exponent, m, middle)
    return begun + density * both


def _beta_end(a: Value, b: Value, x: Value, y: Value, slope: Value, m: Algebra) -> Value:
    """Return where h is `_END`: Newton's method, which comes to a root of a convex function from above."""
    n = a + b
    odds = x / (x + y * 2.718281828459045)
    curvature = n * 0.5 * m.call("minimum", x * y, odds * (1 - odds))
    near = _quadratic_end(slope, curvature, m)
    end = m.where(near < 1, near, (_END - n * m.call("log", y)) / a)
    for _ in range(_NEWTON):
        left = x * m.call("exp", -end)
        value = a * end + n * m.call("log", y + left)
        slope = (a * y - b * left) / (y + left)
        end = end - m.call("maximum", value - _END, 0.0) / m.call("maximum", slope, 1e-300)
    return end


def _betainc(a: Value, b: Value, x: Value, m: Algebra) -> Value:
    y, rest = dd.two_sum(1.0, 0 - x)
    a, b = m.call("minimum", a, _MOST), m.call("minimum", b, _MOST)
    lower = x * b <= y * a

    def sided(left: Value, right: Value) -> Value:
        return m.where(lower, left, right)

    rests = sided(0.0, rest), sided(rest, 0.0)
    tail = _beta_tail(sided(a, b), sided(b, a), sided(x, y), sided(y, x), *rests, m)
    value = sided(tail, 1 - tail)
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
