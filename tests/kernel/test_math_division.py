"""Vector math: whole quotients and their exact remainders."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from tensorframe.dtypes import INTEGER
from tensorframe.kernel.math.division import floor_divide, fmod, remainder
from tests.kernel.vector_math import random_bits, run

DTYPES = [np.float32, np.float64]


def pairs(dtype, count=20_000):
    """Numbers of all sizes, near multiples of each other, and so far apart that quotients have thousands of digits."""
    rng = np.random.default_rng(0)
    x, y = random_bits(dtype, count, 1), random_bits(dtype, count, 2)
    small = rng.normal(size=count).astype(dtype)
    multiple = small * rng.integers(-1000, 1000, count).astype(dtype)
    below = np.nextafter(multiple, dtype(0))
    ends = np.finfo(dtype)
    largest = np.full(count, ends.max)
    tiny = ends.smallest_subnormal * rng.integers(1, 10**6, count).astype(dtype)
    first = np.concatenate([x, multiple, below, x, largest, largest])
    second = np.concatenate([y, small, small, small, y, tiny])
    kept = np.isfinite(first) & np.isfinite(second) & (second != 0)
    return first[kept], second[kept]


def exact_floor(x, y):
    return floor(Fraction(float(x)) / Fraction(float(y)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_are_exact(dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        # the C library's is exact, and so is NumPy's sum but for one rounding
        assert np.array_equal(run(fmod, x, y), np.fmod(x, y))
        assert np.array_equal(run(remainder, x, y), np.remainder(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_of_fractions(dtype):
    x, y = (one[::97] for one in pairs(dtype))
    assert len(x) > 500
    found = run(fmod, x, y)
    for a, b, rest in zip(x.tolist(), y.tolist(), found.tolist(), strict=True):
        exact = abs(Fraction(a)) % abs(Fraction(b))
        assert abs(Fraction(rest)) == exact


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_are_the_nearest_number_to_the_exact_floor(dtype):
    x, y = (one[::37] for one in pairs(dtype))
    found = run(floor_divide, x, y)
    kept = np.isfinite(found)
    for a, b, quotient in zip(x[kept], y[kept], found[kept], strict=True):
        off = abs(Fraction(float(quotient)) - exact_floor(a, b))
        assert off <= Fraction(float(np.spacing(abs(quotient)))) / 2


@pytest.mark.parametrize("formula", [floor_divide, remainder, fmod])
@pytest.mark.parametrize("dtype", sorted(INTEGER, key=str), ids=str)
def test_integers(formula, dtype):
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    near = np.array([0, 1, 2, 3, 7, ends.max, ends.max - 1, ends.min, ends.min + 1], dtype)
    random = rng.integers(ends.min, ends.max, 300, dtype, endpoint=True)
    # on both sides of where 64 bits do not divide as floats
    shifts = rng.integers(0, 8 * dtype.itemsize, 300).astype(dtype)
    values = np.concatenate([near, -near, random >> shifts])
    x, y = (one.ravel() for one in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(np, formula.__name__)(x, y)
    assert np.array_equal(run(formula, x, y), expected)
