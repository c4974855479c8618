"""Fused multiply-add in NumPy, which has none: for formulas that NumPy evaluates.

Source: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
odd", IEEE Trans. Comput. 57 (2008). A sum that keeps in its last bit whether something was lost can be rounded again as
if it had not been rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # arrays and NumPy scalars

# Products outside this range, and operands beyond it, are scaled before they are taken apart.
SMALLEST, LARGEST = 2.0**-900, 2.0**900
# Bits of a float64 that are clear where it lies halfway between two float32, and where it is one.
_BELOW_HALF = (1 << 28) - 1


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, rounded once: always in float32, in float64 where `is_in_range`.

    Elsewhere ties that hang on the 107th bit, and results below the normal numbers, may round twice.
    """
    if a.dtype == np.float32:
        return _of_float32(np.asarray(a, np.float64), np.asarray(b, np.float64), c)
    product = a * b
    low = _product_error(a, b, product)
    # a product of finite numbers is finite before it is rounded
    plain = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, product + c)
    # where nothing is lost of the product the sum rounds once; it has the right sign if it is zero
    lossless = (low == 0) | (a == 0) | (b == 0) | ~np.isfinite(plain)
    rounded = np.where(lossless, plain, _sum(product, low, c))[()]
    scaled = _is_far(a, b, product) & np.isfinite(c)
    if not np.any(scaled):
        return rounded
    operands = [array[scaled] for array in np.broadcast_arrays(a, b, c)]
    result = np.array(np.broadcast_to(rounded, np.shape(scaled)))
    result[scaled] = _scaled(*operands)
    return result[()]


def is_in_range(a: Array, b: Array) -> bool:
    """Whether `multiply_add` rounds all products of these with a sum once."""
    return a.dtype == np.float32 or not np.any(_is_far(a, b, a * b))


def _is_far(a: Array, b: Array, product: Array) -> Array:
    finite = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    far = [~((size > SMALLEST) & (size < LARGEST)) for size in map(abs, (product, a, b))]
    return finite & (far[0] | far[1] | far[2])


def _of_float32(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c as float32: products are exact in float64, and sums are seldom halfway."""
    product, wide = a * b, np.asarray(c, np.float64)
    total = np.asarray(product + wide)
    if not (total.view(np.int64) & _BELOW_HALF).all():
        error = _sum_error(product, wide, total)
        if np.count_nonzero(error):
            total = _to_odd(total, error)
    return total.astype(np.float32)[()]


def _to_odd(total: Array, error: Array) -> Array:
    """Return a rounded sum, of which `error` was lost, with a last bit that says whether something was."""
    bits = np.asarray(total).view(np.int64)
    even = (error != 0) & np.isfinite(error) & (bits & 1 == 0)
    away = np.where((error > 0) == (total > 0), 1, -1)
    return (bits + np.where(even, away, 0)).view(np.float64)


def _sum_error(x: Array, y: Array, total: Array) -> Array:
    """Return x + y - total, exactly."""
    virtual = total - x
    return (x - (total - virtual)) + (y - virtual)


def _sum(product: Array, low: Array, c: Array) -> Array:
    """Return product + low + c, where `low` is what rounding took from the product."""
    middle = c + low
    middle_low = _sum_error(c, low, middle)
    total = product + middle
    total_low = _sum_error(product, middle, total)
    lost = middle_low + total_low
    lost = _to_odd(lost, _sum_error(middle_low, total_low, lost))
    return total + lost


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """Return a * b - product, exactly where nothing overflows or underflows."""
    factor = 134217729.0  # 2^27 + 1
    a_high = factor * a - (factor * a - a)
    b_high = factor * b - (factor * b - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _scaled(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of finite numbers of any size, by mantissas and exponents."""
    (a, a_exponent), (b, b_exponent), (c, c_exponent) = map(np.frexp, (a, b, c))
    exponent = a_exponent + b_exponent
    product = a * b
    # what is further away than this decides about ties only
    apart = np.clip(c_exponent - exponent, -200, 200)
    scaled_sum = np.ldexp(
        _sum(product, _product_error(a, b, product), np.ldexp(c, apart)), exponent
    )
    beside = np.ldexp(_sum(c, 0 * c, np.ldexp(product, -200)), c_exponent)
    return np.where((apart == 200) & (c != 0), beside, scaled_sum)
