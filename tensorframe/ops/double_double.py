"""Numbers of 106 bits as sums of two float64, the second half a unit in the last place of the first at most.

Formulas use them where large terms cancel: near zeros of functions, and in exponents. The algorithms are those of
T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18 (1971), and of
M. Joldes, J.-M. Muller and V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
arithmetic", ACM Trans. Math. Softw. 44 (2017): relative errors of some 2^-104.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial
from typing import Any, Protocol

Value = Any
Pair = tuple[Value, Value]

PI: tuple[float, float] = (3.141592653589793, 1.2246467991473532e-16)
# log(2): as many bits as a product with 11 bits holds exactly, and the rest of it
_LOG_2_HIGH = 0.6931471805598903
_LOG_2_REST = (5.497923018708371e-14, 1.94704509238075e-31)
_LOG_2_INVERSE = 1.4426950408889634
# exp(w) - 1 - w over w^2
_EXPONENTIAL = tuple([1 / factorial(k) for k in range(16, 1, -1)])
_SPLIT = 134217729.0  # 2^27 + 1


class Exact(Protocol):
    """What knows the error of a product, and the other functions that pairs are made with."""

    def product(self, x: Value, y: Value) -> Pair:
        """Return the product, rounded, and what rounding took from it."""

    def call(self, name: str, *operands: Value) -> Value:
        """Return an elementwise function."""

    def equal(self, x: Value, y: Value) -> Value:
        """Return whether x equals y."""

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """Return x where the condition holds, else y."""

    def horner(self, t: Value, coefficients: tuple[float, ...]) -> Value:
        """Return a polynomial, whose coefficient of the highest power comes first."""


def pair(number: Fraction) -> tuple[float, float]:
    """Return the two floats that are nearest to a fraction."""
    high = float(number)
    return high, float(number - Fraction(high))


def split_product(x: Value, y: Value) -> Pair:
    """Return a product and its error where there is no fused multiply-add."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Value) -> Pair:
    moved = x * _SPLIT
    high = moved - (moved - x)
    return high, x - high


def two_sum(x: Value, y: Value) -> Pair:
    """Return a sum and its error."""
    total = x + y
    virtual = total - x
    return total, (x - (total - virtual)) + (y - virtual)


def raised(x: Pair, step: int) -> Pair:
    """Return a sum with an integer, where they do not cancel."""
    high, low = two_sum(x[0], float(step))
    return high, low + x[1]


def _joined(high: Value, low: Value) -> Pair:
    """Return the same number as a pair, where the first is the larger."""
    total = high + low
    return total, low - (total - high)


def add(x: Pair, y: Pair) -> Pair:
    """Return a sum, whose relative error is as small where both cancel."""
    high, rest = two_sum(x[0], y[0])
    low, least = two_sum(x[1], y[1])
    high, rest = _joined(high, rest + low)
    return _joined(high, rest + least)


def add_alike(x: Pair, y: Pair) -> Pair:
    """Return a sum of numbers that do not cancel."""
    high, rest = two_sum(x[0], y[0])
    return _joined(high, rest + (x[1] + y[1]))


def multiply(x: Pair, y: Pair, m: Exact) -> Pair:
    """Return a product."""
    high, rest = m.product(x[0], y[0])
    return _joined(high, rest + (x[0] * y[1] + x[1] * y[0]))


def scale(x: Pair, factor: Value, m: Exact) -> Pair:
    """Return a product with a float64."""
    high, rest = m.product(x[0], factor)
    return _joined(high, rest + x[1] * factor)


def divide(x: Pair, y: Pair, m: Exact) -> Pair:
    """Return a quotient."""
    quotient = x[0] / y[0]
    high, rest = m.product(quotient, y[0])
    left = ((x[0] - high) - rest) + (x[1] - quotient * y[1])
    return _joined(quotient, left / y[0])


def polynomial(t: Pair, coefficients: Sequence[tuple[float, float]], wide: int, m: Exact) -> Pair:
    """Return a polynomial, the highest power first, of which the last `wide` steps need all bits."""
    first = tuple([high for high, _ in coefficients[: len(coefficients) - wide]])
    value: Pair = (m.horner(t[0], first), 0.0)
    for coefficient in coefficients[len(coefficients) - wide :]:
        value = add_alike(coefficient, multiply(value, t, m))
    return value


_ATANH = [pair(Fraction(1, 2 * k + 1)) for k in range(22, -1, -1)]
_SINE, _COSINE = [
    [pair(Fraction((-1) ** k, factorial(2 * k + odd))) for k in range(13, -1, -1)] for odd in (1, 0)
]


def log(x: Pair, m: Exact) -> Pair:
    """Return the logarithm of a number that is not tiny."""
    power = m.call("round", m.call("log2", x[0]))
    shrunk = m.call("exp2", -power)
    fraction = (x[0] * shrunk, x[1] * shrunk)
    less, more = two_sum(fraction[0], -1.0), two_sum(fraction[0], 1.0)
    less, more = [(high, low + fraction[1]) for high, low in (less, more)]
    return _logarithm(power, less, _joined(*more), m)


def log_ratio(x: Pair, y: Pair, difference: Pair, m: Exact) -> Pair:
    """Return log(x / y) of numbers above 0, as accurate as their difference where they are near each other."""
    power = m.call("round", m.call("log2", x[0] / y[0]))
    shrunk = shift(x, -power, m)
    near = m.equal(power, 0)
    less = add(shrunk, negative(y))
    less = m.where(near, difference[0], less[0]), m.where(near, difference[1], less[1])
    return _logarithm(power, less, add_alike(shrunk, y), m)


def _logarithm(power: Value, less: Pair, more: Pair, m: Exact) -> Pair:
    """Return that of 2^k f, as k log(2) and 2 atanh((f - 1) / (f + 1)) (DLMF 4.38.1)."""
    s = divide(less, more, m)
    near = scale(multiply(s, polynomial(multiply(s, s, m), _ATANH, 12, m), m), 2.0, m)
    whole = add_alike((power * _LOG_2_HIGH, 0.0), scale(_LOG_2_REST, power, m))
    return add(whole, near)


def exp(x: Pair, m: Exact) -> Pair:
    """Return e to a power, to 58 bits: what follows a power's first term is small enough for float64."""
    power, (high, low) = _reduced(x, m)
    total, rest = two_sum(1.0, high)
    return shift(_joined(total, rest + (low + high * high * m.horner(high, _EXPONENTIAL))), power, m)


def expm1(x: Pair, m: Exact) -> Pair:
    """Return e to a power, less one, to 54 bits and more the smaller the power is."""
    power, (high, low) = _reduced(x, m)
    total, rest = two_sum(high, high * high * m.horner(high, _EXPONENTIAL))
    near = _joined(total, rest + (low + low * high))
    far = add(exp(x, m), (-1.0, 0.0))
    begun = m.equal(power, 0)
    return m.where(begun, near[0], far[0]), m.where(begun, near[1], far[1])


def _reduced(x: Pair, m: Exact) -> tuple[Value, Pair]:
    """Return k and x - k log(2), which is at most half of log(2)."""
    power = m.call("round", x[0] * _LOG_2_INVERSE)
    begun = add(x, (0 - power * _LOG_2_HIGH, 0.0))
    return power, add(begun, negative(scale(_LOG_2_REST, power, m)))


def shift(x: Pair, power: Value, m: Exact) -> Pair:
    """Return a pair times a power of two, half of it at a time: all of it may be no float64."""
    half = m.call("floor", power * 0.5)
    first, second = m.call("exp2", half), m.call("exp2", power - half)
    return x[0] * first * second, x[1] * first * second


def sqrt(x: Pair, m: Exact) -> Pair:
    """Return the square root of a number above 0."""
    root = m.call("sqrt", x[0])
    high, low = m.product(root, root)
    return _joined(root, (((x[0] - high) - low) + x[1]) / (root * 2))


def negative(x: Pair) -> Pair:
    """Return a number with the other sign."""
    return 0 - x[0], 0 - x[1]


def cotangent(turns: Value, m: Exact, where: Callable[[Value, Value, Value], Value]) -> Pair:
    """Return the cotangent of pi times a number from -1/2 to 1/2, by series up to a quarter (DLMF 4.19.1 and 4.19.2)."""
    size = abs(turns)
    past = size > 0.25
    angle = scale(PI, where(past, 0.5 - size, size), m)
    squared = multiply(angle, angle, m)
    sine = multiply(angle, polynomial(squared, _SINE, 9, m), m)
    cosine = polynomial(squared, _COSINE, 9, m)
    above, below = [
        (where(past, x[0], y[0]), where(past, x[1], y[1]))
        for x, y in ((sine, cosine), (cosine, sine))
    ]
    sign = where(turns < 0, -1.0, 1.0)
    high, low = divide(above, below, m)
    return high * sign, low * sign
