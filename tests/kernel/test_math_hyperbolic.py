"""Vector math: hyperbolic functions and their inverses."""

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.math.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from tests.kernel.vector_math import error, precisely, run, spread

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than double"
)

DTYPES = [np.float32, np.float64]
# where multiples of log(2) change, where exp overflows and where results do
GROWING = [(-1e-3, 1e-3), (-1, 1), (0.33, 0.38), (1.02, 1.06), (-40, 40)]
ENDS = {np.float32: [(88, 90), (7, 9)], np.float64: [(709, 711), (17, 20)]}
# where results are just below powers of two, and where one is lost beside a square
ASINH = [(-1e-3, 1e-3), (-1, 1), (0.24, 0.26), (1, 1.2), (-100, 100), (0, 1e9), (0, 1e38)]
ACOSH = [(1, 1.001), (1.03, 1.032), (1.12, 1.13), (1, 2), (1, 100), (0, 1e9), (0, 1e38)]
# where multiples of log(2) change, and the end
ATANH = [(-1e-3, 1e-3), (-0.5, 0.5), (0.22, 0.25), (0.4, 0.6), (-1, 1), (0.999, 1)]
RANGES = {sinh: GROWING, cosh: GROWING, asinh: ASINH, acosh: ACOSH, atanh: ATANH}
RANGES[tanh] = [*GROWING, (0.55, 0.63)]


def points(formula, dtype):
    ends = ENDS[dtype] if formula in {sinh, cosh} else []
    return spread(dtype, *RANGES[formula], *ends, count=30_000)


@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [
        (sinh, np.sinh, 1.57),
        (cosh, np.cosh, 1.33),
        (tanh, np.tanh, 1.52),
        (asinh, np.asinh, 1.42),
        (acosh, np.acosh, 1.35),
        (atanh, np.atanh, 1.58),
    ],
)
def test_float32(formula, numpy, bound):
    x = points(formula, np.float32)
    with np.errstate(all="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.float64))) < bound


@long_double
@pytest.mark.parametrize(
    ("formula", "numpy", "bound"),
    [
        (sinh, np.sinh, 1.76),
        (cosh, np.cosh, 1.33),
        (tanh, np.tanh, 1.56),
        (asinh, np.asinh, 1.43),
        (acosh, np.acosh, 1.54),
        (atanh, np.atanh, 1.61),
    ],
)
def test_float64(formula, numpy, bound):
    x = points(formula, np.float64)
    with np.errstate(all="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.longdouble))) < bound


@pytest.mark.parametrize(
    ("formula", "function", "bound"),
    [
        (sinh, mpmath.sinh, 1.76),
        (cosh, mpmath.cosh, 1.33),
        (tanh, mpmath.tanh, 1.56),
        (asinh, mpmath.asinh, 1.43),
        (acosh, mpmath.acosh, 1.54),
        (atanh, mpmath.atanh, 1.61),
    ],
)
def test_float64_in_forty_digits(formula, function, bound):
    x = np.random.default_rng(2).permutation(points(formula, np.float64))[:3000]
    domain = {acosh: (x >= 1) & (x < 1e300), atanh: abs(x) < 1}
    x = x[domain.get(formula, abs(x) < 700) & (x != 0)]
    assert error(run(formula, x), *precisely(function, x)) < bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype)
    assert repr(run(sinh, x).tolist()[:-1]) == "[0.0, -0.0, inf, -inf, nan]"
    assert repr(run(cosh, x).tolist()[:-1]) == "[1.0, 1.0, inf, inf, nan]"
    assert repr(run(tanh, x).tolist()[:-1]) == "[0.0, -0.0, 1.0, -1.0, nan]"
    assert repr(run(asinh, x).tolist()[:-1]) == "[0.0, -0.0, inf, -inf, nan]"
    assert repr(run(acosh, x).tolist()) == "[nan, nan, inf, nan, nan, 0.0]"
    assert repr(run(atanh, x).tolist()) == "[0.0, -0.0, nan, nan, nan, inf]"
    assert repr(run(atanh, -x).tolist()) == "[-0.0, 0.0, nan, nan, nan, -inf]"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("formula", [sinh, tanh, asinh, atanh])
def test_odd_functions_keep_the_smallest_numbers_and_are_odd(formula, dtype):
    x = np.finfo(dtype).smallest_subnormal * np.arange(1, 100, dtype=dtype)
    assert np.array_equal(run(formula, x), x)
    x = points(formula, dtype)
    x = x[~np.isnan(x)]
    assert np.array_equal(run(formula, -x), -run(formula, x), equal_nan=True)
