"""Vector math: logarithms."""

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.math.logarithm import log, log1p, log2, log10, logaddexp
from tests.kernel.vector_math import error, precisely, run, spread

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than double"
)

DTYPES = [np.float32, np.float64]
# around one, around the ends of what a mantissa is, and far away
NEAR = [(0.999, 1.001), (0.5, 2), (0.7, 0.72), (1.4, 1.43), (0, 100), (0, 1e30)]
SHIFTED = [(-1e-3, 1e-3), (-1, 1), (-0.3, -0.28), (0.4, 0.43), (-1, -0.999), (0, 100), (0, 1e30)]
RANGES = {log: NEAR, log2: NEAR, log10: NEAR, log1p: SHIFTED}


def points(formula, dtype):
    return spread(dtype, *RANGES[formula], count=30_000)


@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [(log, np.log, 0.90), (log2, np.log2, 1.13), (log10, np.log10, 1.01), (log1p, np.log1p, 1.52)],
)
def test_float32(formula, numpy, bound):
    x = points(formula, np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.float64))) < bound


@long_double
@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [(log, np.log, 0.99), (log2, np.log2, 1.21), (log10, np.log10, 1.13), (log1p, np.log1p, 1.56)],
)
def test_float64(formula, numpy, bound):
    x = points(formula, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.longdouble))) < bound


@pytest.mark.parametrize(
    ("formula", "function", "bound"),
    [
        (log, mpmath.log, 0.99),
        (log2, lambda x: mpmath.log(x, 2), 1.21),
        (log10, mpmath.log10, 1.13),
        (log1p, mpmath.log1p, 1.56),
    ],
)
def test_float64_in_forty_digits(formula, function, bound):
    x = np.random.default_rng(2).permutation(points(formula, np.float64))[:3000]
    x = x[np.isfinite(x) & (x > 0)]
    assert error(run(formula, x), *precisely(function, x)) < bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_are_exact(dtype):
    info = np.finfo(dtype)
    n = np.arange(info.minexp - info.nmant, info.maxexp)
    assert np.array_equal(run(log2, np.ldexp(dtype(1), n)), n.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_ten_are_exact(dtype):
    n = np.arange(-37, 39) if dtype is np.float32 else np.arange(-307, 309)
    x = np.array([f"1e{one}" for one in n]).astype(dtype)
    assert np.array_equal(run(log10, x), n.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = np.array([1.0, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    for formula in (log, log2, log10):
        assert repr(run(formula, x).tolist()) == "[0.0, -inf, -inf, nan, inf, nan, nan]"
    x = np.array([0.0, -0.0, -1.0, -1.5, np.inf, -np.inf, np.nan], dtype)
    assert repr(run(log1p, x).tolist()) == "[0.0, -0.0, -inf, nan, inf, nan, nan]"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_numbers_are_kept_by_log1p(dtype):
    x = np.finfo(dtype).smallest_subnormal * np.arange(1, 100, dtype=dtype)
    assert np.array_equal(run(log1p, x), x)
    assert np.array_equal(run(log1p, -x), -x)


@pytest.mark.parametrize(
    ("dtype", "wide", "bound"),
    [
        (np.float32, np.float64, 2.2),
        pytest.param(np.float64, np.longdouble, 2.0, marks=long_double),
    ],
)
@pytest.mark.parametrize("size", [1.0, 5.0, 100.0])
def test_logarithms_of_sums(dtype, wide, bound, size):
    x, y = np.random.default_rng(3).uniform(-size, size, (2, 100_000)).astype(dtype)
    found, exact = run(logaddexp, x, y), np.logaddexp(x.astype(wide), y.astype(wide))
    # where the larger operand is negative they cancel what is rounded to a part of 0.5
    least = np.where(np.maximum(x, y) < 0, 0.5, 0)
    place = np.spacing(np.maximum(abs(exact), least).astype(dtype))
    assert (abs(found - exact) / place).max() < bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values_of_logarithms_of_sums(dtype):
    values = np.array([0.0, 1.0, -3.0, np.inf, -np.inf, np.nan, 1e30, -1e30], dtype)
    x, y = (one.ravel() for one in np.meshgrid(values, values))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_max_ulp(run(logaddexp, x, y), np.logaddexp(x, y))
