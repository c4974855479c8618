"""Complex quotients, square roots and directions, scaled by powers of two where squares would leave the range."""

from __future__ import annotations

from math import inf

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.math.complex.exponential import Pair
from tensorframe.ops import term as real
from tensorframe.ops.term import Term, copysign, equal, hypot, isinf, logical_and, maximum, where

# what is below the first is multiplied by the second, an even power of two, which makes the smallest number normal
TINY = {float32: (2.0**-100, 2.0**54), float64: (2.0**-900, 2.0**108)}
# beyond this, sums of two numbers are infinite
HUGE = {float32: 2.0**125, float64: 2.0**1021}


def _longer(x: Term, y: Term) -> Term:
    return maximum(abs(x), abs(y))


def divide(a: Term, b: Term, c: Term, d: Term) -> Pair:
    """Return a quotient. Largest error: 2.7 ULP."""
    long = _longer(c, d)
    tiny, lift = TINY[c.dtype]
    large = maximum(long, _longer(a, b)) > HUGE[c.dtype]
    scale = where(long < tiny, lift, where(large, 0.0625, 1.0))
    return _quotient(a, b, c, d, scale)


def reciprocal(c: Term, d: Term) -> Pair:
    """Return one divided by a number. Largest error: 1.7 ULP."""
    long = _longer(c, d)
    tiny, lift = TINY[c.dtype]
    scale = where(long < tiny, lift, where(long > HUGE[c.dtype], 0.0625, 1.0))
    return _quotient(1.0, 0.0, c, d, scale)


def _quotient(a: Term | float, b: Term | float, c: Term, d: Term, scale: Term) -> Pair:
    """Smith's division (Communications of the ACM 5, 1962), of scaled numbers; by zero as NumPy has it."""
    wide = abs(c) >= abs(d)
    p, q, r, s = a * scale, b * scale, c * scale, d * scale
    large, small = where(wide, r, s), where(wide, s, r)
    ratio = small / large
    inverse = 1 / (large + small * ratio)
    first, second = where(wide, p, q), where(wide, q, p)
    across = first * ratio
    imaginary = where(wide, second - across, across - second)
    nothing = equal(abs(c) + abs(d), 0.0)
    return (
        where(nothing, a / abs(c), (first + second * ratio) * inverse),
        where(nothing, b / abs(d), imaginary * inverse),
    )


def square(x: Term, y: Term) -> Pair:
    """Return z * z; where both parts are large, the real one does not overflow. Largest error: 1.5 ULP."""
    across = x * y
    # + 0.0: the difference of equal squares is positive
    return (x - y) * (x + y) + 0.0, across + across


def root(x: Term, y: Term) -> Pair:
    """Return the square root of a finite number.

    Of its two parts, the one that adds magnitudes is computed, the other is y over twice that.
    """
    long = _longer(x, y)
    tiny, lift = TINY[x.dtype]
    small, large = long < tiny, long > HUGE[x.dtype]
    scale = where(small, lift, where(large, 0.0625, 1.0))
    back = where(small, lift**-0.5, where(large, 4.0, 1.0))
    width, height = abs(x) * scale, abs(y) * scale
    main = real.sqrt((width + hypot(width, height)) * 0.5)
    other = where(equal(main, 0.0), main, height / (main + main)) * back
    main = main * back
    left = x < 0
    return where(left, other, main), copysign(where(left, main, other), y)


def sqrt(x: Term, y: Term) -> Pair:
    """Square root with a positive real part. Largest error: 1.5 ULP."""
    real_part, imaginary = root(x, y)
    upright = isinf(y)
    return where(upright, inf, real_part), where(upright, y, imaginary)


def sign(x: Term, y: Term) -> Pair:
    """Return z / |z|, 0 for zero. Largest error: 1.9 ULP."""
    scale = where(_longer(x, y) < 1, TINY[x.dtype][1], 0.25)
    size = hypot(x * scale, y * scale)
    size = where(equal(size, 0.0), 1.0, size)
    return _share(x, y, scale, size), _share(y, x, scale, size)


def _share(x: Term, other: Term, scale: Term, size: Term) -> Term:
    """Return one side over the diagonal; an infinite one beside a number is all of it."""
    alone = logical_and(isinf(x), abs(other) < inf)
    # + 0.0: zero has no sign
    return where(alone, copysign(1.0, x), x * scale / size) + 0.0
