"""Vector math: the functions of random numbers, which have the same bits on every device."""

import mpmath
import numpy as np
import pytest

from tensorframe.backends.numpy import engine  # noqa: F401 - the spellings
from tensorframe.backends.numpy.functions import implementation
from tensorframe.kernel.ir import Apply, argument
from tensorframe.kernel.ir.walk import in_order
from tensorframe.kernel.math.portable import cos_turns, surprisal
from tensorframe.ops.random import COS_TURNS, SURPRISAL
from tests.kernel.vector_math import error, precisely, run, spread

ROWS = {surprisal: SURPRISAL, cos_turns: COS_TURNS}
# what every device rounds correctly, or only moves
ARITHMETIC = {"add", "subtract", "multiply", "divide", "negative", "abs", "round"}
EXACT = ARITHMETIC | {"bitcast", "bitwise_and", "bitwise_or", "bitwise_right_shift"}

bits = pytest.mark.parametrize("dtype", [np.float32, np.float64])
of_both = pytest.mark.parametrize("formula", ROWS)


@bits
@of_both
def test_they_are_made_of_ops_that_every_device_rounds_correctly(formula, dtype):
    root = formula(argument("x", np.dtype(dtype)))
    assert {expr.op for expr in in_order([root], {}) if isinstance(expr, Apply)} <= EXACT


@bits
@of_both
def test_numpy_computes_what_kernels_do(formula, dtype):
    """For several blocks, into memory of its own, of others, and of its operand."""
    function = implementation[ROWS[formula]]
    x = spread(dtype, (0, 1), (0, 1e-6), (0, 4), count=15_000)
    expected = run(formula, x).tobytes()
    assert function(x).tobytes() == expected
    out = np.empty((2, x.size), dtype)
    function(x, out=out[1])
    assert out[1].tobytes() == expected
    assert function(x.reshape(2, -1).T).T.tobytes() == expected
    apart = np.empty((x.size, 2), dtype)
    function(x, out=apart[:, 0])
    assert apart[:, 0].tobytes() == expected
    function(x, out=x)
    assert x.tobytes() == expected


@bits
def test_logarithms_are_those_of_forty_digits(dtype):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.random(2000), 2.0 ** -rng.uniform(0, 53, 2000)]).astype(dtype)
    assert error(run(surprisal, x), *precisely(lambda x: -mpmath.log(x), x)) < 0.9


@bits
def test_cosines_are_those_of_forty_digits(dtype):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.random(2000), 2.0 ** -rng.uniform(0, 53, 2000), -rng.random(99) * 9])
    x = x.astype(dtype)
    found = run(cos_turns, x)
    assert error(found, *precisely(lambda x: mpmath.cos(2 * mpmath.pi * x), x)) < 3.2
    assert run(cos_turns, np.array([0.25, 0.75, -0.25], dtype)).tolist() == [0.0] * 3
