"""Hurwitz's zeta function between its poles, where terms of both signs cancel: with twice the bits.

Of an odd power, those of the terms at -1/2 and 1/2 from the middle of two poles cancel but for a series in the distance
from it, and the rest is a sum of positive ones (DLMF 25.11). Zeros lie where the two meet: 0.0043 from the middle at most,
and nearer than a float64 can be for powers above `MOST`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tensorframe.ops import double_double as dd
from tensorframe.ops.special_algebra import Algebra
from tensorframe.ops.special_tables import BALANCE
from tensorframe.ops.special_zeros import bernoulli

Value = Any

# the largest power whose zeros a float64 can tell from the middle, and how far from it the series is used
MOST, REACH = 33, 1 / 64
# terms that are added up one by one, those of the formula for the others, and how many of these need all bits
_FIRST, _REST, _WIDE = 13, 20, 10
# coefficients of the series that need them
_ALL_BITS = 4
_NUMBERS = bernoulli(2 * _REST + 1)
# the formula's terms, each divided by the one before without the factors that depend on arguments
_RATIOS = [
    dd.pair(_NUMBERS[2 * k] / (2 * k * (2 * k - 1)) / (_NUMBERS[2 * k - 2] if k > 1 else Fraction(1)))
    for k in range(1, _REST + 1)
]


def zeta(x: Value, q: Value, m: Algebra) -> Value:
    """Return it for an odd power from 3 to `MOST` and q below 0, near the middle of two poles."""
    distance = q - (m.call("floor", q) + 0.5)
    high, low = dd.add(_difference(x, distance, m), _sum(x, dd.two_sum(1.0, 0 - q), m))
    return high + low


def _difference(x: Value, distance: Value, m: Algebra) -> dd.Pair:
    """Return what the terms on both sides of the middle leave: the row of `BALANCE` for the power, by the distance."""
    row: list[Value] = []
    for place in range(len(BALANCE[0])):
        parts = 1 if place < len(BALANCE[0]) - _ALL_BITS else 2
        row.append(tuple([_chosen(x, [known[place][part] for known in BALANCE], m) for part in range(parts)]))
    high, low = m.product(distance, distance)
    narrow = row[0][0]
    for (coefficient,) in row[1:-_ALL_BITS]:
        narrow = narrow * high + coefficient
    value: dd.Pair = (narrow, 0.0)
    for pair in row[-_ALL_BITS:]:
        value = dd.add_alike(pair, dd.multiply(value, (high, low), m))
    return dd.scale(value, 0 - distance, m)


def _chosen(x: Value, numbers: list[float], m: Algebra) -> Value:
    """Return the number for a power, which are those for 3, 5 and so on."""
    value: Value = numbers[0]
    for place, number in enumerate(numbers[1:], 1):
        value = m.where(x > 2 * place + 2, number, value)
    return value


def _sum(x: Value, q: dd.Pair, m: Algebra) -> dd.Pair:
    """Return the sum of (q + k)^-x over k from 0 on, for q above 1, by the Euler-Maclaurin formula (25.11.28)."""
    end = dd.raised(q, _FIRST)
    inverse = dd.divide((1.0, 0.0), end, m)
    squared = dd.multiply(inverse, inverse, m)
    narrow: Value = 0.0
    for k in range(_REST, _WIDE, -1):
        factors = (x + (2 * k - 3)) * (x + (2 * k - 2)) * squared[0]
        narrow = factors * _RATIOS[k - 1][0] * (narrow + 1)
    rest: dd.Pair = (narrow, 0.0)
    for k in range(_WIDE, 1, -1):
        factors = dd.multiply(squared, _RATIOS[k - 1], m)
        factors = dd.scale(factors, (x + (2 * k - 3)) * (x + (2 * k - 2)), m)
        rest = dd.multiply(factors, dd.raised(rest, 1), m)
    first = dd.scale(dd.multiply(inverse, _RATIOS[0], m), x, m)
    rest = dd.add_alike((0.5, 0.0), dd.multiply(first, dd.raised(rest, 1), m))
    total = dd.add_alike(dd.divide(end, (x - 1, 0.0), m), rest)
    total = dd.multiply(total, _power(inverse, x, m), m)
    for k in range(_FIRST - 1, -1, -1):
        term = _power(dd.divide((1.0, 0.0), dd.raised(q, k), m), x, m)
        total = dd.add_alike(total, term)
    return total


def _power(base: dd.Pair, x: Value, m: Algebra) -> dd.Pair:
    """Return an odd power up to `MOST`, by squares."""
    square, value = base, base
    left = m.call("floor", x * 0.5)
    for _ in range((MOST // 2).bit_length()):
        square = dd.multiply(square, square, m)
        half = m.call("floor", left * 0.5)
        odd = left - half * 2 > 0.5
        further = dd.multiply(value, square, m)
        value = m.where(odd, further[0], value[0]), m.where(odd, further[1], value[1])
        left = half
    return value
