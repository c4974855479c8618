"""What `elementwise` refuses: side effects, results and operands that do not fit."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError, TracingError
from tests.frontend.elementwise_cases import (
    composed,
    damped,
)

kept: list[object] = []


counter = 0


def refused_effects():
    around = 0

    def prints(x):
        print(x)  # noqa: T201 - which is refused
        return x

    def assigns(x):
        global counter  # noqa: PLW0603 - which is refused
        counter = x
        return x

    def assigns_around(x):
        nonlocal around
        around = x
        return x

    def appends(x):
        kept.append(x)
        return x

    def sets_item(x):
        kept[int(x) + 1] = x * 2
        return x

    def adds_to_item(x):
        kept[0] += x
        return x

    def sets_attribute(x):
        x.seen = True
        return x

    def yields(x):
        yield x

    def within(x):
        def inner(y):
            kept.append(y)
            return y

        return inner(x)

    return {
        "prints": (prints, "calls print", "print(x)"),
        "assigns": (assigns, "global 'counter'", "counter = x"),
        "assigns_around": (assigns_around, "'around' of the function around it", "around = x"),
        "appends": (appends, "changes 'kept'", "kept.append(x)"),
        "sets_item": (sets_item, "sets an item of 'kept'", "kept[int(x) + 1] = x * 2"),
        "adds_to_item": (adds_to_item, "sets an item of 'kept'", "kept[0] += x"),
        "sets_attribute": (sets_attribute, "sets the attribute 'seen'", "x.seen = True"),
        "yields": (yields, "one by one", "def yields(x):"),
        "within": (within, "changes 'kept'", "kept.append(y)"),
    }


@pytest.mark.parametrize("name", refused_effects())
def test_side_effects_are_refused_when_it_is_decorated(name):
    function, what, line = refused_effects()[name]
    with pytest.raises(ArgumentError, match=re.escape(what)) as caught:
        tfr.elementwise(function)
    assert line in caught.value.location


def test_side_effects_of_functions_that_it_calls_are_refused_at_first_use():
    inner = refused_effects()["appends"][0]
    outer = tfr.elementwise(lambda x: inner(x) + 1)
    with pytest.raises(ArgumentError, match="changes 'kept'"):
        outer(1.0)
    assert not kept


def test_own_lists_may_change():
    @tfr.elementwise
    def horner(x):
        terms = [x]
        for power in range(2, 4):
            terms.append(x**power)  # noqa: PERF401 - a list that changes
        terms[0] = 2.0
        terms[max(0, 1)] += 0
        return sum(terms)

    np.testing.assert_allclose(horner(np.array([2.0])).numpy(), [2 + 4 + 8])


def test_functions_inside_may_change_what_belongs_to_the_function():
    @tfr.elementwise
    def total(x):
        found = [x]
        count = 1

        def add(term):
            nonlocal count
            found.append(term)
            found[0] = x + 1
            count += 1

        add(x * 2)
        return sum(found) + count

    assert total(np.array([1.0])).tolist() == [6.0]


def test_what_is_no_function_of_scalars_is_refused():
    with pytest.raises(ArgumentError, match="any number of arguments"):
        tfr.elementwise(lambda *values: values[0])
    with pytest.raises(ArgumentError, match="no parameters"):
        tfr.elementwise(lambda: 1)
    with pytest.raises(DTypeError, match="written in Python"):
        tfr.elementwise(math.exp)


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (lambda x: None, DTypeError, "returns None"),
        (lambda x: "text", DTypeError, "returns str"),
        (lambda x: [x, x], DTypeError, "returns list"),
        (lambda x: (), DTypeError, "empty tuple"),
        (lambda x: x + np.ones(3), TracingError, "not among its arguments"),
        (lambda x: tfr.sum(x) + 1, TracingError, "sum is no function of scalars"),
        (lambda x: math.exp(x * 1j), DTypeError, "cmath.exp"),
        (lambda x: x & 1, DTypeError, "bitwise_and"),
        (lambda x: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_results_that_are_no_numbers_are_refused_at_first_use(function, error, match):
    with pytest.raises(error, match=match):
        tfr.elementwise(function)(tfr.ones(3))


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"composed\(x, y\): missing a required argument: 'y'"):
        composed(1.0)
    with pytest.raises(TypeError, match=r"damped\(x, rate=0.5\): too many positional"):
        damped(1.0, 2.0, 3.0)
    with pytest.raises(ShapeError, match="composed: shapes"):
        composed(np.ones(3), np.ones(4))
    with pytest.raises(DTypeError):
        damped("text")


def test_what_jit_does_not_know_yet_has_to_be_an_argument():
    @tfr.jit
    def step(x, rate):
        return tfr.elementwise(lambda y: y * rate)(x)

    with pytest.raises(TracingError, match="does not know yet"):
        step(tfr.ones(3), 2.0)


def test_numbers_that_are_equal_and_not_the_same_are_told_apart():
    """0.0 == -0.0, also as a part of a complex number: nodes of numbers are kept, and must not be mixed up."""
    x = tfr.asarray(np.array([1.0, -1.0]))
    z = tfr.asarray(np.array([1 + 1j]))
    for _ in range(2):
        assert np.signbit((x * -0.0).numpy()).tolist() == [True, False]
        assert np.signbit((x * 0.0).numpy()).tolist() == [False, True]
        for number in (complex(0.5, 0.0), complex(0.5, -0.0)):
            constant = (z + number).node.inputs[1]
            assert str(constant.attrs[0]) == str(number)


@pytest.mark.parametrize("name", ["real", "conj", "positive"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_what_leaves_real_elements_alone_records_nothing(name, dtype):
    x = tfr.asarray(np.array([1, -2]), dtype=dtype)
    result = getattr(tfr, name)(x)
    assert result.node is x.node
    result[0] = 5
    assert x.tolist() == [1, -2]
    with pytest.raises(tfr.errors.DTypeError):
        tfr.positive(x > 0)
