"""Complex exponential, trigonometric and hyperbolic functions: products of real ones, by the addition theorems.

The product of an exponential that overflows and a sine may be a number all the same: then the exponential is taken of
a smaller number, and the sine multiplied by the constants that make up for it.
"""

from __future__ import annotations

import math

from tensorframe.dtypes import DType, float32, float64
from tensorframe.ops import term as real
from tensorframe.ops.term import (
    Term,
    copysign,
    equal,
    isinf,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from tensorframe.quick_tuples import NamedTuple

Pair = tuple[Term, Term]


class Steps(NamedTuple):
    """Above `first`, an exponent is lowered by `step`, above `second` by twice that; `factor` is exp(step).

    `flat` is where tanh is one.
    """

    first: float
    second: float
    step: float
    factor: float
    flat: float


# `factor` is within a hundredth of a unit in the last place of its dtype
STEPS = {
    float32: Steps(88.0, 120.0, 53.5625, 1.8276716974817657e23, 10.0),
    float64: Steps(709.0, 1000.0, 375.5, 1.1955781094135035e163, 22.0),
}
# the same of powers of two, whose `factor` is exact
BINARY_STEPS = {
    float32: Steps(127.0, 173.0, 77.0, 2.0**77, math.inf),
    float64: Steps(1023.0, 1443.0, 542.0, 2.0**542, math.inf),
}


def _lowered(x: Term, table: dict[DType, Steps] = STEPS) -> tuple[Term, Term, Term]:
    """Return y, f and g for which exp(x) = f * exp(y) * g, and exp(y) does not overflow before exp(x) * 5e-324 does."""
    steps = table[x.dtype]
    high, higher = x > steps.first, x > steps.second
    lowered = where(high, where(higher, x - 2 * steps.step, x - steps.step), x)
    return lowered, where(high, steps.factor, 1.0), where(higher, steps.factor, 1.0)


def _wild(y: Term) -> Term:
    """Return whether an angle has no sine."""
    return logical_not(abs(y) < float("inf"))


def exp(x: Term, y: Term) -> Pair:
    """Return the parts of e^x cis(y), where cis(y) is cos(y) + i sin(y). Largest error: 1.7 ULP."""
    lowered, first, second = _lowered(x)
    return _turned(x, y, real.exp(lowered), first, second)


def exp2(x: Term, y: Term) -> Pair:
    """Return the parts of 2^x cis(y log(2)). Largest error: 2 ULP, and the angle's own rounding."""
    lowered, first, second = _lowered(x, BINARY_STEPS)
    return _turned(x, y * math.log(2), real.exp2(lowered), first, second)


def _turned(x: Term, y: Term, size: Term, first: Term, second: Term) -> Pair:
    """Return the parts of first * size * second * cis(y), of which the size is an exponential of x."""
    # an infinity, or zero, in no direction
    nowhere = logical_and(isinf(x), _wild(y))
    cosine = where(nowhere, 1.0, real.cos(y))
    sine = where(logical_and(nowhere, x < 0), copysign(0.0, y), real.sin(y))
    # no angle stays none, even of infinities and NaN
    return (
        cosine * first * size * second,
        sine * first * where(equal(y, 0.0), 1.0, size) * second,
    )


def expm1(x: Term, y: Term) -> Pair:
    """Return the parts of e^x cis(y) - 1; the real one is (e^x - 1) cos(y) less 1 - cos(y). Largest error: 2.9 ULP."""
    lowered, first, second = _lowered(x)
    size, less_one = real.exp(lowered), real.expm1(lowered)
    cosine, sine = real.cos(y), real.sin(y)
    # 1 - cos(y), which would cancel for small angles
    versine = where(cosine > 0, sine * sine / (1 + cosine), 1 - cosine)
    below = logical_and(isinf(x), x < 0)
    nowhere = logical_and(isinf(x), _wild(y))
    real_part = (0.0 - versine) + cosine * first * less_one * second
    sine = where(logical_and(nowhere, below), copysign(0.0, y), sine)
    return (
        where(logical_or(below, nowhere), less_one, real_part),
        sine * first * where(equal(y, 0.0), 1.0, size) * second,
    )


def sinh(x: Term, y: Term) -> Pair:
    """Return hyperbolic sine times cosine, and hyperbolic cosine times sine. Largest error: 3.2 ULP."""
    lowered, first, second = _lowered(abs(x))
    # zeros stay zeros, infinities infinite, whatever the angle
    kept = logical_and(_wild(y), logical_or(equal(x, 0.0), isinf(x)))
    cosine, sine = where(kept, 1.0, real.cos(y)), real.sin(y)
    return (
        cosine * first * copysign(real.sinh(lowered), x) * second,
        sine * first * where(equal(y, 0.0), 1.0, real.cosh(lowered)) * second,
    )


def cosh(x: Term, y: Term) -> Pair:
    """Return hyperbolic cosine times cosine, and hyperbolic sine times sine. Largest error: 3.0 ULP."""
    lowered, first, second = _lowered(abs(x))
    wild = _wild(y)
    cosine = where(logical_and(wild, isinf(x)), 1.0, real.cos(y))
    sine = where(logical_and(wild, equal(x, 0.0)), 1.0, real.sin(y))
    odd = where(equal(y, 0.0), 1.0, real.sinh(lowered))
    return (
        cosine * first * real.cosh(lowered) * second,
        sine * first * copysign(odd, x) * second,
    )


def tanh(x: Term, y: Term) -> Pair:
    """Return a quotient that has poles, but no terms that cancel. Largest error: 5.3 ULP.

    (sinh(x) cosh(x) + i sin(y) cos(y)) / (sinh(x)^2 + cos(y)^2).
    """
    odd, even = real.sinh(x), real.cosh(x)
    sine, cosine = real.sin(y), real.cos(y)
    size = odd * odd + cosine * cosine
    flat = abs(x) > STEPS[x.dtype].flat
    # an angle that there is not has no tangent, but beside infinities
    flat = logical_and(flat, logical_or(isinf(x), logical_not(_wild(y))))
    ratio = where(flat, copysign(1.0, x), odd * even / size)
    none = logical_or(equal(y, 0.0), isinf(x))
    return (
        where(equal(x, 0.0), x, ratio),
        where(none, copysign(0.0, y), sine * cosine / size),
    )


def sin(x: Term, y: Term) -> Pair:
    """Return -i sinh(iz). Largest error: 3.2 ULP."""
    imaginary, real_part = sinh(y, x)
    return real_part, imaginary


def cos(x: Term, y: Term) -> Pair:
    """Return cosh(iz). Largest error: 3.0 ULP."""
    real_part, imaginary = cosh(y, x)
    return real_part, -imaginary


def tan(x: Term, y: Term) -> Pair:
    """Return -i tanh(iz). Largest error: 5.3 ULP."""
    imaginary, real_part = tanh(y, x)
    return real_part, imaginary
