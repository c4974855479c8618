"""Fused multiply-add in NumPy, which has none: for the interpreter of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # arrays and NumPy scalars

# Products outside this range, and operands beyond it, are scaled before they are taken apart.
SMALLEST, LARGEST = 2.0**-900, 2.0**900


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c, rounded once.

    float32 in float64. float64: the product and the sum in two parts each (Dekker, "A floating-point technique for
    extending the available precision", 1971), so that all but ties that hang on the 107th bit round correctly; results
    below the normal numbers may round twice.
    """
    if a.dtype == np.float32:
        return np.float32(np.asarray(a, np.float64) * np.asarray(b, np.float64) + c)
    product = a * b
    found = _sum(product, _product_error(a, b, product), c)
    finite = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    far = [~((size > SMALLEST) & (size < LARGEST)) for size in map(abs, (product, a, b))]
    scaled = finite & (far[0] | far[1] | far[2])
    if not np.any(scaled):
        return found
    operands = [one[scaled] for one in np.broadcast_arrays(a, b, c)]
    result = np.array(np.broadcast_to(found, np.shape(scaled)))
    result[scaled] = _scaled(*operands)
    return result[()]


def _sum(product: Array, low: Array, c: Array) -> Array:
    """Return product + low + c, where `low` is what rounding took from the product."""
    total = product + c
    virtual = total - product
    lost = low + ((product - (total - virtual)) + (c - virtual))
    # adding nothing would turn the sign of a zero
    exact = np.where(lost == 0, total, total + lost)
    return np.where(np.isfinite(exact), exact, total)[()]


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
    found = np.ldexp(_sum(product, _product_error(a, b, product), np.ldexp(c, apart)), exponent)
    beside = np.ldexp(_sum(c, 0 * c, np.ldexp(product, -200)), c_exponent)
    return np.where((apart == 200) & (c != 0), beside, found)
