"""Methods of elementwise functions: NumPy's values, recorded where there is an op, and the plain call is still one."""

import inspect

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.elementwise.functions import FUNCTIONS

X = np.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]], np.float32)
N = np.asarray([[1, 5, 2], [4, 3, 6]])


def both(name, how, *args, **options):
    expected = getattr(getattr(np, name), how)(*args, **options)
    given = [tfr.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    actual = getattr(getattr(tfr, name), how)(*given, **options)
    assert isinstance(actual, tfr.Tensor)
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-5)
    return actual


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "subtract", "logaddexp"])
@pytest.mark.parametrize(
    "options",
    [{}, {"axis": 1}, {"axis": None}, {"axis": 0, "keepdims": True}, {"axis": 1, "initial": 2.0}],
    ids=str,
)
def test_reduce(name, options):
    if name == "subtract" and options.get("axis", 0) is None:
        options = {"axis": 1}  # the order counts
    both(name, "reduce", X, **options)


def test_reductions_take_what_numpys_take():
    both("add", "reduce", X, where=X > 2)
    both("add", "reduce", N, 1, dtype=np.float64)
    both("multiply", "reduce", X, axis=1, initial=2.0, where=X > 2)
    both("maximum", "reduce", X, axis=1, initial=0.0, where=X > 2)
    both("logical_and", "reduce", X > 1, axis=1)
    both("logical_or", "reduce", X > 4, axis=1)
    both("bitwise_or", "reduce", N, axis=1)
    out = tfr.zeros(3)
    assert tfr.add.reduce(tfr.asarray(X), out=out) is out
    assert out.tolist() == [5.0, 8.0, 8.0]


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract"])
def test_accumulate_outer_and_reduceat(name):
    both(name, "accumulate", X)
    both(name, "accumulate", X, 1)
    both(name, "outer", X[0], X[1])
    both(name, "reduceat", X[0], [0, 2])


def test_sums_and_products_are_recorded():
    x = tfr.asarray(X) + 1
    results = [tfr.add.reduce(x), tfr.multiply.accumulate(x), tfr.subtract.outer(x, x)]
    results += [tfr.maximum.reduce(x, axis=1, initial=0)]
    assert all(result.node.storage is None for result in (x, *results))


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "subtract"])
def test_at_joins_values_one_after_the_other(name):
    expected, actual = X[0].copy(), tfr.asarray(X[0])
    getattr(np, name).at(expected, [0, 0, 2], [2.0, 3.0, 4.0])
    getattr(tfr, name).at(actual, [0, 0, 2], [2.0, 3.0, 4.0])
    np.testing.assert_allclose(actual.numpy(), expected)
    array = X[0].copy()
    getattr(tfr, name).at(array, [0, 0, 2], [2.0, 3.0, 4.0])
    np.testing.assert_allclose(array, expected)


def test_every_function_of_two_operands_has_them():
    for function in FUNCTIONS.values():
        binary = len(inspect.signature(function).parameters) == 9
        assert hasattr(function, "reduce") is binary
    assert tfr.power.reduce is tfr.pow.reduce
    assert (tfr.add.nin, tfr.add.nout) == (2, 1)


def test_wrong_operands_raise_errors_of_ours():
    with pytest.raises(DTypeError, match=r"add\.at"):
        tfr.add.at([1, 2], [0], 1)
    with pytest.raises(DTypeError, match=r"add\.reduce"):
        tfr.add.reduce()
    with pytest.raises((ShapeError, tfr.errors.AxisError)):
        tfr.add.reduce(tfr.ones(3), axis=2)
