"""Vector math: cube root and hypotenuse."""

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.math.roots import cbrt, hypot
from tests.kernel.vector_math import error, precisely, random_bits, run, special, spread


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cube_roots(dtype):
    x = spread(dtype, (-30, 30), (0, 1e-300), (0, 1e-38), count=8000)
    x = x[np.isfinite(x) & (x != 0)]
    exact = precisely(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), x.astype(np.float64))
    assert error(run(cbrt, x), *exact) < 0.63


@pytest.mark.parametrize(("dtype", "largest"), [(np.float32, 255), (np.float64, 100_000)])
def test_roots_of_cubes_are_exact(dtype, largest):
    root = np.arange(-largest, largest + 1, dtype=dtype)
    assert np.array_equal(run(cbrt, root * root * root), root)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_has_no_other_root_is_its_own(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype)
    assert repr(run(cbrt, x).tolist()) == repr(x.tolist())


def sides(dtype):
    """Pairs of all sizes, and of similar sizes."""
    x, y = random_bits(dtype, 200_000, 1), random_bits(dtype, 200_000, 2)
    factor = np.random.default_rng(3).uniform(0.01, 100, 200_000).astype(dtype)
    with np.errstate(over="ignore", under="ignore"):
        y = np.where(np.arange(200_000) % 2, y, x * factor)
    values = special(dtype)
    first, second = (one.ravel() for one in np.meshgrid(values, values))
    return np.concatenate([x, first]), np.concatenate([y, second])


def test_hypotenuse_float32():
    x, y = sides(np.float32)
    exact = np.hypot(x.astype(np.float64), y.astype(np.float64))
    assert error(run(hypot, x, y), exact) < 1.01


def test_hypotenuse_float64():
    x, y = (one[-120_000:] for one in sides(np.float64))
    with np.errstate(over="ignore", under="ignore"):
        # within a place itself
        assert error(run(hypot, x, y), np.hypot(x, y)) < 2.01
    x, y = (one[np.isfinite(x) & np.isfinite(y) & (x != 0)][:4000] for one in (x, y))
    exact = precisely(mpmath.hypot, x, y)
    assert error(run(hypot, x, y), *exact) < 1.01


def test_the_hypotenuse_of_whole_triangles_is_exact():
    x, y = np.array([3.0, -4.0, 5.0, 0.0]), np.array([4.0, 3.0, -12.0, -7.0])
    assert run(hypot, x, y).tolist() == [5.0, 5.0, 13.0, 7.0]
