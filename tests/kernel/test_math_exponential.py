"""Vector math: exponential functions."""

import mpmath
import numpy as np
import pytest

from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.exponential import exp, exp2, expm1
from tests.kernel.vector_math import error, precisely, run, spread

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double has no more digits than double"
)

DTYPES = [np.float32, np.float64]
# where results begin to overflow, to be subnormal, and to be zero
ENDS = {
    np.float32: [(88, 90), (-88, -86), (-105, -102)],
    np.float64: [(709, 711), (-710, -707), (-747, -743)],
}
EXP2_ENDS = {np.float32: [(127, 129), (-151, -125)], np.float64: [(1023, 1025), (-1076, -1021)]}
NEAR = [(-1e-3, 1e-3), (-0.4, 0.4), (-1, 1), (-10, 10), (-100, 100)]


def points(dtype, ends=ENDS, count=30_000):
    return spread(dtype, *NEAR, *ends[dtype], count=count)


@pytest.mark.parametrize(
    ("formula", "numpy", "ends", "bound"),
    [(exp, np.exp, ENDS, 0.90), (exp2, np.exp2, EXP2_ENDS, 0.88), (expm1, np.expm1, ENDS, 1.29)],
)
def test_float32(formula, numpy, ends, bound):
    x = points(np.float32, ends)
    with np.errstate(over="ignore", under="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.float64))) < bound


@long_double
@pytest.mark.parametrize(
    ("formula", "numpy", "ends", "bound"),
    [(exp, np.exp, ENDS, 0.91), (exp2, np.exp2, EXP2_ENDS, 0.88), (expm1, np.expm1, ENDS, 1.53)],
)
def test_float64(formula, numpy, ends, bound):
    x = points(np.float64, ends)
    with np.errstate(over="ignore", under="ignore"):
        assert error(run(formula, x), numpy(x.astype(np.longdouble))) < bound


@pytest.mark.parametrize(
    ("formula", "function", "bound"),
    [
        (exp, mpmath.exp, 0.91),
        (exp2, lambda x: mpmath.power(2, x), 0.88),
        (expm1, mpmath.expm1, 1.53),
    ],
)
def test_float64_in_forty_digits(formula, function, bound):
    x = np.random.default_rng(2).permutation(points(np.float64))[:3000]
    x = x[(abs(x) < 700) & (x != 0)]
    assert error(run(formula, x), *precisely(function, x)) < bound


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_two_are_exact(dtype):
    info = np.finfo(dtype)
    n = np.arange(info.minexp - info.nmant - 3, info.maxexp + 3)
    with np.errstate(over="ignore"):
        assert np.array_equal(run(exp2, n.astype(dtype)), np.ldexp(dtype(1), n))


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30], dtype)
    assert repr(run(exp, x).tolist()) == "[1.0, 1.0, inf, 0.0, nan, inf, 0.0]"
    assert repr(run(exp2, x).tolist()) == "[1.0, 1.0, inf, 0.0, nan, inf, 0.0]"
    assert repr(run(expm1, x).tolist()) == "[0.0, -0.0, inf, -1.0, nan, inf, -1.0]"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_numbers_are_kept_by_expm1(dtype):
    x = np.finfo(dtype).smallest_subnormal * np.arange(1, 100, dtype=dtype)
    assert np.array_equal(run(expm1, x), x)
    assert np.array_equal(run(expm1, -x), -x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("formula", [exp, exp2])
def test_what_is_masked_by_minus_infinity_underflows_nowhere(formula, dtype):
    """A processor takes ten times as long for products that are too small for a float: softmax of masked scores."""
    x = argument("x", np.dtype(dtype))
    root = formula(x)
    for given in (-np.inf, -1e30, -2000.0):
        bindings = {x: np.array([given], dtype)}
        known = {one: evaluate(one, bindings) for one in in_order((root,), {})}
        assert known[root] == 0
        for one, value in known.items():
            if getattr(one, "op", "") == "multiply" and all(
                known[of].all() for of in one.arguments
            ):
                assert abs(value) >= np.finfo(dtype).tiny
