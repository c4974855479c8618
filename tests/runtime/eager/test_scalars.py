"""Known numbers: elements of computed tensors, whose arithmetic and comparisons happen at once, with rows' bits."""

import math
import operator
import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import TensorFrameError
from tensorframe.runtime.eager.scalars import Number
from tests.runtime.small_calls import frames

OPERATORS = ("add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")
VALUES = {
    "float32": [0.0, -0.0, 1.5, 3e38, 1e-45, math.inf, -math.inf, math.nan, 16777216.0, 0.1],
    "float64": [0.0, -0.0, 1.5, 1e308, 5e-324, math.inf, math.nan, 0.1, 2.0**53],
    "int8": [0, 1, -128, 127],
    "int64": [0, 1, -(2**63), 2**63 - 1],
    "uint8": [0, 255, 7],
    "uint64": [0, 2**64 - 1, 9],
    "bool": [True, False],
}
NUMBERS = [0, 2, -1, 3.5, 0.1, -0.0, 1e39, math.nan, math.inf, 2**24 + 1, 300, 2**63, 10**40, True]


def outcome(function, left, right):
    try:
        result = function(left, right)
        array = result.numpy()
    except (TensorFrameError, TypeError) as error:
        return type(error)
    is_nan = bool(np.isnan(array))
    return result.dtype, result.shape, "nan" if is_nan else array.tobytes()


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", VALUES)
def test_numbers_have_the_values_the_dtypes_and_the_errors_of_what_is_recorded(dtype, name):
    function = getattr(operator, name)
    known = list(tfr.asarray(np.asarray(VALUES[dtype], dtype)).compute())
    recorded = [tfr.asarray(np.asarray(value, dtype)).compute() for value in VALUES[dtype]]
    assert all(type(number.node) is Number for number in known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for left, right in zip(known, recorded, strict=True):
            for others in (zip(known, recorded, strict=True), zip(NUMBERS, NUMBERS, strict=True)):
                for other, same in others:
                    ours = outcome(function, left, other)
                    assert ours == outcome(function, right, same), (right, same)
                    ours = outcome(function, other, left)
                    assert ours == outcome(function, same, right), (same, right)


ELEMENTS = {
    "of a loop": lambda x, m: next(iter(x)),
    "at a position": lambda x, m: x[-2],
    "of a matrix": lambda x, m: m[1, 0],
    "a sum": lambda x, m: x[0] + x[1],
    "beside a number": lambda x, m: 2 * x[0],
    "a comparison": lambda x, m: x[0] < x[1],
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_what_is_made_of_elements_is_computed_at_once(name):
    vector, matrix = np.asarray([1.5, 2.0]), np.arange(6.0).reshape(3, 2)
    x, m = tfr.asarray(vector).compute(), tfr.asarray(matrix).compute()
    number = ELEMENTS[name](x, m)
    assert number.is_computed
    assert type(number.node) is Number
    expected = np.asarray(ELEMENTS[name](vector, matrix))
    np.testing.assert_array_equal(number.numpy(), expected, strict=True)
    assert number.item() == expected.item()
    assert bool(number) == bool(expected)
    np.testing.assert_array_equal((number + x).numpy(), expected + vector)
    assert number.compute() is number


def test_sums_and_extremes_of_python_take_few_frames():
    x = tfr.asarray(np.arange(10.0)).compute()
    assert sum(x).item() == 45
    assert (max(x).item(), min(x).item()) == (9, 0)
    assert frames(lambda: sum(x)) <= 34
    assert frames(lambda: max(x)) <= 39


def test_no_tensor_is_the_same_as_another():
    x = tfr.asarray(np.asarray([1.0, 2.0])).compute()
    less, also = x[0] < x[1], x[0] < x[1]
    less |= False
    less[...] = False
    assert not less
    assert also
    first = x[0]
    first += 1
    assert (first.item(), x.tolist()) == (2.0, [1.0, 2.0])
    assert len({element.node.serial for element in x}) == 2


def test_gradients_find_the_way_through_elements():
    weights = tfr.asarray(np.asarray([2.0, 3.0])).compute()

    def loss(x):
        x.compute()
        return sum(element * weight for element, weight in zip(x, weights, strict=True)) * (
            weights[0] + weights[1]
        )

    gradient = tfr.grad(loss)(tfr.asarray(np.asarray([1.0, 1.0])))
    assert gradient.tolist() == [10.0, 15.0]


def test_functions_take_numbers_and_give_them():
    x = tfr.asarray(np.asarray([1.0, 2.0])).compute()

    @tfr.jit
    def scaled(values, factor):
        total = x[0] + x[1]
        total += factor
        return values * factor, total, x[1]

    for factor in (x[0], x[1], x[0] + 4):
        values, total, last = scaled(x, factor)
        assert values.tolist() == [factor.item(), 2 * factor.item()]
        assert (total.item(), last.item()) == (3 + factor.item(), 2)
    assert x.tolist() == [1.0, 2.0]


def test_a_number_that_is_donated_leaves_others_as_they_are():
    @tfr.jit(updates="holds", donate=True)
    def negate(holds):
        holds[...] = ~holds

    x = tfr.asarray(np.asarray([1.0, 2.0])).compute()
    for _ in range(20):
        holds = x[0] < x[1]
        negate(holds)
        assert not holds
        assert (x[0] < x[1]).numpy()


def test_checks_see_numbers():
    x = tfr.asarray(np.asarray([0.0, 1.0])).compute()
    with tfr.config.override(check_nan=True), pytest.raises(TensorFrameError, match="x\\[0\\]"):
        (x[0] / x[0]).compute()
    with tfr.config.override(small_size=0):
        assert not (x[0] + x[1]).is_computed
