"""Python numbers as arguments of jitted functions: Python's arithmetic among themselves, weak beside tensors."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import OutOfRangeError, TracingError

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.lshift,
    operator.rshift,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]
UNARY = [
    operator.neg,
    operator.pos,
    operator.abs,
    operator.invert,
    math.floor,
    math.ceil,
    math.trunc,
    round,
]
KINDS = (bool, int, float, complex)
NUMBERS = [True, False, 0, 1, 3, -2, 0.0, -0.0, 0.5, -2.5, 1e300, math.inf, math.nan, 1 + 2j]


def outcome(function, *arguments):
    """Return what a function gives, or the type of what it raises."""
    try:
        result = function(*arguments)
    except Exception as error:
        return (TypeError,) if isinstance(error, TypeError) else (type(error),)
    return type(result), repr(result)


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
def test_two_numbers_meet_as_in_python(function):
    both = tfr.jit(function)
    # infinity to a complex power fails in ways that depend on the power
    numbers = NUMBERS[:-1] if function is operator.pow else NUMBERS
    for left in numbers:
        for right in numbers:
            one, other = type(left)(1), type(right)(1)
            for jitted, arguments, examples in (
                (both, (left, right), (one, other)),
                (tfr.jit(lambda x, right=right: function(x, right)), (left,), (one, right)),
                (tfr.jit(lambda x, left=left: function(left, x)), (right,), (left, other)),
            ):
                wanted, typical = outcome(function, left, right), outcome(function, *examples)
                if wanted[0] is not typical[0]:  # an int to a negative power: see below
                    wanted = (TypeError,) if typical[0] in KINDS and wanted[0] in KINDS else wanted
                assert outcome(jitted, *arguments) == wanted, (left, right)


@pytest.mark.parametrize("function", UNARY, ids=lambda one: one.__name__)
def test_one_number_does_as_in_python(function):
    jitted = tfr.jit(function)
    for number in NUMBERS:
        assert outcome(jitted, number) == outcome(function, number), number


def test_rounding_and_divmod():
    jitted = tfr.jit(lambda x, y: (round(x, 1), divmod(x, y), divmod(7.0, y), divmod(x, 3)))
    for x, y in ((2.345, 0.7), (-9.99, 2.0)):
        assert jitted(x, y) == (round(x, 1), divmod(x, y), divmod(7.0, y), divmod(x, 3))


def formula(a, b, c, n):
    decayed = a * 0.99**2 + b / (1 + abs(c))
    return decayed - n * 3, -decayed // 7 + n % 5, (a > b) & (n != 0), [decayed]


jitted_formula = tfr.jit(formula)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-100, 100), min_size=3, max_size=3),
    st.integers(-10, 10),
)
def test_longer_formulas_are_exact(numbers, n):
    assert jitted_formula(*numbers, n) == formula(*numbers, n)
    assert jitted_formula.cache_info().recorded == 1


def test_a_number_that_changes_its_type_is_refused():
    power = tfr.jit(lambda a, n: a**n)
    assert power(2, 3) == 8
    with pytest.raises(TracingError, match="a number is float in this call, and was int"):
        power(2, -3)
    root = tfr.jit(lambda x: x**0.5)
    assert root(4.0) == 2.0
    with pytest.raises(TracingError, match="complex"):
        root(-4.0)
    assert root(9.0) == 3.0


@pytest.mark.parametrize("dtype", [*tfr.dtypes.BY_NAME], ids=str)
@pytest.mark.parametrize("number", [True, 2, 0.5, 1.5 - 1j], ids=str)
def test_a_number_is_weak_beside_a_tensor(dtype, number):
    x = tfr.asarray([0, 1, 1]).astype(dtype)
    for function in (
        lambda x, n: x * n,
        lambda x, n: n + x,
        lambda x, n: tfr.where(x.astype("bool"), x, n),
        lambda x, n: tfr.stack([x, x * n]),
    ):
        jitted = tfr.jit(function)
        for factor in (1, 3):
            n = number * factor if number is not True else True
            wanted = outcome(lambda n=n, f=function: f(x, n).dtype)
            assert outcome(lambda n=n, j=jitted: j(x, n).dtype) == wanted
            if wanted != (TypeError,):
                np.testing.assert_array_equal(jitted(x, n).numpy(), function(x, n).numpy())


def test_a_number_alone_takes_the_default_dtype():
    jitted = tfr.jit(lambda n: (tfr.asarray(n), tfr.exp(n), tfr.asarray(n, dtype="float64")))
    for n in (1, 2, 0.5, 1.5):
        for got, wanted in zip(
            jitted(n),
            (tfr.asarray(n), tfr.exp(n), tfr.asarray(n, dtype="float64")),
            strict=True,
        ):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6)
    with pytest.raises(tfr.errors.DTypeError):
        tfr.jit(lambda n: tfr.asarray(n, dtype="float32"))(1j)


def test_functions_that_take_numbers_beside_tensors():
    def used(x, n, i):
        y = x.copy()
        y[1] = n
        y[x > 2] = n
        y += n
        return (
            tfr.full((2, 2), n),
            tfr.full_like(x, n),
            tfr.clip(x, 0, n),
            tfr.maximum(x, n),
            tfr.where(x > n, n, x),
            tfr.where(n, x, -x),
            x[i],
            x[i, None],
            tfr.stack([x, x])[:, i],
            y,
            tfr.broadcast_to(n, (2,)),
            tfr.result_type(x, n) == x.dtype,
        )

    jitted = tfr.jit(used)
    x = tfr.asarray(np.arange(5, dtype=np.float32))
    for n, i in ((1.5, 0), (3.0, -1), (0.0, 3)):
        for got, wanted in zip(jitted(x, n, i), used(x, n, i), strict=True):
            if isinstance(wanted, bool):
                assert got == wanted
            else:
                assert got.dtype == wanted.dtype
                np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    assert jitted.cache_info().recorded == 1


def test_zero_one_and_two_are_no_special_numbers():
    x = tfr.asarray(np.linspace(-2, 2, 6000, dtype=np.float32))
    for function in (lambda x, n: x * n, lambda x, n: x**n, lambda x, n: x + n, lambda x, n: x / n):
        jitted = tfr.jit(function)
        for n in (1, 2, 3, 1, 0, 5):
            got, wanted = jitted(x, n).numpy(), function(x, n).numpy()
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_integers_that_do_not_fit_are_refused_in_the_call():
    jitted = tfr.jit(lambda x, n: x + n)
    x = tfr.asarray([1, 2], dtype="int8")
    assert jitted(x, 100).tolist() == [101, 102]
    for n in (128, -129, 10**30):
        with pytest.raises(OutOfRangeError, match="outside the range of int8"):
            jitted(x, n)
    assert jitted(x, -3).tolist() == [-2, -1]
    with pytest.raises(OutOfRangeError):
        tfr.jit(tfr.asarray)(2**70)


def test_floats_that_do_not_fit_become_infinite_without_a_warning():
    jitted = tfr.jit(lambda x, n: x * n)
    x = tfr.asarray(np.ones(5000, np.float32))
    for n in (1e300, -1e300, 1e-300):
        np.testing.assert_array_equal(jitted(x, n).numpy(), (x * n).numpy())
    assert jitted(x, math.nan).numpy()[0] != 0


def test_numbers_in_results_are_python_s():
    jitted = tfr.jit(lambda n, flag: {"n": n + 1, "half": n / 2, "flag": flag, "more": [n > 2]})
    assert jitted(3, True) == {"n": 4, "half": 1.5, "flag": True, "more": [True]}
    assert jitted(1, False) == {"n": 2, "half": 0.5, "flag": False, "more": [False]}
