"""Complex powers: by the exponential and the logarithm, those to small integers by squares."""

from __future__ import annotations

from tensorframe.kernel.math.complex.algebraic import reciprocal, square
from tensorframe.kernel.math.complex.exponential import Pair, exp
from tensorframe.kernel.math.complex.logarithm import log
from tensorframe.ops.term import Term, equal, floor, logical_and, where

# bits of the integers to whose powers numbers are raised by squares
BITS = 4


def pow_(x: Term, y: Term, u: Term, v: Term) -> Pair:
    """Return z to the power of w; that of zero to a positive one is zero.

    Whole numbers to integers below 16 are exact as long as they fit. Else the error grows with the exponent of e: up to
    3 + 3 |w log z| ULP.
    """
    power = _raised(x, y, u, v)
    count = abs(u)
    product = _product(x, y, count)
    # negative exponents
    inverse = reciprocal(*product)
    below = u < 0
    product = where(below, inverse[0], product[0]), where(below, inverse[1], product[1])
    whole = logical_and(equal(v, 0.0), equal(floor(count), count))
    short = logical_and(whole, count < 2.0**BITS)
    # a product that overflows says nothing about the angle
    held = logical_and(abs(product[0]) < float("inf"), abs(product[1]) < float("inf"))
    by_squares = logical_and(short, held)
    real_part, imaginary = (
        where(by_squares, squared, other) for squared, other in zip(product, power, strict=True)
    )
    is_one = logical_and(whole, equal(u, 0.0))
    return where(is_one, 1.0, real_part), where(is_one, 0.0, imaginary)


def _raised(x: Term, y: Term, u: Term, v: Term) -> Pair:
    """Return exp(w log(z))."""
    size, angle = log(x, y)
    # infinite logarithms have no product with zero
    turned = u * angle + where(equal(v, 0.0), 0.0, v * size)
    real_part, imaginary = exp(u * size - v * angle, turned)
    nothing = logical_and(equal(abs(x) + abs(y), 0.0), u > 0)
    return where(nothing, 0.0, real_part), where(nothing, 0.0, imaginary)


def _product(x: Term, y: Term, count: Term) -> Pair:
    """Return the product of so many factors, by the bits of their number."""
    odd, count = _halved(count)
    real_part, imaginary = where(odd, x, 1.0), where(odd, y, 0.0)
    for _ in range(1, BITS):
        x, y = square(x, y)
        odd, count = _halved(count)
        longer = real_part * x - imaginary * y, real_part * y + imaginary * x
        real_part, imaginary = where(odd, longer[0], real_part), where(odd, longer[1], imaginary)
    return real_part, imaginary


def _halved(count: Term) -> tuple[Term, Term]:
    """Return whether a number is odd, and half of it, rounded down."""
    half = floor(count * 0.5)
    return count - (half + half) > 0, half
