"""Vector math: sin, cos and tan."""

import importlib
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math import angle
from tensorframe.kernel.math.trigonometric import cos, sin, tan
from tests.kernel.vector_math import error, precisely, run, spread

DERIVATIONS = Path(__file__).parents[2] / "docs" / "derive"
sys.path.insert(0, str(DERIVATIONS))
derivation = importlib.import_module("trigonometric")

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than double"
)

DTYPES = [np.float32, np.float64]
RANGES = [(-0.8, 0.8), (-4, 4), (0, 100), (-1e5, 1e5)]
# where another way to take multiples of pi away begins
ENDS = {np.float32: [(2**17 - 1e3, 2**17 + 1e3)], np.float64: [(2**40 - 1e9, 2**40 + 1e9)]}


def points(dtype, count=60_000):
    """Angles of all sizes, and the nearest ones to multiples of pi / 2."""
    rng = np.random.default_rng(3)
    multiples = np.pi / 2 * np.concatenate([np.arange(2000), rng.integers(0, 10**6, 20_000)])
    near = np.nextafter(multiples.astype(dtype), rng.choice([-np.inf, 0, np.inf], multiples.size))
    sizes = np.exp2(rng.uniform(-30, np.finfo(dtype).maxexp - 0.01, count))
    found = spread(dtype, *RANGES, *ENDS[dtype], count=count)
    return np.concatenate([found, near.astype(dtype), sizes.astype(dtype)])


def closest(exponent, count=3):
    """The float64 of one exponent closest to multiples of pi / 2: by the continued fraction of their ratio."""
    with mpmath.workprec(1300):
        per_radian = Fraction(int(mpmath.ldexp(2 / mpmath.pi, 1280)), 2**1280)
    before, denominator, rest = 0, 1, Fraction(2) ** exponent * per_radian % 1
    found = []
    while rest and denominator < 2**53:
        found.append(denominator)
        quotient, rest = divmod(1 / rest, 1)
        before, denominator = denominator, quotient * denominator + before
    # multiples of good denominators are good
    large = [-(-(2**52) // one) * one for one in found[-count:]]
    return [float(one * Fraction(2) ** exponent) for one in large if one < 2**53]


@pytest.mark.parametrize(
    ("formula", "numpy", "bound"), [(sin, np.sin, 1.56), (cos, np.cos, 1.56), (tan, np.tan, 2.38)]
)
def test_float32(formula, numpy, bound):
    x = points(np.float32)
    with np.errstate(invalid="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.float64))) < bound


@long_double
@pytest.mark.parametrize(
    ("formula", "numpy", "bound"), [(sin, np.sin, 1.52), (cos, np.cos, 1.52), (tan, np.tan, 1.82)]
)
def test_float64(formula, numpy, bound):
    x = points(np.float64)
    with np.errstate(invalid="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.longdouble))) < bound


@pytest.mark.parametrize(
    ("formula", "function"), [(sin, mpmath.sin), (cos, mpmath.cos), (tan, mpmath.tan)]
)
def test_next_to_multiples_of_half_pi_of_any_size(formula, function):
    x = np.array([one for exponent in range(-53, 971, 6) for one in closest(exponent)])
    # zeros of sin and cos are no closer than this, but not much farther either
    assert abs(np.sin(2 * x)).min() < 1e-17
    assert error(run(formula, x), *precisely(function, x)) < 1.82


def test_large_angles_by_long_division():
    x = np.array([1e22, 2.0**1000, np.finfo(np.float64).max])
    with mpmath.workprec(1200):
        exact = [float(mpmath.sin(mpmath.mpf(one) % (2 * mpmath.pi))) for one in x.tolist()]
    assert exact[0] == -0.8522008497671888
    assert abs(run(sin, x) - exact).max() <= np.spacing(0.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    assert repr(run(sin, x).tolist()) == "[0.0, -0.0, nan, nan, nan]"
    assert repr(run(cos, x).tolist()) == "[1.0, 1.0, nan, nan, nan]"
    assert repr(run(tan, x).tolist()) == "[0.0, -0.0, nan, nan, nan]"


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_angles_are_kept(dtype):
    info = np.finfo(dtype)
    x = np.array([info.smallest_subnormal, info.tiny, 1e-30, info.eps / 2], dtype)
    assert np.array_equal(run(sin, x), x)
    assert np.array_equal(run(tan, x), x)
    assert (run(cos, x) == 1).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_beyond_one_and_symmetry_is_exact(dtype):
    x = points(dtype, count=10_000)
    x = x[np.isfinite(x)]
    for formula, sign in (sin, -1), (cos, 1), (tan, -1):
        found = run(formula, x)
        assert np.array_equal(run(formula, -x), sign * found)
        assert formula is tan or abs(found).max() == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_sin_and_cos_of_one_angle_share_what_is_left_of_it(dtype):
    x = argument("x", np.dtype(dtype))
    shared = {*in_order([sin(x)], {})} & {*in_order([cos(x)], {})}
    assert shared >= {*in_order(angle.quarters(abs(x)), {})}


def test_the_parts_of_pi_are_derived():
    parts = {one.name: tuple(derivation.parts(one)) for one in derivation.PARTS_OF_PI}
    assert parts == {"PI_32": angle.PI_32, "PI_64": angle.PI_64}
    assert derivation.reciprocal_of_pi() == angle.RECIPROCAL_OF_PI
