"""Few elements of computed tensors are selected and replaced at once, with the values and errors as if recorded."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tests.runtime.small_calls import frames

_POSITIONS = {
    "a vector": np.asarray([2, 0, 0, -1]),
    "two axes": np.asarray([[1, 2], [0, -3]]),
    "unsigned": np.asarray([2, 1], np.uint8),
    "none": np.asarray([], np.int64),
}


@pytest.mark.parametrize("name", _POSITIONS)
def test_few_elements_at_positions_are_there_at_once(name):
    values, positions = np.arange(12.0).reshape(3, 4), _POSITIONS[name]
    x, index = tfr.asarray(values).compute(), tfr.asarray(positions).compute()
    for part in (x[index], x[positions]):
        assert part.is_computed
        assert part.dtype == x.dtype
        np.testing.assert_array_equal(part.numpy(), values[positions])


_ASSIGNED = {
    "an element": (3, -1.5),
    "a slice": (np.s_[1:5:2], 2),
    "all": (np.s_[:], 7.0),
    "positions": (np.asarray([1, 0, 1, -2]), np.asarray([1.0, 2.0, 3.0, 4.0])),
    "a mask and a number": (np.arange(6) % 3 == 0, 9),
    "a mask and values": (np.arange(6) % 3 == 0, np.asarray([8.0, 9.0])),
    "one value with more axes": (np.s_[2:4], np.asarray([[5.0]])),
}


def _tensor(value):
    return tfr.asarray(value).compute() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("made", [_tensor, lambda value: value], ids=["tensors", "arrays"])
@pytest.mark.parametrize("name", _ASSIGNED)
def test_few_elements_are_replaced_at_once_as_numpy_does(name, made):
    key, value = _ASSIGNED[name]
    expected = np.arange(6.0)
    x = tfr.asarray(expected).compute()
    other = tfr.asarray(x)
    expected[key] = value
    node = x.node
    x[made(key)] = made(value)
    assert x.is_computed
    assert x.node is not node
    np.testing.assert_array_equal(x.numpy(), expected)
    assert other is x or other.tolist() == [0, 1, 2, 3, 4, 5]


_KEYS = {
    "an integer of NumPy's": (np.int64(2),),
    "a number": (2,),
    "integers of both": (1, np.int8(-1)),
    "a number and a slice": (2, np.s_[1:3]),
    "a slice and a number": (np.s_[::-1], 2),
    "a list": ([0, -1, 0],),
    "a list and a slice": ([0, 2], np.s_[1:]),
    "lists of both": ([0, 2], [1, 1]),
    "an array and an integer": (np.asarray([[0], [2]]), 1),
    "arrays apart": (np.asarray([0, 2]), np.s_[:2], np.asarray([1, 0])),
    "no positions": ([],),
}


def _known(key):
    """The key with its integers as elements of a tensor."""
    return tuple([tfr.asarray([item]).compute()[0] if type(item) is int else item for item in key])


@pytest.mark.parametrize("made", [tuple, _known], ids=["integers", "elements"])
@pytest.mark.parametrize("name", _KEYS)
def test_keys_of_any_kind_select_and_replace_at_once(name, made):
    key = _KEYS[name]
    values = np.arange(36.0).reshape(3, 4, 3)[:, :, : 2 if len(key) == 3 else 1]
    values = values if len(key) == 3 else values[..., 0].copy()
    x = tfr.asarray(values).compute()
    part = x[made(key)]
    assert part.is_computed
    assert part.shape == values[key].shape
    np.testing.assert_array_equal(part.numpy(), values[key])
    x[made(key)] = -1.0
    expected = values.copy()
    expected[key] = -1.0
    assert x.is_computed
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(part.numpy(), values[key])


@pytest.mark.parametrize("key", [np.s_[..., 0], np.s_[:, None], None, np.s_[1, ...]], ids=str)
def test_keys_with_new_axes_replace_at_once(key):
    expected = np.arange(12.0).reshape(3, 4)
    x = tfr.asarray(expected).compute()
    x[key] = 5
    expected[key] = 5
    assert x.is_computed
    np.testing.assert_array_equal(x.numpy(), expected)


def test_zeros_are_filled_in_without_recording():
    x, total, places = tfr.zeros((6, 2)), tfr.zeros(6), tfr.arange(6).compute()
    for step in range(1, 6):
        x[step] = x[step - 1] * 0.5 + 1
        total[places[step]] += x[step].sum()
        assert x.is_computed
        assert total.is_computed
    expected = 2 - 2.0 ** (1 - np.arange(6.0))
    np.testing.assert_allclose(x.numpy(), expected[:, None].repeat(2, 1), rtol=1e-6)
    np.testing.assert_allclose(total.numpy(), 2 * expected, rtol=1e-6)


def test_what_takes_many_ops_or_elements_is_assigned_when_it_is_needed():
    row = tfr.asarray(np.arange(3.0)).compute()
    long = row
    for _ in range(20):
        long = long + 1
    wide = tfr.asarray(np.ones((3, 5000))).compute() + 1
    for values in (long, wide.sum(axis=1)):
        x = tfr.zeros((2, 3), dtype="float64")
        x[1] = values
        assert not x.is_computed
        np.testing.assert_array_equal(x[1].numpy(), values.numpy())


def test_zeros_of_a_function_that_is_recorded_stay_numbers():
    @tfr.jit
    def step(value):
        x = tfr.zeros((32, 32))
        x[1:3] = 2.0
        x[4] = value
        return x + 1

    plan = step.explain(tfr.asarray(1.0))
    assert plan.bytes_read <= 16, "numbers, and no array of zeros"
    assert step(tfr.asarray(1.0))[:6, 0].tolist() == [1, 3, 3, 1, 2, 1]


def test_parts_are_assigned_from_where_they_overlap():
    x = tfr.asarray(np.arange(6.0)).compute()
    before = x[:]
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    assert before.tolist() == [0, 1, 2, 3, 4, 5]


def test_look_ups_and_assignments_of_what_is_large_or_pending_are_recorded():
    large, pending = tfr.asarray(np.arange(5000.0)).compute(), tfr.asarray(np.arange(5.0)) + 1
    index = tfr.asarray([1, 3])
    assert large[index].is_computed  # few elements of many
    assert not large[tfr.asarray(np.zeros(5000, np.int64))].is_computed
    assert not pending[index].is_computed
    for tensor in (large, pending):
        tensor[index] = 0.0
        assert not tensor.is_computed
    with tfr.config.override(small_size=0):
        x = tfr.asarray(np.arange(5.0))
        assert not x[index].is_computed
        x[1] = 0.0
        assert not x.is_computed


@pytest.mark.parametrize("value", [2, np.asarray([3.0, 4.0])], ids=["number", "values"])
def test_gradients_pass_few_elements_that_are_selected_or_replaced(value):
    index = tfr.asarray([1, 3]).compute()
    x = tfr.asarray(np.arange(5.0)).compute()

    def function(x):
        y = x * 1
        y.compute()
        y[index] = _tensor(value)
        return tfr.sum(y[tfr.asarray([0, 1, 4])] * 3)

    assert tfr.grad(function)(x).tolist() == [3, 0, 0, 0, 3]


def test_functions_that_are_recorded_assign_to_few_elements():
    start = tfr.asarray(np.zeros(4)).compute()

    @tfr.jit
    def step(place, value):
        x = start + 0
        x[1] = 5.0
        y = tfr.asarray([1.0, 2.0])
        y[0] = value
        return x[tfr.asarray([1, 0])] + y

    assert step(0, 3.0).tolist() == [8, 2]
    assert step(1, 4.0).tolist() == [9, 2]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("small_size", [0, 4096])
def test_leading_axes_of_values_are_dropped_whatever_the_key(dtype, small_size):
    mask = np.array([False, True, True, False])
    with tfr.config.override(small_size=small_size):
        for key, values, expected in (
            (0, [5], [5, 1, 2, 3]),
            (mask, [[5, 6]], [0, 5, 6, 3]),
            (tfr.asarray(mask).compute(), [[5, 6]], [0, 5, 6, 3]),
        ):
            x = tfr.asarray(np.arange(4), dtype=dtype).compute()
            x[key] = tfr.asarray(np.array(values), dtype=dtype).compute()
            assert x.tolist() == expected


def test_errors_of_few_elements_leave_the_tensor_as_it_is():
    x = tfr.asarray(np.arange(5.0)).compute()
    for key, value, error in (
        (7, 1.0, IndexError),
        (tfr.asarray([0, 9]), 1.0, IndexError),
        (np.s_[1:3], tfr.asarray([1.0, 2.0, 3.0]), ShapeError),
        (0, 1j, DTypeError),
    ):
        with pytest.raises(error):
            x[key] = value
    with pytest.raises(IndexError):
        x[tfr.asarray([0, 9])]
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_look_ups_and_assignments_take_few_frames():
    x, index = tfr.asarray(np.arange(10.0)).compute(), tfr.asarray([3, 1, 2]).compute()

    def assign(key):
        x[key] = 1.0

    assert frames(partial(operator.getitem, x, index)) <= 7
    for key in (3, np.s_[2:8], index, tfr.asarray(np.arange(10) > 4)):
        assert frames(partial(assign, key)) <= 16


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_new_axes_of_what_is_computed_are_there_at_once(name, shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    x = tfr.asarray(values).compute()
    wider = getattr(tfr, name)(x)
    expected = getattr(np, name)(values)
    assert wider.is_computed or name == "atleast_1d"
    assert wider.shape == expected.shape
    np.testing.assert_array_equal(wider.numpy(), expected)
    if wider is not x:
        wider[...] = 5
        np.testing.assert_array_equal(x.numpy(), values)


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_new_axes_are_recorded_for_gradients(name):
    x = tfr.asarray(np.arange(3.0)).compute()
    slope = tfr.grad(lambda v: (getattr(tfr, name)(v) ** 2).sum())(x)
    assert slope.tolist() == [0, 2, 4]


def test_many_elements_of_a_slice_that_was_selected_before_are_assigned_in_few_frames():
    x, more = tfr.zeros(20_000).compute(), tfr.ones(5000).compute()
    expected = np.zeros(20_000, np.float32)

    def step() -> None:
        x[10:5010] += more
        expected[10:5010] += 1

    step()
    assert frames(step) <= 16
    np.testing.assert_array_equal(x.numpy(), expected)
    matrix = tfr.zeros((5000, 3), dtype="int64").compute()
    assert matrix[100:] is not None  # which parses the slice
    matrix[100:] = tfr.ones((4900, 3), dtype="int64")
    assert tfr.sum(matrix).item() == 4900 * 3
    with pytest.raises(ShapeError, match="do not broadcast"):
        matrix[100:] = tfr.ones((4899, 3), dtype="int64")
    matrix[100:] = tfr.asarray([1, 2, 3])  # broadcast: the general way
    assert tfr.sum(matrix).item() == 4900 * 6
