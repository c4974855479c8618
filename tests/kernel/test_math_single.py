"""Formulas of float32 and integers for devices without float64: as accurate, and float64 is nowhere in them."""

from functools import partial

import numpy as np
import pytest

from tensorframe.dtypes import float64
from tensorframe.kernel.ir import argument
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.registry import HOMES, adapts, formula_of
from tests.kernel.vector_math import error, run, special, spread

FLOATS = sorted(filter(adapts, HOMES))


def alone(name):
    return partial(formula_of(name), double=False)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "int64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "pow"])
def test_nothing_is_double(name, dtype):
    operands = [argument(f"x{k}", np.dtype(dtype)) for k in range(2)]
    assert not any(expr.dtype == float64 for expr in in_order((alone(name)(*operands),), {}))


@pytest.mark.parametrize(("name", "bound"), [("sin", 1.56), ("cos", 1.56), ("tan", 2.38)])
def test_angles_of_any_size(name, bound):
    x = spread(np.float32, (-1e4, 1e4), (-1e6, 1e6), count=100_000)
    assert not any(
        expr.dtype == float64 for expr in in_order((alone(name)(argument("x", x.dtype)),), {})
    )
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
    assert error(run(alone(name), x), exact) < bound


def pairs():
    both = np.random.default_rng(3)
    few = special(np.float32)
    x, y = (one.ravel() for one in np.meshgrid(few, few))
    size = 10 ** both.uniform(-38, 38, 50_000)
    other = both.normal(scale=4, size=size.size)
    return np.concatenate([x, size, abs(other)]).astype("f4"), np.concatenate(
        [y, other, 10 * other]
    ).astype("f4")


def test_powers():
    x, y = pairs()
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    assert error(run(alone("pow"), x, y), exact) < 1.0


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_rests_are_exact(name):
    x, y = pairs()
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x, y)
    found = run(alone(name), x, y)
    assert np.array_equal(found, exact, equal_nan=True)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integers(name, dtype):
    ends = np.iinfo(dtype)
    drawn = np.random.default_rng(4).integers(ends.min, ends.max, (2, 2000), dtype, endpoint=True)
    x, y = drawn[0], drawn[1] >> np.arange(2000, dtype=dtype) % np.array(40, dtype)
    y[::7] = 0
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x, y)
    assert np.array_equal(run(alone(name), x, y), exact)
