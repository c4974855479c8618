"""Complex functions at zeros, infinities and NaN: the standard's tables, and the symmetries that it asks for."""

from __future__ import annotations

import itertools
import math
from math import inf, nan, pi

import numpy as np
import pytest

import tensorframe as tfr

POSITIVE = (0.5, 1.0, 3.0, 2.0**100)
NONZERO = (*POSITIVE, -0.5, -1.0, -3.0, -(2.0**100))
FINITE = (0.0, -0.0, *NONZERO)
INFINITE = (inf, -inf)
ZERO = (0.0, -0.0)


def either(value):
    """A result whose sign the standard leaves open."""
    return value, -value


def directed(size):
    """A size times cos(b) + i sin(b)."""
    return lambda _, b: (size * math.cos(b), size * math.sin(b) if b else b)


# name -> rows of: real parts, imaginary parts, the parts of the result
TABLE = {
    "exp": [
        (ZERO, (0.0,), 1.0, 0.0),
        (FINITE, (inf, nan), nan, nan),
        ((inf,), (0.0,), inf, 0.0),
        ((-inf,), FINITE, directed(0.0)),
        ((inf,), NONZERO, directed(inf)),
        ((-inf,), (inf, nan), either(0.0), either(0.0)),
        ((inf,), (inf, nan), either(inf), nan),
        ((nan,), (0.0,), nan, 0.0),
        ((nan,), (*NONZERO, inf, nan), nan, nan),
    ],
    "expm1": [
        (ZERO, (0.0,), 0.0, 0.0),
        (FINITE, (inf, nan), nan, nan),
        ((inf,), (0.0,), inf, 0.0),
        ((-inf,), FINITE, lambda _, b: (-1.0, 0.0 * math.sin(b))),
        ((inf,), NONZERO, directed(inf)),
        ((-inf,), (inf, nan), -1.0, either(0.0)),
        ((inf,), (inf, nan), either(inf), nan),
        ((nan,), (0.0,), nan, 0.0),
        ((nan,), (*NONZERO, inf, nan), nan, nan),
    ],
    "cosh": [
        ((0.0,), (0.0,), 1.0, 0.0),
        ((0.0,), (inf, nan), nan, either(0.0)),
        (NONZERO, (inf, nan), nan, nan),
        ((inf,), (0.0,), inf, 0.0),
        ((inf,), NONZERO, directed(inf)),
        ((inf,), (inf,), either(inf), nan),
        ((inf,), (nan,), inf, nan),
        ((nan,), ZERO, nan, either(0.0)),
        ((nan,), (*NONZERO, nan), nan, nan),
    ],
    "sinh": [
        ((0.0,), (0.0,), 0.0, 0.0),
        ((0.0,), (inf, nan), either(0.0), nan),
        (POSITIVE, (inf, nan), nan, nan),
        ((inf,), (0.0,), inf, 0.0),
        ((inf,), POSITIVE, directed(inf)),
        ((inf,), (inf, nan), either(inf), nan),
        ((nan,), (0.0,), nan, 0.0),
        ((nan,), (*NONZERO, nan), nan, nan),
    ],
    "tanh": [
        ((0.0,), (0.0,), 0.0, 0.0),
        (NONZERO, (inf, nan), nan, nan),
        ((inf,), POSITIVE, 1.0, 0.0),
        ((inf,), (inf, nan), 1.0, either(0.0)),
        ((nan,), (0.0,), nan, 0.0),
        ((nan,), (*NONZERO, nan), nan, nan),
    ],
    "log": [
        ((-0.0,), (0.0,), -inf, pi),
        ((0.0,), (0.0,), -inf, 0.0),
        (FINITE, (inf,), inf, pi / 2),
        (FINITE, (nan,), nan, nan),
        ((-inf,), POSITIVE, inf, pi),
        ((inf,), POSITIVE, inf, 0.0),
        ((-inf,), (inf,), inf, 3 * pi / 4),
        ((inf,), (inf,), inf, pi / 4),
        (INFINITE, (nan,), inf, nan),
        ((nan,), FINITE, nan, nan),
        ((nan,), (inf,), inf, nan),
        ((nan,), (nan,), nan, nan),
    ],
    "log1p": [
        ((-1.0,), (0.0,), -inf, 0.0),
        (FINITE, (inf,), inf, pi / 2),
        (FINITE, (nan,), nan, nan),
        ((-inf,), POSITIVE, inf, pi),
        ((inf,), POSITIVE, inf, 0.0),
        ((-inf,), (inf,), inf, 3 * pi / 4),
        ((inf,), (inf,), inf, pi / 4),
        (INFINITE, (nan,), inf, nan),
        ((nan,), FINITE, nan, nan),
        ((nan,), (inf,), inf, nan),
        ((nan,), (nan,), nan, nan),
    ],
    "sqrt": [
        (ZERO, (0.0,), 0.0, 0.0),
        ((*FINITE, *INFINITE, nan), (inf,), inf, inf),
        (FINITE, (nan,), nan, nan),
        ((-inf,), POSITIVE, 0.0, inf),
        ((inf,), POSITIVE, inf, 0.0),
        ((-inf,), (nan,), nan, either(inf)),
        ((inf,), (nan,), inf, nan),
        ((nan,), (*FINITE, nan), nan, nan),
    ],
    "acos": [
        (ZERO, (0.0,), pi / 2, -0.0),
        (ZERO, (nan,), pi / 2, nan),
        (FINITE, (inf,), pi / 2, -inf),
        (NONZERO, (nan,), nan, nan),
        ((-inf,), POSITIVE, pi, -inf),
        ((inf,), POSITIVE, 0.0, -inf),
        ((-inf,), (inf,), 3 * pi / 4, -inf),
        ((inf,), (inf,), pi / 4, -inf),
        (INFINITE, (nan,), nan, either(inf)),
        ((nan,), (*FINITE, nan), nan, nan),
        ((nan,), (inf,), nan, -inf),
    ],
    "acosh": [
        (ZERO, (0.0,), 0.0, pi / 2),
        (FINITE, (inf,), inf, pi / 2),
        (NONZERO, (nan,), nan, nan),
        ((-inf,), POSITIVE, inf, pi),
        ((inf,), POSITIVE, inf, 0.0),
        ((-inf,), (inf,), inf, 3 * pi / 4),
        ((inf,), (inf,), inf, pi / 4),
        (INFINITE, (nan,), inf, nan),
        ((nan,), (*FINITE, nan), nan, nan),
        ((nan,), (inf,), inf, nan),
    ],
    "asinh": [
        ((0.0,), (0.0,), 0.0, 0.0),
        (POSITIVE, (inf,), inf, pi / 2),
        (FINITE, (nan,), nan, nan),
        ((inf,), POSITIVE, inf, 0.0),
        ((inf,), (inf,), inf, pi / 4),
        ((nan,), (0.0,), nan, 0.0),
        ((nan,), (*NONZERO, nan), nan, nan),
        ((nan,), (inf,), either(inf), nan),
    ],
    "atanh": [
        ((0.0,), (0.0,), 0.0, 0.0),
        ((0.0,), (nan,), 0.0, nan),
        ((1.0,), (0.0,), inf, 0.0),
        (POSITIVE, (inf,), 0.0, pi / 2),
        (NONZERO, (nan,), nan, nan),
        ((inf,), (*POSITIVE, inf), 0.0, pi / 2),
        ((inf,), (nan,), 0.0, nan),
        ((nan,), (*FINITE, nan), nan, nan),
        ((nan,), (inf,), either(0.0), pi / 2),
    ],
}

# those that the standard gives by others: -i f(iz) for sines, f(iz) for the cosine
TURNED = {"sin": "sinh", "tan": "tanh", "asin": "asinh", "atan": "atanh"}
ODD = {"sinh", "tanh", "asinh", "atanh", *TURNED}
EVEN = {"cosh", "cos"}


def cases(name):
    """Points and what the results' parts may be."""
    for real, imag, *result in TABLE[name]:
        for a, b in itertools.product(real, imag):
            parts = result[0](a, b) if callable(result[0]) else result
            yield complex(a, b), [part if isinstance(part, tuple) else (part,) for part in parts]


def same(found, wanted, tolerance):
    if math.isnan(wanted) or math.isinf(wanted):
        return math.isnan(found) if math.isnan(wanted) else found == wanted
    if wanted == 0:
        return found == 0 and math.copysign(1, found) == math.copysign(1, wanted)
    return math.isclose(found, wanted, rel_tol=tolerance)


def computed(name, points, dtype):
    return getattr(tfr, name)(tfr.asarray(np.asarray(points).astype(dtype))).numpy()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", TABLE)
def test_results_are_those_of_the_standard(name, dtype):
    points, expected = zip(*cases(name), strict=True)
    tolerance = 4 * np.finfo(dtype).eps
    found = computed(name, points, dtype).tolist()
    wrong = [
        (point, one, parts)
        for point, one, parts in zip(points, found, expected, strict=True)
        for part, wanted in zip((one.real, one.imag), parts, strict=True)
        if not any(same(part, choice, tolerance) for choice in wanted)
    ]
    assert not wrong


SPECIAL = (*FINITE, *INFINITE, nan)
GRID = np.array([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)])
# where C leaves a sign open, it may be either on both sides
SIGNED = GRID[np.isfinite(GRID)]


def with_parts(real, imag):
    found = np.empty(real.shape, np.result_type(real, np.complex64))
    found.real, found.imag = real, imag
    return found


def assert_same(found, expected):
    for part in ("real", "imag"):
        one, other = getattr(found, part), getattr(expected, part)
        # some C libraries round results of opposite numbers differently
        np.testing.assert_allclose(one, other, rtol=2 * np.finfo(one.dtype).eps)
        assert np.array_equal(np.signbit(one[one == 0]), np.signbit(other[one == 0]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*TABLE, *TURNED, "cos"])
def test_conjugates_give_conjugates(name, dtype):
    found = computed(name, SIGNED, dtype)
    assert_same(computed(name, SIGNED.conj(), dtype), found.conj())
    if name in ODD | EVEN:
        assert_same(computed(name, -SIGNED, dtype), -found if name in ODD else found)


@pytest.mark.parametrize("name", [*TURNED, "cos"])
def test_circular_functions_are_hyperbolic_ones_turned(name):
    turned = with_parts(-GRID.imag, GRID.real)
    other = computed(TURNED.get(name, "cosh"), turned, "complex128")
    expected = with_parts(other.imag, -other.real) if name in TURNED else other
    found = computed(name, GRID, "complex128")
    for part in ("real", "imag"):
        one, wanted = getattr(found, part), getattr(expected, part)
        assert np.array_equal(np.isnan(one), np.isnan(wanted))
        np.testing.assert_allclose(abs(one), abs(wanted), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_direction_of_infinities_and_of_what_has_none(dtype):
    points = [complex(*ZERO), complex(inf, -2), complex(-1, inf), complex(inf, inf), 3 - 4j]
    found = computed("sign", points, dtype)
    assert_same(found[[0, 1, 2, 4]], np.array([0, 1 - 0j, 1j, 0.6 - 0.8j]).astype(dtype))
    assert np.isnan(found[3])
    assert np.isnan(computed("sign", [complex(nan, 1), complex(1, nan)], dtype)).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_zero_and_to_zero(dtype):
    bases, exponents = [0j, 0j, 2 + 1j, complex(nan, 1)], [2, 0.5 + 1j, 0, 0]
    tensors = [tfr.asarray(np.asarray(one).astype(dtype)) for one in (bases, exponents)]
    assert tfr.pow(*tensors).tolist() == [0j, 0j, 1, 1]
