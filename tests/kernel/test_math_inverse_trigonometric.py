"""Vector math: asin, acos, atan and atan2."""

import itertools

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.math.inverse_trigonometric import acos, asin, atan, atan2
from tests.kernel.vector_math import error, precisely, random_bits, run, special, spread

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than double"
)

DTYPES = [np.float32, np.float64]
# where another way to compute them begins
RANGES = [(-1, 1), (0.49, 0.51), (-0.54, -0.5), (-2.1, 2.1), (-30, 30)]


def points(dtype, count=60_000):
    """Numbers of all sizes, and others near one and zero."""
    tiny = np.exp2(np.random.default_rng(4).uniform(-60, 0, count)).astype(dtype)
    return np.concatenate([spread(dtype, *RANGES, count=count), tiny, -tiny, 1 - tiny, tiny - 1])


def pairs(dtype, count=200_000):
    """Points of the plane: near the origin, of one size, of different sizes, and all special ones."""
    rng = np.random.default_rng(5)
    angle = rng.uniform(-np.pi, np.pi, count)
    sides = np.exp2(rng.uniform(-4, 4, (2, count))) * rng.choice([-1, 1], (2, count))
    known = np.array(list(itertools.product(special(dtype), repeat=2))).T
    shapes = [
        [np.sin(angle), np.cos(angle)],
        sides,
        [random_bits(dtype, count, seed) for seed in (6, 7)],
        known,
    ]
    return [np.concatenate([shape[k] for shape in shapes]).astype(dtype) for k in (0, 1)]


@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [(asin, np.arcsin, 1.66), (acos, np.arccos, 1.15), (atan, np.arctan, 1.43)],
)
def test_float32(formula, numpy, bound):
    x = points(np.float32)
    with np.errstate(invalid="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.float64))) < bound


@long_double
@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [(asin, np.arcsin, 1.72), (acos, np.arccos, 1.22), (atan, np.arctan, 1.42)],
)
def test_float64(formula, numpy, bound):
    x = points(np.float64)
    with np.errstate(invalid="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.longdouble))) < bound


@pytest.mark.parametrize(
    ("formula", "function", "bound"),
    [(asin, mpmath.asin, 1.72), (acos, mpmath.acos, 1.22), (atan, mpmath.atan, 1.42)],
)
def test_float64_in_forty_digits(formula, function, bound):
    x = np.random.default_rng(2).permutation(points(np.float64))[:3000]
    x = x[(abs(x) <= (1e300 if formula is atan else 1)) & (x != 0)]
    assert error(run(formula, x), *precisely(function, x)) < bound


def test_atan2_in_float32():
    y, x = pairs(np.float32)
    with np.errstate(under="ignore"):
        assert error(run(atan2, y, x), np.arctan2(*np.float64([y, x]))) < 1.53


@long_double
def test_atan2_in_float64():
    y, x = pairs(np.float64)
    with np.errstate(under="ignore"):
        assert error(run(atan2, y, x), np.arctan2(*np.longdouble([y, x]))) < 1.73


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -2.0], dtype)
    half, whole = (float(dtype(one)) for one in (np.pi / 2, np.pi))
    invalid = [np.nan] * 5
    assert repr(run(asin, x).tolist()) == repr([0.0, -0.0, half, -half, *invalid])
    assert repr(run(acos, x).tolist()) == repr([half, half, 0.0, whole, *invalid])
    quarter = half / 2
    assert repr(run(atan, x[:-2]).tolist()) == repr(
        [0.0, -0.0, quarter, -quarter, half, -half, np.nan]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_atan2_on_the_axes_and_at_infinity_is_what_c_says(dtype):
    """C99, annex F.9.1.4; the Array API standard has the same table."""
    y, x = np.array(list(itertools.product([*special(dtype)], repeat=2)), dtype).T
    axis = (x == 0) | (y == 0) | np.isinf(x) | np.isinf(y)
    y, x = y[axis], x[axis]
    expected = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(dtype)
    assert repr(run(atan2, y, x).tolist()) == repr(expected.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_numbers_are_kept(dtype):
    info = np.finfo(dtype)
    x = np.array([info.smallest_subnormal, info.tiny, 1e-30, info.eps / 2], dtype)
    assert np.array_equal(run(asin, x), x)
    assert np.array_equal(run(atan, x), x)
    assert np.array_equal(run(atan2, x, np.ones_like(x)), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_beyond_half_pi_and_odd_functions_are_odd(dtype):
    x = points(dtype, count=10_000)
    x = x[np.isfinite(x)]
    inside = x[abs(x) <= 1]
    for formula, domain in (asin, inside), (atan, x):
        found = run(formula, domain)
        assert np.array_equal(run(formula, -domain), -found)
        assert abs(found).max() <= dtype(np.pi / 2)
    angles = run(acos, inside)
    assert angles.min() >= 0
    assert angles.max() <= dtype(np.pi)
