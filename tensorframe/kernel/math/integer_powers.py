"""Powers of integers, modulo two to the power of their bits: few squares, and the binomial series."""

from __future__ import annotations

from tensorframe.dtypes import SIGNED
from tensorframe.kernel.ir import Expr, Literal, literal
from tensorframe.kernel.ir.formula import equal, where, where_rare

# Exponents written in the program that are worth a product of their own.
FEW = 64
# Exponents of more bits than this are rare.
USUAL = 6


def integer_power(x: Expr, y: Expr) -> Expr:
    """Return x to the power of y modulo 2^bits; negative exponents round the power towards zero."""
    if isinstance(y, Literal) and 0 <= int(y.value.real) <= FEW:
        return product(x, int(y.value.real))
    power = _power(x, y)
    if x.dtype not in SIGNED:
        return power
    # of the integers, only 1 and -1 have an inverse; their powers alternate either way
    inverse = where(equal(x, 1), 1, where(equal(x, -1), 1 - 2 * (y & 1), 0))
    return where(y < 0, inverse, power)


def product(x: Expr, exponent: int) -> Expr:
    """Return the product of `exponent` factors x, by squares."""
    if exponent < 2:
        return x if exponent else literal(1, x.dtype)
    half = product(x, exponent // 2)
    return half * half * x if exponent % 2 else half * half


def _power(x: Expr, y: Expr) -> Expr:
    """Return x^y modulo 2^bits for y >= 0.

    The lowest k bits of y by squares. What is left is a power n of s = x^(2^k). For odd x that is 1 + u with u a
    multiple of 2^(k + 2), so that the terms of the binomial series of (1 + u)^n vanish from u^3 on; for even x it is 0.
    """
    bits = 8 * x.dtype.itemsize
    k = next(k for k in range(bits) if 3 * (k + 2) >= bits and 2**k >= bits)
    powers: list[Expr] = [literal(1, x.dtype)]
    factor = x
    for bit in range(k):
        powers.append(where(equal(y & (1 << bit), 0), powers[-1], powers[-1] * factor))
        factor = factor * factor
    n, u = y >> k, factor - 1
    series = 1 + n * u + ((n * (n - 1)) >> 1) * (u * u)
    even = where(equal(n, 0), literal(1, x.dtype), 0)
    power = powers[-1] * where(equal(x & 1, 0), even, series)
    return where_rare(y >= 1 << USUAL, power, powers[USUAL]) if k > USUAL else power
