"""Sets: distinct elements and membership, against NumPy and the standard's words."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr

random = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "bfloat16", "complex64"])
def test_distinct_elements_reconstruct_the_tensor(dtype):
    x = tfr.asarray(random.integers(0, 4, (3, 5))).astype(dtype)
    values, indices, inverse, counts = tfr.unique_all(x)
    flat = x.numpy().reshape(-1).tolist()
    assert values.dtype == x.dtype
    assert values.tolist() == sorted(set(flat), key=lambda one: (one.real, one.imag))
    assert indices.tolist() == [flat.index(one) for one in values.tolist()]
    assert counts.tolist() == [flat.count(one) for one in values.tolist()]
    assert inverse.shape == x.shape
    assert values[inverse].tolist() == x.tolist()


def test_results_have_the_names_of_the_standard():
    x = tfr.asarray([1, 1])
    assert tfr.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert tfr.unique_counts(x)._fields == ("values", "counts")
    assert tfr.unique_inverse(x)._fields == ("values", "inverse_indices")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex128"])
def test_every_nan_is_distinct_in_the_standard_and_one_in_numpys_form(dtype):
    x = tfr.asarray([1.0, np.nan, 1.0, np.nan]).astype(dtype)
    values, counts = tfr.unique_counts(x)
    assert counts.tolist() == [2, 1, 1]
    assert tfr.isnan(values).tolist() == [False, True, True]
    assert tfr.unique(x).shape == (2,)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_numpys_form_agrees_with_numpy(axis):
    array = random.integers(0, 2, (6, 2))
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
    for found, expected in zip(
        tfr.unique(tfr.asarray(array), **options), np.unique(array, **options), strict=True
    ):
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("invert", [False, True])
def test_membership_agrees_with_numpy(dtype, size, invert):
    array, pool = random.integers(0, 6, (3, 4)), random.integers(0, 6, size)
    x, y = tfr.asarray(array).astype(dtype), tfr.asarray(pool).astype(dtype)
    found = tfr.isin(x, y, invert=invert)
    assert found.node.storage is None
    expected = np.isin(x.numpy(), y.numpy(), invert=invert)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_membership_of_numbers_and_nan():
    x = tfr.asarray([1.0, np.nan])
    assert tfr.isin(x, x).tolist() == [True, False]
    assert tfr.isin(x, 1).tolist() == [True, False]
    assert tfr.isin(2, x).item() is False


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d"])
def test_sets_combine_as_in_numpy(name):
    first, second = random.integers(0, 9, 12), random.integers(3, 12, 12)
    found = getattr(tfr, name)(tfr.asarray(first), tfr.asarray(second))
    assert found.tolist() == getattr(np, name)(first, second).tolist()


def test_intersections_tell_where_elements_are():
    common, first, second = tfr.intersect1d(
        tfr.asarray([4, 2, 2]), tfr.asarray([1, 2, 4]), return_indices=True
    )
    assert (common.tolist(), first.tolist(), second.tolist()) == ([2, 4], [1, 0], [1, 2])


@pytest.mark.parametrize("count", [1, 8, 9])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64"])
def test_few_elements_are_looked_for_as_many_are(count, dtype):
    values = np.arange(24).reshape(4, 6) % 11
    pool = np.arange(count) * 2
    given = [value.astype(dtype) for value in (values, pool)]
    if dtype.startswith("float"):
        given[0][0, :3], given[1][0] = (np.nan, -0.0, 0.0), -0.0 if count == 1 else np.nan
    for invert in (False, True):
        expected = np.isin(*given, invert=invert)
        np.testing.assert_array_equal(tfr.isin(*given, invert=invert).numpy(), expected)
    np.testing.assert_array_equal(
        tfr.isin(given[0][1, 1], given[1]).numpy(), np.isin(given[0][1, 1], given[1])
    )
