"""Butterflies: Fourier transforms of a few complex numbers, as expressions of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from math import sqrt

from tensorframe.kernel import ir

Pair = tuple[ir.Expr, ir.Expr]

# An eighth of the circle, and the digits that the power series are summed in: more than twice those of float64.
_EIGHTH = Decimal("0.78539816339744830961566084581987572105")
_DIGITS = 36


def butterfly(values: Sequence[Pair]) -> list[Pair]:
    """Return the transform of a few complex numbers: halves and halves of these while there are any, else sums."""
    count = len(values)
    if count == 1:
        return list(values)
    if count % 2:
        return _of_odd_length(values)
    even, odd = butterfly(values[::2]), butterfly(values[1::2])
    turned = [_turned(value, number, count) for number, value in enumerate(odd)]
    sums = [plus(left, right) for left, right in zip(even, turned, strict=True)]
    return sums + [minus(left, right) for left, right in zip(even, turned, strict=True)]


def times(left: Pair, right: Pair) -> Pair:
    """Return the product of complex numbers."""
    (a, b), (c, d) = left, right
    return add_product(_product(a, c), -b, d), add_product(_product(a, d), b, c)


def scaled(value: Pair, factor: ir.Expr) -> Pair:
    """Return a complex number times a real one."""
    return _product(value[0], factor), _product(value[1], factor)


def swapped(value: Pair) -> Pair:
    """Return a number with its parts exchanged: done before and after, it turns a transform into its inverse."""
    return value[1], value[0]


def plus(left: Pair, right: Pair) -> Pair:
    """Return the sum of complex numbers."""
    return _sum(left[0], right[0]), _sum(left[1], right[1])


def minus(left: Pair, right: Pair) -> Pair:
    """Return the difference of complex numbers."""
    return _sum(left[0], -right[0]), _sum(left[1], -right[1])


def _sum(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    # no order of roundings is promised: dialects that hold others to theirs need not do so here
    return ir.apply("accumulate_add", left, right)


def _product(left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.apply("accumulate_multiply", left, right)


def add_product(total: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return a sum with a product, rounded once where the device does so without effort."""
    return _sum(total, _product(left, right))


def _turned(value: Pair, number: int, count: int) -> Pair:
    """Return a value times exp(-2j * pi * number / count), for less than half a turn."""
    real, imaginary = value
    if number == 0:
        return value
    if 4 * number == count:
        return imaginary, -real
    if 8 * number in (count, 3 * count):
        half = ir.literal(sqrt(0.5), real.dtype)
        total, difference = scaled((_sum(imaginary, real), _sum(imaginary, -real)), half)
        return (total, difference) if 8 * number == count else (difference, -total)
    cosine, sine = cosine_and_sine(number, count)
    return times(value, (ir.literal(cosine, real.dtype), ir.literal(-sine, real.dtype)))


@cache
def cosine_and_sine(number: int, count: int) -> tuple[float, float]:
    """Return cos(2 * pi * number / count) and sin(2 * pi * number / count), for up to half a turn.

    They are rounded once, on every machine: what one is off, all numbers of a stage are turned by, and it adds up.
    """
    octant, part = divmod(8 * number, count)
    across, up = _power_series(count - part if octant % 2 else part, count)
    if (octant + 1) % 4 >= 2:
        across, up = up, across
    return across if octant < 2 else -across, up


def _power_series(part: int, count: int) -> tuple[float, float]:
    """Return cosine and sine of a part of an eighth of the circle, where few terms are enough."""
    with localcontext(prec=_DIGITS):
        angle = _EIGHTH * part / count
        terms = [Decimal(1)]
        for power in range(1, 24):
            terms.append(terms[-1] * angle / power)
        cosine = sum(terms[::4]) - sum(terms[2::4])
        return float(cosine), float(sum(terms[1::4]) - sum(terms[3::4]))


def _of_odd_length(values: Sequence[Pair]) -> list[Pair]:
    """Return the transform of an odd number of values: those at both sides of the first share their products."""
    first, *others = values
    count, dtype = len(values), first[0].dtype
    sides = [(others[k], others[-1 - k]) for k in range(len(others) // 2)]
    sums = [plus(left, right) for left, right in sides]
    differences = [minus(left, right) for left, right in sides]
    total = first
    for term in sums:
        total = plus(total, term)
    upper, lower = [], []
    for frequency in range(1, count // 2 + 1):
        cosines, sines = [], []
        for k in range(1, len(sides) + 1):
            turn = frequency * k % count
            cosine, sine = cosine_and_sine(min(turn, count - turn), count)
            cosines.append(ir.literal(cosine, dtype))
            sines.append(ir.literal(sine if 2 * turn < count else -sine, dtype))
        even = first
        for factor, term in zip(cosines, sums, strict=True):
            even = (add_product(even[0], factor, term[0]), add_product(even[1], factor, term[1]))
        odd = scaled(differences[0], sines[0])
        for factor, term in zip(sines[1:], differences[1:], strict=True):
            odd = (add_product(odd[0], factor, term[0]), add_product(odd[1], factor, term[1]))
        turned = (odd[1], -odd[0])
        upper.append(plus(even, turned))
        lower.append(minus(even, turned))
    return [total, *upper, *reversed(lower)]
