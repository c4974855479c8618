"""Vector math: error functions."""

import mpmath
import numpy as np
import pytest

from tensorframe.backends.numpy import special
from tensorframe.kernel.math.error_function import erf, erfc
from tests.kernel.vector_math import error, precisely, run, spread

# where each way to compute them ends
NEAR = [0.25, 0.75, 1.0, 1.125]
FAR = {np.float32: [4.0, 9.1, 10.1], np.float64: [6.0, 26.5, 27.3]}


def points(dtype):
    around = [(at - 0.1, at + 0.1) for at in NEAR + FAR[dtype]]
    ranges = [(-1.5, 1.5), (-6, 6), (0, 30), (1.3, 1.6), *around]
    found = spread(dtype, *ranges, count=40_000)
    return np.concatenate([found, -found])


@pytest.mark.parametrize(("formula", "bound"), [(erf, 1.13), (erfc, 2.16)])
def test_float32(formula, bound):
    x = points(np.float32)
    # within 2 ULP of float64
    exact = getattr(special, formula.__name__)(x.astype(np.float64))
    assert error(run(formula, x), exact) < bound


@pytest.mark.parametrize(("formula", "bound"), [(erf, 1.4), (erfc, 2.05)])
def test_float64(formula, bound):
    x = np.random.default_rng(1).permutation(points(np.float64))[:15_000]
    x = x[(abs(x) < 40) & (x != 0)]
    exact = precisely(getattr(mpmath, formula.__name__), x)
    assert error(run(formula, x), *exact) < bound


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30], dtype)
    assert repr(run(erf, x).tolist()) == "[0.0, -0.0, 1.0, -1.0, nan, 1.0, -1.0]"
    assert repr(run(erfc, x).tolist()) == "[1.0, 1.0, 0.0, 2.0, nan, 0.0, 2.0]"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_error_function_is_odd_and_goes_up(dtype):
    x = np.sort(points(dtype)[::4])
    x = x[~np.isnan(x)]
    found = run(erf, x)
    assert np.array_equal(found, -run(erf, -x))
    # neighbours may be rounded the other way round by a place
    assert (np.diff(found.astype(np.float64)) >= -2 * np.spacing(abs(found[1:]))).all()
