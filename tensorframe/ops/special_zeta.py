"""Zeta functions and the derivatives of digamma in float64, written as `special_math.py` is.

Hurwitz's zeta function is a sum of powers: its first terms as they are, and the others by the Euler-Maclaurin formula
(DLMF 25.11.28, at 2.10.1). All are those of 1 + k / q, whose logarithms are as accurate as what they leave of a term, so
one power needs more than the digits of float64: that of q. What rounding takes from the sum is put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import exp, factorial, inf, log, nan, pi
from typing import Any

from tensorframe.ops import special_balance as balance
from tensorframe.ops import special_tables as tables
from tensorframe.ops.double_double import pair, scale, two_sum
from tensorframe.ops.special_algebra import Algebra, Formula
from tensorframe.ops.special_math import digamma, gamma_below_eight, polynomial
from tensorframe.ops.special_zeros import BERNOULLI

Value = Any

# terms that are added up one by one, and those of the formula for the others: together they leave 1e-17
_FIRST, _REST = 6, 12
# powers of 1 + k / q to more than that are nothing beside the first term, or q has no power
_MOST = 1e4
# factorials of multiples of 16, scaled as products of halves have to be; from 171 on they are no float64
_LAST, _SCALED = 170, 2.0**100
_FACTORIALS = [pair(Fraction(factorial(n), 2**100)) for n in range(0, _LAST, 16)]
# the formula's terms, each divided by the one before without the factors that depend on arguments
_RATIOS = [
    float(BERNOULLI[2 * k] / (2 * k * (2 * k - 1)) / (BERNOULLI[2 * k - 2] if k > 1 else Fraction(1)))
    for k in range(1, _REST + 1)
]
# 1 / (2 pi) and 1 / (2 pi e), and what their float64 lack, divided by them
_TURN, _TURN_LACKS = 0.15915494309189535, -6.182238607512212e-17
_SCALE, _SCALE_LACKS = 0.05854983152431916, -7.038844490236517e-18


def _scaled_sum(x: Value, q: Value, logarithms: Sequence[Value], m: Algebra) -> Value:
    """Return the sum of (q + k)^-x over k from 0 on, times q^(x - 1), for x > 1 and q > 0, by log(1 + k / q)."""
    few = m.call("minimum", x, _MOST)
    inverse = 1 / (q + float(_FIRST))
    rest: Value = 0.0
    for k in range(_REST, 1, -1):
        factors = (few + (2 * k - 3)) * (few + (2 * k - 2)) * (inverse * inverse)
        rest = factors * _RATIOS[k - 1] * (rest + 1)
    rest = few * inverse * _RATIOS[0] * (rest + 1)
    *begin, last = logarithms
    power = m.call("exp", last * (1 - few))
    total, lost = two_sum(power / (few - 1), power * inverse * (rest + 0.5))
    reciprocal = 1 / q
    for logarithm in reversed(begin):
        total, left = two_sum(total, reciprocal * m.call("exp", logarithm * (0 - few)))
        lost = lost + left
    total, left = two_sum(total, reciprocal)
    return total + (lost + left)


def _hurwitz(x: Value, q: Value, m: Algebra) -> Value:
    """Return the sum of (q + k)^-x over k from 0 on, for x > 1 and q > 0."""
    logarithms = [m.call("log1p", k / q) for k in range(1, _FIRST + 1)]
    power = m.power(q, 1 - m.call("minimum", x, 1e300))
    return m.where(m.equal(q, inf), 0.0, power * _scaled_sum(x, q, logarithms, m))


def _zeta(x: Value, q: Value, m: Algebra) -> Value:
    """Return Hurwitz's zeta function: infinite at its poles, NaN where powers of negative numbers are not real."""
    negative = q < 0
    part = q - m.call("round", q)
    ahead = m.where(part < 0, part + 1, part)  # the first of q + k that is not negative
    value = _hurwitz(x, m.where(negative, ahead + 1, q), m)
    whole = m.equal(x, m.call("round", x))
    below = m.both(negative, x > 1)
    mirrored = m.seldom(below, partial(_mirrored, m=m), value, x, q, part, ahead, value)
    value = m.where(below, m.where(whole, mirrored, nan), value)
    pole = m.both(q <= 0, m.equal(q, m.call("round", q)))
    value = m.where(pole, inf, m.where(m.equal(x, 1), inf, value))
    return m.where(x >= 1, value, nan)


def _mirrored(x: Value, q: Value, part: Value, ahead: Value, beyond: Value, m: Algebra) -> Value:
    """Return it below 0, of an integer: the two terms next to 0, and those ahead of them and behind, finitely many."""
    behind = m.where(part < 0, 0 - part, 1 - ahead)
    odd = _is_odd(x, m) > 0.5
    past = q - (m.call("floor", q) + 0.5)  # midway between two poles, where both are alike: those of odd powers cancel
    nearer = m.call("minimum", ahead, behind)
    ratio = (0 - x) * m.call("log1p", abs(past) * 2 / nearer)
    left = m.call("expm1", ratio)
    left = m.where(odd, m.where(past < 0, 0 - left, left), m.call("exp", ratio) + 1)
    pair = m.where(m.equal(left, 0), 0.0, m.power(nearer, 0 - m.call("minimum", x, 1e300)) * left)
    others, none = _hurwitz(x, behind + 1, m), _hurwitz(x, 1 - q, m)
    value = pair + m.where(odd, (beyond - others) + none, beyond + (others - none))
    middle = m.both(abs(past) < balance.REACH, x <= balance.MOST)
    return m.digits(m.both(odd, middle), lambda x, q: balance.zeta(x, q, m), value, x, q)


def _is_odd(x: Value, m: Algebra) -> Value:
    """Return 1 for an odd integer, 0 for an even one."""
    return x - m.call("floor", x * 0.5) * 2


def _factorial(n: Value, m: Algebra) -> Value:
    """Return n!, rounded once: that of the multiple of 16 before, times up to 15 integers."""
    begun = m.call("floor", n * 0.0625) * 16
    product: tuple[Value, Value] = _FACTORIALS[0]
    for place, (high, low) in enumerate(_FACTORIALS[1:], 1):
        reached = begun >= 16 * place
        product = m.where(reached, high, product[0]), m.where(reached, low, product[1])
    for step in range(1, 16):
        factor = begun + step
        product = scale(product, m.where(factor <= n, factor, 1.0), m)
    return (product[0] + product[1]) * _SCALED


def _polygamma(n: Value, x: Value, m: Algebra) -> Value:
    """Return the n-th derivative of digamma: n! times a zeta function (25.11.12), up to where n! is a number."""
    sign = _is_odd(n, m) * 2 - 1
    value = m.where(m.equal(n, 0), digamma(x, m), sign * _factorial(n, m) * _zeta(n + 1, x, m))
    return m.where(m.both(m.equal(n, m.call("round", n)), m.both(n >= 0, n <= _LAST)), value, nan)


# --- Riemann's


def _riemann(x: Value, m: Algebra) -> Value:
    """Return Riemann's zeta function, of all real numbers."""
    near = polynomial(x, tables.RIEMANN, m) / (x - 1)
    logarithms = [log(k + 1) for k in range(1, _FIRST + 1)]
    value = _scaled_sum(m.where(x < 0, 1 - x, x), 1.0, logarithms, m)
    value = m.where(x < 0, _reflection(x, m) * value, value)
    value = m.where(m.both(x > -1, x < 1), near, value)
    return m.where(m.equal(x, 1), inf, m.where(m.equal(x, -inf), nan, value))


def _reflection(x: Value, m: Algebra) -> Value:
    """Return zeta(x) / zeta(1 - x) below 0: 2 (2 pi)^(x - 1) sin(pi x / 2) gamma(1 - x) (25.4.1)."""
    z, lost = two_sum(1.0, 0 - x)
    few = z < 8
    large, small = m.call("maximum", z, 8.0), m.call("minimum", z, 8.0)
    scaled, less = m.product(large, _SCALE)
    # gamma by Stirling's formula (5.11.3), whose power joins that of 2 pi: half of it at a time, as all of it overflows
    base = m.where(few, _TURN, scaled)
    exponent = m.where(few, z, z * 0.5 - 0.25)
    power = m.power(base, exponent)
    rest = m.call("exp", polynomial(1 / (large * large), tables.STIRLING, m) / large)
    rest = m.where(few, gamma_below_eight(small, m) * 2, rest * (2 * exp(-0.5)))
    nearest = m.call("round", x * 0.5)
    turns = x * 0.5 - nearest
    sine = m.call("sin", turns * pi) * (1 - _is_odd(nearest, m) * 2)
    lacks = m.where(few, _TURN_LACKS * z, (less / scaled + _SCALE_LACKS) * (z - 0.5))
    moved = lacks + lost * m.call("log", z * _TURN)
    value = sine * rest * power * m.where(few, 1.0, power)
    return m.where(m.equal(turns, 0), 0.0, value + value * moved)


# name of a row -> its formula
FORMULAS: dict[str, Formula] = {
    "polygamma": _polygamma,
    "riemann_zeta": _riemann,
    "zeta": _zeta,
}
