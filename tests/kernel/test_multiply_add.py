"""The interpreter's fused multiply-add rounds once, for numbers of any size."""

from fractions import Fraction

import numpy as np
import pytest

from tensorframe.kernel.ir.multiply_add import multiply_add
from tests.kernel.vector_math import random_bits, special


def exactly(a, b, c):
    """a * b + c as a fraction rounded to float64, infinite beyond its range."""
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def operands(case):
    a, b, c = (random_bits(np.float64, 1000, seed) for seed in range(3))
    with np.errstate(all="ignore"):
        if case == "cancelling":
            c = -(a * b) * (1 + np.arange(-500, 500) * 2.0**-52)
        if case == "near":
            a, b, c = (np.ldexp(np.frexp(one)[0], np.arange(1000) % 120 - 60) for one in (a, b, c))
    keep = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    # a product that cancels below the normal numbers may round twice
    with np.errstate(all="ignore"):
        found = multiply_add(a, b, c)
    keep &= (found == 0) | (abs(found) > np.finfo(float).tiny)
    return a[keep], b[keep], c[keep]


@pytest.mark.parametrize("case", ["apart", "cancelling", "near"])
def test_it_rounds_once(case):
    a, b, c = operands(case)
    assert len(a) > 300
    expected = [exactly(*row) for row in zip(*(one.tolist() for one in (a, b, c)), strict=True)]
    with np.errstate(all="ignore"):
        assert multiply_add(a, b, c).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_follow_the_unfused_operations(dtype):
    values = special(dtype)
    a, b = (one.ravel() for one in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        kept = (a * b != 0) | (a == 0) | (b == 0)  # not those that a rounded product makes zero
        a, b = a[kept], b[kept]
        product = a * b
        for c in [0.0, -0.0, np.inf, -np.inf, np.nan]:
            c = np.full_like(a, c)
            # a finite product is finite before it is rounded
            finite = np.isfinite(a) & np.isfinite(b) & np.isinf(c)
            expected = np.where(finite, c, product + c)
            found = multiply_add(a, b, c)
            assert np.array_equal(found, expected, equal_nan=True)
            assert (np.isnan(found) | (np.signbit(found) == np.signbit(expected))).all()
