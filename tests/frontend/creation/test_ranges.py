"""Ranges, grids and triangles against NumPy: values, lengths, ends and dtypes."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tests.frontend.creation_cases import DTYPES, INTEGERS, same

NUMBERS = st.integers(-50, 50) | st.floats(-50, 50, width=16)
STEPS = (st.integers(-7, 7) | st.floats(-7, 7, width=16)).filter(lambda step: abs(step) > 0.2)


@settings(max_examples=200, deadline=None)
@given(NUMBERS, NUMBERS, STEPS)
def test_arange_matches_numpy(start, stop, step):
    expected = np.arange(start, stop, step)
    found = tfr.arange(start, stop, step)
    assert found.dtype == ("int64" if expected.dtype == "int64" else "float32")
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arange_reaches_both_ends_of_integer_dtypes(dtype):
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    step = (high - low) // 3
    for wanted in (
        range(low, high, step),
        range(high, low, -step),
        range(high - 2, high + 1),
        range(low, high, 2 * step),
    ):
        found = tfr.arange(wanted.start, wanted.stop, wanted.step, dtype=dtype)
        assert found.tolist() == list(wanted)
    with pytest.raises(OutOfRangeError):
        tfr.arange(high, high + 2, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arange_takes_every_dtype(dtype):
    same(tfr.arange(2, dtype=dtype), np.asarray([0, 1]).astype(tfr.dtypes.as_dtype(dtype)))
    same(
        tfr.arange(0, 3, 1.5, dtype=dtype), np.asarray([0, 1.5]).astype(tfr.dtypes.as_dtype(dtype))
    )


def test_arange_says_what_it_cannot_do():
    with pytest.raises(ArgumentError, match="step is 0"):
        tfr.arange(3, 5, 0)
    with pytest.raises(ArgumentError, match="finite"):
        tfr.arange(math.inf)
    with pytest.raises(DTypeError, match="complex"):
        tfr.arange(1j)
    with pytest.raises(DTypeError, match="numbers"):
        tfr.arange([1, 2])
    same(tfr.arange(tfr.asarray(3)), [0, 1, 2])
    same(tfr.arange(5, 2), np.arange(0))
    same(tfr.arange(2**63, 2**63 + 2), np.asarray([2**63, 2**63 + 1], "uint64"))


ENDS = st.floats(-(2.0**100), 2.0**100, width=32)


@settings(max_examples=200, deadline=None)
@given(ENDS, ENDS, st.integers(0, 12), st.booleans(), st.sampled_from(["float32", "float64"]))
def test_linspace_is_numpys_with_exact_ends(start, stop, num, endpoint, dtype):
    found = tfr.linspace(start, stop, num, dtype=dtype, endpoint=endpoint).numpy()
    expected = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    scale = max(abs(start), abs(stop)) * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=2 * scale)
    if num:
        assert found[0] == expected[0]
    if num > 1 and endpoint:
        assert found[-1] == expected[-1]


def test_linspace_covers_the_whole_range_of_floats():
    limits = np.finfo("float64")
    found = tfr.linspace(float(limits.min), float(limits.max), 3, dtype="float64")
    same(found, [limits.min, 0.0, limits.max])


def test_linspace_of_other_dtypes():
    same(tfr.linspace(0, 9, 4, dtype="int64"), np.linspace(0, 9, 4, dtype="int64"))
    same(tfr.linspace(-2, 2, 4, dtype="int8"), np.linspace(-2, 2, 4, dtype="int8"))
    complexes = tfr.linspace(1 + 2j, 3 - 2j, 5)
    same(complexes, np.linspace(1 + 2j, 3 - 2j, 5).astype("complex64"))
    same(tfr.linspace(0, 1, 3, dtype="complex128"), np.linspace(0, 1, 3, dtype="complex128"))
    same(tfr.linspace(0, 1, 5, dtype="bfloat16"), np.linspace(0, 1, 5).astype(ml_dtypes.bfloat16))
    with pytest.raises(ArgumentError, match="negative"):
        tfr.linspace(0, 1, -1)


def test_logspace_and_geomspace_match_numpy():
    np.testing.assert_allclose(tfr.logspace(-2, 3, 7).numpy(), np.logspace(-2, 3, 7), rtol=1e-6)
    np.testing.assert_allclose(
        tfr.logspace(0, 3, 4, base=2, endpoint=False, dtype="float64").numpy(),
        np.logspace(0, 3, 4, base=2, endpoint=False),
    )
    for start, stop in ((1.0, 1000.0), (-0.5, -32.0), (256.0, 2.0), (1e-300, 1e300)):
        found = tfr.geomspace(start, stop, 6, dtype="float64").numpy()
        np.testing.assert_allclose(found, np.geomspace(start, stop, 6))
        assert (found[0], found[-1]) == (start, stop)
    for start, stop in ((0, 1), (1, 0), (-1, 1)):
        with pytest.raises(ArgumentError, match="geometric"):
            tfr.geomspace(start, stop, 3)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_meshgrid_matches_numpy(count, sparse, indexing):
    vectors = [np.arange(size) for size in (2, 3, 4)[:count]]
    found = tfr.meshgrid(*vectors, indexing=indexing, sparse=sparse)
    expected = np.meshgrid(*vectors, indexing=indexing, sparse=sparse)
    assert isinstance(found, tuple)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        same(one, other)


def test_meshgrid_says_what_it_cannot_do():
    with pytest.raises(ArgumentError, match="indexing"):
        tfr.meshgrid(tfr.arange(2), indexing="yx")


def test_meshgrid_takes_the_elements_of_matrices():
    matrix, vector = np.arange(6).reshape(2, 3), np.arange(2)
    for ours, numpys in zip(
        tfr.meshgrid(tfr.asarray(matrix), vector), np.meshgrid(matrix, vector), strict=True
    ):
        same(ours, numpys)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 0, 3)])
def test_indices_and_fromfunction_match_numpy(shape):
    same(tfr.indices(shape), np.indices(shape))
    function = lambda *axes: sum(10**index * axis for index, axis in enumerate(axes))  # noqa: E731
    same(tfr.fromfunction(function, shape), np.fromfunction(function, shape).astype("float32"))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40), st.integers(1, 2**38), st.booleans()
)
def test_arange_lengths_of_integers_are_exact(start, stop, step, down):
    step = -step if down else step
    length = max(0, math.ceil(Fraction(stop - start, step)))
    assume(length < 10**6)
    assert tfr.arange(start, stop, step).shape == (length,)


@pytest.mark.parametrize("k", [-4, -1, 0, 2, 5])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (0, 3), (2, 3, 2)])
def test_triangles_match_numpy(shape, k):
    for dtype in ("int64", "bool", "complex64", "float16"):
        values = np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)
        same(tfr.tril(tfr.asarray(values), k=k), np.tril(values, k))
        same(tfr.triu(tfr.asarray(values), k=k), np.triu(values, k))
    rows, columns = shape[:2]
    same(tfr.eye(rows, columns, k=k, dtype="int8"), np.eye(rows, columns, k=k, dtype="int8"))
    same(tfr.tri(rows, columns, k=k, dtype="int8"), np.tri(rows, columns, k=k, dtype="int8"))
    for name in ("tril_indices", "triu_indices"):
        for one, other in zip(
            getattr(tfr, name)(rows, k, columns),
            getattr(np, name)(rows, k, columns),
            strict=True,
        ):
            same(one, other)


def test_triangles_keep_no_nan_of_the_other_side():
    x = tfr.full((2, 2), math.nan)
    same(tfr.isnan(tfr.tril(x, k=-1)), [[False, False], [True, False]])


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_diagonals_match_numpy(k):
    vector, matrix = np.arange(1, 4), np.arange(12).reshape(3, 4)
    same(tfr.diag(tfr.asarray(vector), k), np.diag(vector, k))
    same(tfr.diag(tfr.asarray(matrix), k), np.diag(matrix, k))
    same(tfr.diagflat(tfr.asarray(matrix), k), np.diagflat(matrix, k))
    same(tfr.diag(tfr.zeros(0), k), np.diag(np.zeros(0, "float32"), k))
    same(tfr.identity(3, "int8"), np.identity(3, "int8"))
    with pytest.raises(ShapeError, match="diag"):
        tfr.diag(tfr.zeros((2, 2, 2)))
    with pytest.raises(ShapeError, match="tril"):
        tfr.tril(tfr.zeros(()))
    for function in ("tril", "triu"):
        same(getattr(tfr, function)(tfr.asarray(vector), k), getattr(np, function)(vector, k))


@pytest.mark.parametrize("k", [2**64, -(2**64), 2**63 - 1, -(2**63)])
def test_diagonals_far_outside_of_the_matrix_are_empty(k):
    assert tfr.eye(2, k=k).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    below = [[1.0, 1.0], [1.0, 1.0]] if k > 0 else [[0.0, 0.0], [0.0, 0.0]]
    assert tfr.tril(tfr.ones((2, 2)), k=k).tolist() == tfr.tri(2, k=k).tolist() == below
    assert (tfr.triu(tfr.ones((2, 2)), k=k) == 1 - tfr.asarray(below)).all()
