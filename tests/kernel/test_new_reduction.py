"""A new reduction is one row: defined here, it runs in every engine, fused, along rows and columns and in chunks."""

import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.dtypes import FLOAT, INTEGER, NUMERIC
from tensorframe.frontend.dispatch import call
from tensorframe.graph import op as table
from tensorframe.graph.op import Combination, find, same
from tensorframe.ops.elementwise import ADD, BITWISE_XOR, HYPOT, LOGADDEXP, MULTIPLY
from tensorframe.ops.reduction import one, reduce, zero
from tensorframe.ops.term import sqrt
from tests.backends.devices import FOUND

DEVICES = ["numpy", "cpu", "llvm", *FOUND]


def sign(term):
    return type(term)(term.apply(find("sign"), term.node), term.apply)


# name -> dtypes, how elements are combined, what NumPy makes of them, dtype of the test's elements
ROWS = {
    "squares": (
        NUMERIC,
        Combination(ADD, zero, take=lambda x: x * x, wide=True),
        lambda x, axes: np.sum(x.astype(np.float64) ** 2, axis=axes),
        "float32",
    ),
    "length": (
        FLOAT,
        Combination(ADD, zero, take=lambda x: x * x, finish=sqrt, wide=True),
        lambda x, axes: np.sqrt(np.sum(x.astype(np.float64) ** 2, axis=axes)),
        "float32",
    ),
    "length of halves": (
        FLOAT,
        Combination(ADD, zero, take=lambda x: x * x, finish=sqrt, wide=True),
        lambda x, axes: np.sqrt(np.sum(x.astype(np.float64) ** 2, axis=axes)),
        "float16",
    ),
    "product of signs": (
        NUMERIC,
        Combination(MULTIPLY, one, take=sign),
        lambda x, axes: np.prod(np.sign(x), axis=axes),
        "float32",
    ),
    "length by formula": (  # no machine op joins two of them
        FLOAT,
        Combination(HYPOT, zero, take=abs, wide=True),
        lambda x, axes: np.sqrt(np.sum(x.astype(np.float64) ** 2, axis=axes)),
        "float32",
    ),
    "logarithm by formula": (  # what joins two of them shares its steps: written out, they are megabytes
        FLOAT,
        Combination(LOGADDEXP, lambda dtype: -math.inf, wide=True),
        lambda x, axes: np.logaddexp.reduce(x.astype(np.float64), axis=axes),
        "float32",
    ),
    "parity": (
        INTEGER,
        Combination(BITWISE_XOR, zero),
        lambda x, axes: np.bitwise_xor.reduce(x, axis=axes),
        "int32",
    ),
}
SHAPES = {"rows": ((60, 300), (1,)), "columns": ((300, 60), (0,)), "chunks": ((2, 150_000), (0, 1))}


@pytest.fixture(params=ROWS)
def reduction(request, monkeypatch):
    """A row that nobody else sees, with its expected values and a dtype of elements."""
    accepts, combination, expected, dtype = ROWS[request.param]
    monkeypatch.setattr(table, "_ROWS", dict(table._ROWS))
    row = reduce(f"test_{request.param}", accepts, same, "A row of a test.", combination)
    return row, expected, dtype


@pytest.mark.sweep(6)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_is_all_that_a_reduction_takes(reduction, shape, device):
    row, expected, dtype = reduction
    sizes, axes = SHAPES[shape]
    values = np.random.default_rng(1).integers(-5, 6, sizes).astype(dtype)
    x = tfr.asarray(values, device=device)
    result = call(row, x + 1, attrs=(axes, False)) * 2
    fuses = device != "numpy" and not (device == "wgpu" and dtype == "float16")
    assert result.explain().kernels == 1 or not fuses, result.explain()
    # NumPy's own joins in float32, one after the other
    rtol = 2e-3 if dtype == "float16" else 2e-4 if "formula" in row.name else 2e-6
    if "logarithm" in row.name and device == "numpy":
        rtol = 2e-2
    wanted = expected(values + np.asarray(1, dtype), axes) * 2
    np.testing.assert_allclose(result.numpy(), wanted, rtol=rtol)


def test_one_element_is_taken_in_and_finished(reduction):
    row, expected, dtype = reduction
    values = np.asarray([[3], [-4]], dtype)
    for device in ("numpy", "llvm"):
        result = call(row, tfr.asarray(values, device=device), attrs=((1,), False))
        np.testing.assert_allclose(result.numpy(), expected(values, (1,)), rtol=1e-3)
