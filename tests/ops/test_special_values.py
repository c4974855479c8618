"""Elementwise results where a formula alone would not say them: infinities, zeros of either sign, branch cuts."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.testing.compare import assert_close

inf, nan = math.inf, math.nan
# not NaN: cmath follows an older edition of C there
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, inf, -inf]
POINTS = list(itertools.product(SPECIAL, SPECIAL))


def same(actual, expected):
    if math.isnan(expected):
        return math.isnan(actual)
    return actual == expected and math.copysign(1, actual) == math.copysign(1, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [
        (inf, 2.0, inf),
        (inf, -2.0, -inf),
        (-inf, 2.0, -inf),
        (-inf, -2.0, inf),
        (inf, inf, nan),
        (1.0, inf, 0.0),
        (1.0, -inf, -0.0),
        (-1.0, inf, -0.0),
        (-1.0, -inf, 0.0),
        (1.0, 0.0, inf),
        (-1.0, 0.0, -inf),
        (0.0, 0.0, nan),
        (nan, 1.0, nan),
        (1.0, nan, nan),
    ],
)
def test_floor_division_by_the_standard(dividend, divisor, quotient, dtype):
    x, y = tfr.asarray([dividend, 7.0], dtype=dtype), tfr.asarray([divisor, 2.0], dtype=dtype)
    found = (x // y).numpy().astype(float)
    assert same(found[0], quotient)
    assert found[1] == 3.0


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_integer_division_by_zero_gives_zero(dtype):
    x, zero = tfr.asarray([1, 0, 100], dtype=dtype), tfr.zeros(3, dtype=dtype)
    assert (x // zero).tolist() == [0, 0, 0]
    assert (x % zero).tolist() == [0, 0, 0]


def test_the_least_integer_divided_by_minus_one_wraps():
    assert (tfr.asarray([-128], dtype="int8") // tfr.asarray([-1], dtype="int8")).tolist() == [-128]


def test_integer_powers_with_negative_exponents_round_towards_zero():
    bases, exponents = tfr.asarray([2, 1, -1, -1, 0, 5]), tfr.asarray([-1, -3, -3, -2, -1, 2])
    assert (bases**exponents).tolist() == [0, 1, -1, 1, 0, 25]


def parts(value):
    return complex(value).real, complex(value).imag


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (complex(0, 0), complex(0, 0)),
        (complex(-0.0, 0), complex(0, 0)),
        (complex(1, inf), complex(nan, nan)),
        (complex(1, nan), complex(nan, nan)),
        (complex(inf, 0), complex(inf, 0)),
        (complex(inf, inf), complex(inf, nan)),
        (complex(inf, nan), complex(inf, nan)),
        (complex(-inf, 1), complex(-1, 0)),
        (complex(-inf, inf), complex(-1, 0)),
        (complex(-inf, nan), complex(-1, 0)),
        (complex(nan, 0), complex(nan, 0)),
        (complex(nan, 1), complex(nan, nan)),
    ],
)
def test_complex_expm1_by_the_standard(point, expected):
    for argument, wanted in ((point, expected), (point.conjugate(), expected.conjugate())):
        for shape in ((), (2,)):
            found = tfr.expm1(tfr.asarray(np.full(shape, argument))).numpy().reshape(-1)[0]
            real, imag = parts(found)
            assert same(real, wanted.real)
            assert same(imag, wanted.imag)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_expm1_keeps_small_arguments(dtype):
    small = np.asarray([1e-12 + 1e-12j, -1e-9 + 3e-7j, 2 - 1j, -30 + 1j]).astype(dtype)
    found = tfr.expm1(tfr.asarray(small)).numpy()
    wide = small.astype(complex)
    exact = np.where(abs(wide) < 1e-3, wide + wide**2 / 2 + wide**3 / 6, np.exp(wide) - 1)
    assert (abs(found - exact) <= 8 * np.finfo(dtype).eps * abs(exact)).all()


INVERSE = ["acos", "asin", "atan", "acosh", "asinh", "atanh", "sqrt", "log"]
FORWARD = ["exp", "sin", "cos", "tan", "sinh", "cosh", "tanh"]


@pytest.mark.parametrize("name", INVERSE + FORWARD)
def test_complex_functions_at_infinities_zeros_and_cuts(name):
    """C99, annex G, which the standard follows: Python's cmath has its own implementation of the same tables."""
    function = getattr(cmath, name)
    for point in (complex(*parts) for parts in POINTS):
        try:
            expected = function(point)
        except (ValueError, OverflowError):
            continue  # cmath raises where C gives NaN or an infinity
        found = complex(getattr(tfr, name)(tfr.asarray(np.asarray([point]))).numpy()[0])
        for part, wanted in zip(parts(found), parts(expected), strict=True):
            if not math.isfinite(wanted):
                # C leaves the sign of some infinities open
                assert math.isnan(part) == math.isnan(wanted), (point, found, expected)
            else:
                assert part == pytest.approx(wanted, rel=1e-14, abs=1e-300), (
                    point,
                    found,
                    expected,
                )
        if all(map(math.isfinite, (*parts(point), *parts(expected)))):
            assert [math.copysign(1, part) for part in parts(found)] == [
                math.copysign(1, part) for part in parts(expected)
            ], (point, found, expected)


def test_complex_sign_has_unit_length_and_absolute_value_does_not_overflow():
    z = tfr.asarray([3 + 4j, 0j, 1e300 + 1e300j, complex(inf, nan)], dtype="complex128")
    assert tfr.sign(z).numpy()[:2].tolist() == [0.6 + 0.8j, 0j]
    assert tfr.abs(z).tolist() == [5.0, 0.0, pytest.approx(math.sqrt(2) * 1e300), inf]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nextafter_steps_by_one_representable_number(dtype):
    x = tfr.asarray([1.0, 1.0, 0.0, 0.0], dtype=dtype)
    towards = tfr.asarray([2.0, 0.0, 1.0, -1.0], dtype=dtype)
    limits = tfr.finfo(dtype)
    found = tfr.nextafter(x, towards).numpy().astype(float)
    assert found[0] == 1 + limits.eps
    assert found[1] == 1 - limits.eps / 2
    assert found[2] > 0 > found[3]
    assert found[2] <= limits.smallest_normal * limits.eps


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_hypot_and_logaddexp_do_not_overflow_on_the_way(dtype):
    large = float(tfr.finfo(dtype).max) / 4
    x = tfr.asarray([large], dtype=dtype)
    assert np.isfinite(tfr.hypot(x, x).numpy().astype(float)).all()
    assert tfr.logaddexp(x, x).numpy().astype(float)[0] == pytest.approx(large, rel=1e-2)
    assert tfr.softplus(x).numpy().astype(float)[0] == pytest.approx(large, rel=1e-2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_sigmoid_becomes_as_small_as_numbers_are(dtype):
    least = np.log(float(tfr.finfo(dtype).smallest_normal))
    points = np.linspace(least, 60, 2000).astype(tfr.dtypes.as_dtype(dtype))
    x = points.astype(np.longdouble)
    exact = np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))
    tensor = tfr.asarray(points)
    assert_close(tfr.sigmoid(tensor), exact.astype(points.dtype), ulp=3)
    assert_close(tfr.silu(tensor), (x * exact).astype(points.dtype), ulp=4)
