"""The functions of gamma at negative arguments, where they have zeros: with twice the bits, for what is left is exact.

Numbers beside formulas are those of the NIST Digital Library of Mathematical Functions.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

from tensorframe.ops import double_double as dd
from tensorframe.ops import special_tables as tables
from tensorframe.ops.special_algebra import Algebra

Value = Any

# below it no zero of gammaln has a float near it: gamma(x) is less than 1e-10 there but for the neighbours of integers
LOWEST = -26
# digamma's asymptotic expansion has 106 bits from here on
_FAR, _TERMS = 16, 20


def bernoulli(count: int) -> list[Fraction]:
    """Return the first Bernoulli numbers, by 24.5.3."""
    known = [Fraction(1)]
    for n in range(1, count):
        known.append(-sum([comb(n + 1, k) * known[k] for k in range(n)], Fraction(0)) / (n + 1))
    return known


BERNOULLI = bernoulli(2 * _TERMS + 1)
_EXPANSION = [dd.pair(-BERNOULLI[2 * k] / (2 * k)) for k in range(_TERMS, 0, -1)]


def gammaln(x: Value, m: Algebra) -> Value:
    """Return the logarithm of |gamma(x)| from `LOWEST` to 0: 1 / gamma is that of 2 + z times factors (5.5.1)."""
    nearest = m.call("round", x)
    product = dd.polynomial((x - nearest, 0.0), tables.RECIPROCAL_GAMMA, 18, m)
    for step in range(2 - LOWEST):
        product = dd.scale(product, m.where(nearest < 2 - step, x + step, 1.0), m)
    sign = m.where(product[0] < 0, -1.0, 1.0)
    high, low = dd.two_sum(product[0] * sign, -1.0)
    beside_one = high + (low + product[1] * sign)
    near = m.call("log1p", m.call("maximum", beside_one, -0.5))
    return 0 - m.where(abs(beside_one) < 0.5, near, m.call("log", abs(product[0])))


def digamma(x: Value, m: Algebra) -> Value:
    """Return digamma below 0, as that of 1 - x less a cotangent (5.5.4)."""
    few = x > 1 - _FAR
    large = dd.two_sum(0 - x, m.where(few, _FAR + 1.0, 1.0))
    inverse = dd.divide((1.0, 0.0), large, m)
    squared = dd.multiply(inverse, inverse, m)
    rest = dd.multiply(squared, dd.polynomial(squared, _EXPANSION, 6, m), m)  # 5.11.2
    rest = dd.add_alike(rest, (inverse[0] * -0.5, inverse[1] * -0.5))
    for step in range(_FAR, 0, -1):  # 5.5.2
        term = dd.divide((-1.0, 0.0), dd.two_sum(0 - x, float(step)), m)
        rest = dd.add_alike(rest, (m.where(few, term[0], 0.0), m.where(few, term[1], 0.0)))
    mirrored = dd.add(dd.log(large, m), rest)
    turned = dd.multiply(dd.PI, dd.cotangent(x - m.call("round", x), m, m.where), m)
    high, low = dd.add(mirrored, (0 - turned[0], 0 - turned[1]))
    return high + low
