"""Searching: positions and elements by value and condition, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tensorframe as tfr
from tensorframe.errors import ArgumentError, AxisError, DTypeError, IndexingError, ShapeError

MATRIX = np.asarray([[3, 0, 5], [0, 7, 0]])


@settings(deadline=None, max_examples=100)
@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_take_agrees_with_numpy(shape, data):
    array = np.arange(np.prod(shape)).reshape(shape)
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    size = array.size if axis is None else shape[axis]
    wanted = hnp.array_shapes(min_dims=0, max_dims=2, max_side=3)
    indices = data.draw(hnp.arrays(np.int64, wanted, elements=st.integers(-size, size - 1)))
    expected = np.take(array, indices, axis=axis)
    for asked in (indices, tfr.asarray(indices), tfr.asarray(indices) + 0):
        found = tfr.take(tfr.asarray(array), asked, axis=axis)
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found.numpy(), expected)


@settings(deadline=None, max_examples=100)
@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_take_along_axis_agrees_with_numpy(shape, data):
    array = np.arange(np.prod(shape)).reshape(shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    wanted = list(shape)
    wanted[axis] = data.draw(st.integers(0, 4))
    elements = st.integers(-shape[axis], shape[axis] - 1)
    indices = data.draw(hnp.arrays(np.int64, tuple(wanted), elements=elements))
    found = tfr.take_along_axis(tfr.asarray(array), tfr.asarray(indices), axis=axis)
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(array, indices, axis))


@pytest.mark.parametrize("axis", [0, 1, None])
def test_put_along_axis_agrees_with_numpy_and_changes_nobody_else(axis):
    indices = np.asarray([[1, 0, 1]]) if axis == 0 else np.asarray([[2], [0]])
    indices = indices.reshape(-1) if axis is None else indices
    expected, x = MATRIX.copy(), tfr.asarray(MATRIX)
    other = x[...]
    np.put_along_axis(expected, indices, 9, axis)
    tfr.put_along_axis(x, tfr.asarray(indices), 9, axis=axis)
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(other.numpy(), MATRIX)


def test_take_names_the_axis_and_the_size_that_an_index_exceeds():
    x = tfr.asarray(MATRIX)
    with pytest.raises(IndexingError, match="index 3 is out of bounds for axis 1 with size 3"):
        tfr.take(x, [0, 3], axis=-1)
    with pytest.raises(IndexingError, match="index -3 is out of bounds for axis 0 with size 2"):
        tfr.take(x, tfr.asarray([-3]), axis=0)
    with pytest.raises(AxisError):
        tfr.take(x, [0], axis=2)
    with pytest.raises(DTypeError, match="integers"):
        tfr.take(x, tfr.asarray([0.0]), axis=0)


def test_take_along_axis_wants_as_many_axes():
    with pytest.raises(ShapeError, match="2 axes"):
        tfr.take_along_axis(tfr.asarray(MATRIX), tfr.asarray([0]))


def test_positions_of_what_is_not_zero():
    x = tfr.asarray(MATRIX)
    for found, expected in zip(tfr.nonzero(x), np.nonzero(MATRIX), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    assert tfr.argwhere(x).tolist() == np.argwhere(MATRIX).tolist()
    assert tfr.flatnonzero(x).tolist() == np.flatnonzero(MATRIX).tolist()
    assert [one.tolist() for one in tfr.where(x > 4)] == [[0, 1], [2, 1]]
    with pytest.raises(ShapeError, match="0-d"):
        tfr.nonzero(tfr.asarray(1))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_count_nonzero_agrees_with_numpy(axis, keepdims):
    found = tfr.count_nonzero(tfr.asarray(MATRIX), axis=axis, keepdims=keepdims)
    expected = np.count_nonzero(MATRIX, axis=axis, keepdims=keepdims)
    assert found.dtype == tfr.int64
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float32", "complex64"])
def test_count_nonzero_counts_nan_and_truth(dtype):
    values = np.asarray([5.0, 0.0, -0.0, 2.0, 1.0, 0.0])
    x = tfr.asarray(values).astype(dtype)
    assert tfr.count_nonzero(x).item() == 3
    x = tfr.asarray(np.tile(values, 2_000)).astype(dtype)
    assert tfr.count_nonzero(x).item() == 6_000  # by a plan
    if x.dtype.kind in "fcV":
        assert tfr.count_nonzero(x * np.nan).item() == 12_000


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int8"])
def test_searchsorted_agrees_with_numpy(side, dtype):
    edges, values = np.asarray([5, 1, 3, 3]), np.asarray([[0, 3], [4, 9]])
    order = np.argsort(edges)
    x, v = tfr.asarray(edges).astype(dtype), tfr.asarray(values).astype(dtype)
    expected = np.searchsorted(edges, values, side=side, sorter=order)
    found = tfr.searchsorted(x, v, side=side, sorter=tfr.asarray(order))
    assert found.tolist() == expected.tolist()
    assert tfr.searchsorted(tfr.sort(x), 3, side=side).item() == (1 if side == "left" else 3)


def test_searchsorted_refuses_what_it_cannot_search():
    x = tfr.asarray([1.0, 2.0])
    with pytest.raises(ArgumentError, match="side"):
        tfr.searchsorted(x, x, side="middle")
    with pytest.raises(ShapeError, match="vector"):
        tfr.searchsorted(tfr.asarray(MATRIX), x)
    with pytest.raises(ShapeError, match="sorter"):
        tfr.searchsorted(x, x, sorter=tfr.asarray([0]))
    with pytest.raises(ShapeError, match="sorter"):
        tfr.searchsorted(x, tfr.asarray([1j]), sorter=tfr.asarray([0.0, 1.0]))


def test_where_takes_numbers_on_both_sides():
    condition = tfr.asarray([True, False])
    assert tfr.where(condition, 1, 2).dtype == tfr.int64
    assert tfr.where(condition, 1, 2.5).dtype == tfr.float32
    assert tfr.where(condition, 1, 2.5).tolist() == [1.0, 2.5]
    assert tfr.where(tfr.asarray([0, 3]), 1, 2).tolist() == [2, 1]


def test_where_takes_no_value_or_two():
    operands = [tfr.asarray([True, False]), 1]
    with pytest.raises(DTypeError, match="alone"):
        tfr.where(*operands)
