"""Formulas of special functions in float64, for whatever has arithmetic: NumPy's arrays, and expressions of kernels.

They are those of the NIST Digital Library of Mathematical Functions (dlmf.nist.gov), whose numbers stand beside them;
polynomials are derived by docs/derive/special.py. `m` is what a formula computes with, beside operators.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import factorial, inf, nan, pi
from math import sqrt as sqrt_of
from typing import Any

from tensorframe.ops import special_tables as tables
from tensorframe.ops import special_zeros as zeros
from tensorframe.ops.double_double import PI
from tensorframe.ops.special_algebra import Algebra, Formula

Value = Any
Table = tuple[tuple[float, float], tuple[float, ...]]
_HALF_LOG_2_PI = 0.9189385332046728
# 1 / sqrt(2): as many bits as a product with half of a number holds exactly, and the rest of it
_HIGH, _LOW = 0.7071067690849304, 1.210161710447897e-08


def polynomial(x: Value, table: Table, m: Algebra) -> Value:
    """Return the value of a table at x, which is anything outside of its interval."""
    (low, high), coefficients = table
    return m.horner((x - (low + high) / 2) * (2 / (high - low)), coefficients)


def _sine(x: Value, m: Algebra) -> Value:
    """Return the sine of pi times x, which is near an integer: its sign is that of even ones."""
    return m.call("sin", (x - m.call("round", x)) * pi)


def _cotangent(part: Value, m: Algebra) -> Value:
    """Return pi times the cotangent of pi times a number from -1/2 to 1/2: functions of all numbers are a longer text."""
    size = abs(part)
    rest = m.call("minimum", size, 0.5 - size)  # from the nearest multiple of 1/2
    squared = rest * rest
    sine, cosine = rest * m.horner(squared, _SINES), m.horner(squared, _COSINES)
    value = m.where(size < 0.25, cosine, sine * pi**2) / m.where(size < 0.25, sine, cosine)
    return m.where(part < 0, 0 - value, value)


# of pi times x, which is 1/4 at most, by its square: the sine over pi x, and the cosine (4.19.1 and 4.19.2)
_PI_SQUARED = (Fraction(PI[0]) + Fraction(PI[1])) ** 2
_SINES, _COSINES = [
    tuple([float((-_PI_SQUARED) ** k / factorial(2 * k + odd)) for k in range(9, -1, -1)]) for odd in (1, 0)
]


def _is_pole(x: Value, m: Algebra) -> Value:
    """Return whether x is a negative integer."""
    return m.both(x < 0, m.equal(x, m.call("round", x)))


# --- gamma


def _gammaln_positive(x: Value, m: Algebra) -> Value:
    # below 2.5 by gamma(x + 1) = x gamma(x) (5.5.1)
    z = m.where(x < 0.5, x, m.where(x < 1.5, x - 1, x - 2))
    near = z * polynomial(z, tables.NEAR_TWO, m)
    near = near - m.where(x < 1.5, m.call("log", x), 0) - m.where(x < 0.5, m.call("log1p", x), 0)
    between = (x - 1) * (x - 2) * polynomial(x, tables.BETWEEN, m)
    near = m.where(m.both(x > 1.1875, x < 1.75), between, near)
    lower, upper = [
        polynomial(x, table, m) for table in (tables.ABOVE_TWO, tables.BELOW_EIGHT)
    ]
    middle = (x - 2) * m.where(x < 4.5, lower, upper)
    # 5.11.1
    large = m.call("maximum", x, 8.0)
    rest = polynomial(1 / (large * large), tables.STIRLING, m) / large
    far = (large - 0.5) * (m.call("log", large) - 1) + (rest + (_HALF_LOG_2_PI - 0.5))
    return m.where(x < 2.5, near, m.where(x < 8, middle, far))


def _gammaln(x: Value, m: Algebra) -> Value:
    positive = _gammaln_positive(abs(x), m)  # 1 - x would be rounded
    reflected = m.call("log", pi / abs(_sine(x, m) * x)) - positive  # 5.5.3
    value = m.where(x < 0, reflected, positive)
    few = m.both(x < 0, x > zeros.LOWEST)
    value = m.seldom(few, lambda x: zeros.gammaln(x, m), value, x)
    return m.where(m.equal(abs(x), inf), inf, value)


def gamma_below_eight(x: Value, m: Algebra) -> Value:
    """Return gamma of numbers from 0 to 8."""
    nearest = m.call("round", m.call("minimum", x, 8.0))
    z = m.where(x < 0.5, x, m.where(x < 1.5, x - 1, x - nearest))
    value = polynomial(z, tables.GAMMA, m)
    for step in range(1, 7):  # gamma(x) = (x - 1) gamma(x - 1)
        value = value * m.where(nearest > step + 1.5, x - step, 1)
    return value / m.where(x < 1.5, x, 1) / m.where(x < 0.5, x + 1, 1)


def _gamma_positive(x: Value, m: Algebra) -> Value:
    value = gamma_below_eight(x, m)
    large = m.call("minimum", m.call("maximum", x, 8.0), 180.0)
    # 5.11.3, half of the power at a time: all of it overflows before the product does
    half = m.call("pow", large, large * 0.5 - 0.25)
    rest = m.call("exp", polynomial(1 / (large * large), tables.STIRLING, m) / large)
    far = half * m.call("exp", -large) * half * (rest * sqrt_of(2 * pi))
    return m.where(x < 8, value, m.where(x > 172, inf, far))


def _gamma(x: Value, m: Algebra) -> Value:
    positive = _gamma_positive(abs(x), m)
    nearest = m.call("round", x)
    sign = (nearest - m.call("floor", nearest * 0.5) * 2) * 2 - 1
    reflected = sign * pi / (_sine(x, m) * x) / positive  # 5.5.3
    value = m.where(x < 0, reflected, positive)
    # on the sides of a pole the signs differ
    return m.where(_is_pole(x, m), nan, m.where(m.equal(x, 0), 1 / x, value))


def _digamma_positive(x: Value, m: Algebra) -> Value:
    root, rest = tables.ROOT
    below = x < 1
    # digamma(x) = digamma(x + 1) - 1 / x (5.5.2)
    distance = m.where(below, x - (root - 1), x - root) - rest
    near = distance * polynomial(m.where(below, x + 1, x), tables.DIGAMMA_NEAR, m)
    near = near - m.where(below, 1 / x, 0)
    large = m.call("maximum", x, 2.0)
    inverse = 1 / large
    v = inverse * inverse
    far = m.call("log", large) - (inverse * 0.5 + v * polynomial(v, tables.DIGAMMA_FAR, m))  # 5.11.2
    return m.where(x < 2, near, far)


def digamma(x: Value, m: Algebra) -> Value:
    """Return the derivative of the logarithm of gamma."""
    positive = _digamma_positive(m.where(x < 0, 1 - x, x), m)
    part = x - m.call("round", x)
    reflected = positive - _cotangent(part, m)  # 5.5.4
    value = m.where(x < 0, reflected, m.where(m.equal(x, 0), -1 / x, positive))
    cancelled = abs(reflected) < m.call("maximum", abs(positive), 1.0) * 4
    value = m.digits(m.both(x < 0, cancelled), lambda x: zeros.digamma(x, m), value, x)
    return m.where(_is_pole(x, m), nan, value)


def _trigamma_positive(x: Value, m: Algebra) -> Value:
    """Return terms of 5.15.1 up to 8, and the expansion 5.15.8 from there."""
    large = m.where(x < 8, x + 8, x)
    inverse = 1 / large
    v = inverse * inverse
    value = inverse + (v * 0.5 + v * inverse * polynomial(v, tables.TRIGAMMA_FAR, m))
    for step in reversed(range(8)):
        term = 1 / (x + step)
        value = value + m.where(x < 8, term * term, 0)
    return value


def _trigamma(x: Value, m: Algebra) -> Value:
    positive = _trigamma_positive(m.where(x < 0, 1 - x, x), m)
    root = pi / _sine(x, m)
    return m.where(x < 0, root * root - positive, positive)  # 5.15.6


# --- inverses of error functions


def _ratio(w: Value, m: Algebra) -> Value:
    """Return erfinv(x) / x by w = -log(1 - x^2)."""
    w = m.call("minimum", w, 780.0)
    root = m.call("sqrt", m.call("maximum", w, 6.25))
    q = 1 / root
    far, farther, farthest = [
        polynomial(q, table, m)
        for table in (tables.INVERSE_FAR, tables.INVERSE_FARTHER, tables.INVERSE_FARTHEST)
    ]
    far = root * m.where(q < 0.16, farthest, m.where(q < 0.25, farther, far))
    return m.where(w < 6.25, polynomial(w, tables.INVERSE_NEAR, m), far)


def _erfinv(x: Value, m: Algebra) -> Value:
    value = x * _ratio(-m.call("log", (1 - x) * (1 + x)), m)
    return m.where(m.equal(abs(x), 1), x * inf, value)


def _erfcinv(x: Value, m: Algebra) -> Value:
    value = (1 - x) * _ratio(-m.call("log", x * (2 - x)), m)
    return m.where(m.equal(x, 0), inf, m.where(m.equal(x, 2), -inf, value))


def _ndtri(p: Value, m: Algebra) -> Value:
    return 0 - _erfcinv(p * 2, m) * sqrt_of(2)


def _ndtr(x: Value, m: Algebra) -> Value:
    x = m.call("maximum", m.call("minimum", x, 40.0), -40.0)
    y = x * -sqrt_of(0.5)
    # what rounding took from y changes erfc(y) by a factor that grows with y (T. J. Dekker, Numer. Math. 18, 1971)
    moved = x * 134217729.0
    first = moved - (moved - x)
    rest = (first * -_HIGH - y) + (first * -_LOW - (x - first) * (_HIGH + _LOW))
    scaled = m.call("erfc", y) * 0.5
    return m.where(y > 1, scaled - scaled * (y * rest * 2), scaled)


# --- modified Bessel functions


def _bessel(order: int, scaled: bool, x: Value, m: Algebra) -> Value:
    """Return I(x) of order 0 or 1: 10.25.2 up to 8, and 10.40.1 from there; `scaled` by exp(-|x|)."""
    size = abs(x)
    small, large = m.call("minimum", size, 8.0), m.call("maximum", size, 8.0)
    near = m.horner(small * small * 0.25, _SERIES[order])
    near = near if order == 0 else near * (small * 0.5)
    table = tables.BESSEL_0 if order == 0 else tables.BESSEL_1
    far = polynomial(8 / large, table, m) / m.call("sqrt", large)
    if scaled:
        near = near * m.call("exp", -small)
    else:  # half of the exponential at a time: all of it overflows before the product does
        growth = m.call("exp", m.call("minimum", large * 0.5, 500.0))
        far = m.where(m.equal(size, inf), inf, growth * far * growth)
    value = m.where(size < 8, near, far)
    return value if order == 0 else m.where(x < 0, -value, m.where(m.equal(x, 0), x, value))


_SERIES = {
    order: tuple([1 / (factorial(k) * factorial(k + order)) for k in reversed(range(26))])
    for order in (0, 1)
}

# name of a row -> its formula
FORMULAS: dict[str, Formula] = {
    "digamma": digamma,
    "erfcinv": _erfcinv,
    "erfinv": _erfinv,
    "gamma": _gamma,
    "gammaln": _gammaln,
    "i0": partial(_bessel, 0, False),
    "i0e": partial(_bessel, 0, True),
    "i1": partial(_bessel, 1, False),
    "i1e": partial(_bessel, 1, True),
    "ndtr": _ndtr,
    "ndtri": _ndtri,
    "trigamma": _trigamma,
}
