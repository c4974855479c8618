"""Vector math: powers."""

import mpmath
import numpy as np
import pytest

from tensorframe.dtypes import INTEGER
from tensorframe.kernel.ir import argument, literal
from tensorframe.kernel.ir.interpret import evaluate
from tensorframe.kernel.math.powers import pow_
from tests.kernel.vector_math import error, precisely, random_bits, run, special

LIMITS = {np.float32: 150, np.float64: 1076}


def operands(dtype, count):
    """Bases of all sizes and near one, with exponents that take them through the whole range of results."""
    rng = np.random.default_rng(0)
    x = abs(random_bits(dtype, count))
    near = 1 + rng.normal(size=count) * 2.0 ** rng.uniform(-np.finfo(dtype).nmant, -1, count)
    x = np.concatenate([x, near.astype(dtype), rng.uniform(0.1, 10, count).astype(dtype)])
    x = x[np.isfinite(x) & (x > 0) & (x != 1)]
    logarithm = np.log2(x.astype(np.float64))
    limit = LIMITS[dtype]
    y = np.where(np.arange(len(x)) % 3, rng.uniform(-limit, limit, len(x)) / logarithm, 2.5)
    return x, np.clip(y, -1e30, 1e30).astype(dtype)


def test_float32():
    x, y = operands(np.float32, 100_000)
    with np.errstate(over="ignore", under="ignore"):
        exact = x.astype(np.float64) ** y.astype(np.float64)
    assert error(run(pow_, x, y), exact) < 0.51


def test_float64():
    x, y = operands(np.float64, 4000)
    found = run(pow_, x, y)
    size = np.log2(x) * y
    normal = abs(size) < 1021.9
    exact = precisely(mpmath.power, x[normal], y[normal])
    assert error(found[normal], *exact) < 0.89
    with np.errstate(over="ignore", under="ignore"):
        # the C library's are within a place; float64 has no place for the rest of a subnormal number
        assert error(found[~normal], x[~normal] ** y[~normal]) < 1.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_are_those_of_c(dtype):
    values = np.concatenate([special(dtype), np.array([-3.5, 2.0**60, -5.0], dtype)])
    x, y = (one.ravel() for one in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    found = run(pow_, x, y)
    assert error(found, expected.astype(np.float64)) < 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_exponents_of_the_program(dtype, exponent):
    """Products of the base; special values are those of any exponent."""
    x = np.concatenate([operands(dtype, 20_000)[0], special(dtype)])
    x = np.concatenate([x, -x])
    base, y = argument("x", x.dtype), literal(exponent, np.dtype(dtype))
    found = np.broadcast_to(evaluate(pow_(base, y), {base: x}), x.shape)
    with np.errstate(all="ignore"):
        # an array of exponents: NumPy takes the root for the number 0.5, which differs at -0.0
        expected = np.power(x, np.full_like(x, exponent))
    assert error(found, expected.astype(np.float64)) <= 3


def test_squares_of_few_digits_are_exact():
    x = np.arange(-3000.0, 3000.0)
    assert np.array_equal(run(pow_, x, np.full_like(x, 2)), x * x)
    assert np.array_equal(run(pow_, np.full(100, 2.0), np.arange(100.0)), 2.0 ** np.arange(100))


@pytest.mark.parametrize("dtype", sorted(INTEGER, key=str), ids=str)
def test_integers_wrap(dtype):
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    few = np.array([0, 1, 2, 3, 5, 7, 10, ends.max, ends.min, ends.max - 1], dtype)
    x = np.concatenate([few, -few, rng.integers(ends.min, ends.max, 300, dtype, endpoint=True)])
    y = abs(np.concatenate([x, np.arange(100).astype(dtype)]))
    y = y[y >= 0]
    x, y = (one.ravel() for one in np.meshgrid(x, y))
    modulus = 1 << 8 * dtype.itemsize
    exact = [pow(int(a), int(b), modulus) for a, b in zip(x, y, strict=True)]
    assert np.array_equal(run(pow_, x, y), np.array(exact, np.uint64).astype(dtype))
