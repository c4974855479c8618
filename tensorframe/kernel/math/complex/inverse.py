"""Inverse trigonometric and hyperbolic functions of complex numbers.

Those of sine and cosine by the square roots of 1 - z and 1 + z (Kahan, "Branch cuts for complex elementary functions",
1987), so that the signs of zeros choose the side of a cut, and nothing cancels: the terms of every sum have one sign.
"""

from __future__ import annotations

from math import inf, log, pi

from tensorframe.dtypes import float32, float64
from tensorframe.kernel.math.complex.algebraic import HUGE, root
from tensorframe.kernel.math.complex.exponential import Pair
from tensorframe.ops import term as real
from tensorframe.ops.term import (
    Term,
    atan2,
    copysign,
    equal,
    hypot,
    isinf,
    logical_or,
    maximum,
    where,
)

# Distances from one below the first have no square: they are multiplied by the power of two of the second.
NEAR = {float32: (2.0**-60, 32), float64: (2.0**-500, 64)}


def _unbounded(x: Term, y: Term) -> Term:
    return logical_or(isinf(x), isinf(y))


def _shrunk(x: Term, y: Term) -> tuple[Term, Term, Term]:
    """Return a number of the same angle, and what to add to a logarithm: one is lost beside so large a number."""
    huge = maximum(abs(x), abs(y)) > HUGE[x.dtype]
    scale = where(huge, 0.25, 1.0)
    return x * scale, y * scale, where(huge, log(4), 0.0)


def _size(less: Pair, more: Pair) -> Term:
    """Return the magnitude of the imaginary part of both inverses, from sqrt(1 - z) and sqrt(1 + z)."""
    return real.asinh(less[0] * abs(more[1]) + abs(less[1]) * more[0])


def asin(x: Term, y: Term) -> Pair:
    """Inverse sine. Largest error: 3.2 ULP."""
    unbounded = _unbounded(x, y)
    width, height, lift = _shrunk(x, y)
    less, more = root(1 - width, -height), root(1 + width, height)
    beside = less[0] * more[0] + abs(less[1] * more[1])
    angle = atan2(width, where(unbounded, abs(y), beside))
    size = where(unbounded, inf, _size(less, more) + lift)
    return where(equal(x, 0.0), x, angle), copysign(size, y)


def _acos(x: Term, y: Term) -> Pair:
    """Return the real part, and the magnitude of the imaginary one."""
    unbounded = _unbounded(x, y)
    width, height, lift = _shrunk(x, y)
    less, more = root(1 - width, -height), root(1 + width, height)
    opposite, beside = where(unbounded, abs(y), less[0]), where(unbounded, x, more[0])
    angle = atan2(opposite, beside) * where(unbounded, 1.0, 2.0)
    size = where(unbounded, inf, _size(less, more) + lift)
    return where(equal(x, 0.0), pi / 2, angle), size


def acos(x: Term, y: Term) -> Pair:
    """Inverse cosine. Largest error: 3.2 ULP."""
    angle, size = _acos(x, y)
    return angle, copysign(size, -y)


def acosh(x: Term, y: Term) -> Pair:
    """Inverse hyperbolic cosine: the inverse cosine, turned to the right. Largest error: 3.2 ULP."""
    angle, size = _acos(x, y)
    return size, copysign(angle, y)


def asinh(x: Term, y: Term) -> Pair:
    """Return -i asin(iz), as i asin(-iz). Largest error: 3.2 ULP."""
    imaginary, real_part = asin(y, x)
    return real_part, imaginary


def atanh(x: Term, y: Term) -> Pair:
    """Return log1p(4 |x| / |1 - |x| + iy|^2) / 4, and half the angle of (1 + z) / (1 - z). Largest error: 3.2 ULP."""
    size = abs(x)
    apart = hypot(1 - size, y)
    bound, lift = NEAR[x.dtype]
    # |x| is one there, and 1 / apart^2 is of the magnitude of its square: log1p(2 / apart) / 2
    near = apart < bound
    above = where(near, 2.0, size / apart * 4)
    below = where(near, apart * 2.0**lift, apart)
    logarithm = real.log1p(above / below) * where(near, 0.5, 0.25)
    logarithm = logarithm + where(near, lift / 2 * log(2), 0.0)
    unbounded = _unbounded(x, y)
    none = logical_or(unbounded, equal(x, 0.0))
    angle = atan2(y, ((1 - size) * (1 + size) - y * y) * 0.5) * 0.5
    upright = copysign(where(equal(y, y), pi / 2, y), y)
    return (
        copysign(where(none, 0.0, logarithm), x),
        where(unbounded, upright, angle),
    )


def atan(x: Term, y: Term) -> Pair:
    """Return -i atanh(iz). Largest error: 3.2 ULP."""
    imaginary, real_part = atanh(y, x)
    return real_part, imaginary
