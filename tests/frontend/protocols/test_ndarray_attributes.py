"""Attributes and methods of NumPy's arrays that tensors have too: NumPy's values, and assignments change one handle."""

import math

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, IndexingError

VALUES = np.asarray([[3, 1, 2], [9, 7, 8]])
MADE = [
    pytest.param(lambda: tfr.asarray(VALUES), id="leaf"),
    pytest.param(lambda: tfr.asarray(VALUES[::-1, ::-1])[::-1, ::-1], id="view"),
    pytest.param(lambda: tfr.asarray(VALUES) + 0, id="pending"),
]


@pytest.mark.parametrize("make", MADE)
def test_flat_goes_through_elements_in_c_order(make):
    x = make()
    assert [int(value) for value in x.flat] == VALUES.ravel().tolist()
    assert len(x.flat) == 6
    assert x.flat[4].item() == 7
    assert x.flat[1::2].tolist() == [1, 9, 8]
    assert x.flat[[0, 5]].tolist() == [3, 8]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize(
    ("key", "value"), [(4, 50), (slice(None, None, 2), 0), (slice(None), [1, 2]), ([0, 5], [7, 6])]
)
def test_assignments_to_flat_change_this_tensor_alone(make, key, value):
    x, expected = make(), VALUES.copy()
    other = x[:]
    x.flat[key] = value
    expected.flat[key] = value
    np.testing.assert_array_equal(x.numpy(), expected)
    np.testing.assert_array_equal(other.numpy(), VALUES)


@pytest.mark.parametrize("make", MADE)
def test_what_is_said_of_memory_is_that_of_c_order(make):
    x, plain = make(), np.ascontiguousarray(VALUES)
    assert x.strides == plain.strides
    assert x.base is None
    assert bytes(x.data) == plain.tobytes() == x.tobytes()
    assert x.data.readonly
    assert x.tobytes("F") == plain.tobytes("F")
    assert x.flags.c_contiguous
    assert x.flags["C_CONTIGUOUS"]
    assert not x.flags["F_CONTIGUOUS"]
    assert tfr.zeros(3).flags.f_contiguous
    assert not x.flags.writeable


def test_methods_in_place_change_this_tensor_alone():
    x = tfr.asarray(VALUES)
    other = x[:]
    x.put([0, -1], [40, 50])
    assert x.tolist() == [[40, 1, 2], [9, 7, 50]]
    x.partition(1)
    assert x[:, 1].tolist() == [2, 9]
    assert other.tolist() == VALUES.tolist()
    narrow = tfr.asarray([1, 256], dtype="int16")
    assert narrow.byteswap().tolist() == [256, 1]
    assert narrow.byteswap(inplace=True) is narrow
    assert narrow.tolist() == [256, 1]
    with pytest.raises(IndexingError):
        x.put([99], [1])
    with pytest.raises(ArgumentError, match="mode"):
        x.put([0], [1], mode="sometimes")


def test_methods_that_select():
    x = tfr.asarray(VALUES)
    assert x.compress([False, True], axis=0).tolist() == [[9, 7, 8]]
    assert tfr.asarray([1, 0]).choose([[1, 2], [3, 4]]).tolist() == [3, 2]


def test_elements_are_written_to_files(tmp_path):
    x = tfr.asarray(VALUES)
    x.tofile(tmp_path / "bytes")
    assert (tmp_path / "bytes").read_bytes() == VALUES.tobytes()
    x.tofile(tmp_path / "text", sep=",")
    assert (tmp_path / "text").read_text() == "3,1,2,9,7,8"


def test_pythons_own_functions_of_numbers():
    assert round(tfr.asarray(2.5)) == 2
    assert type(round(tfr.asarray(3.7))) is int
    assert round(tfr.asarray([1.26, 2.5]), 1).tolist() == tfr.asarray([1.3, 2.5]).tolist()
    assert math.trunc(tfr.asarray(-2.5)) == -2
    assert math.floor(tfr.asarray(2.5)) == 2
    assert math.ceil(tfr.asarray(2.5)) == 3
    assert bytes(tfr.asarray([97, 98], dtype="uint8").data) == b"ab"


def test_parts_of_complex_numbers_are_assigned_to():
    x = tfr.asarray([1 + 2j, 3 + 4j])
    other = x[:]
    x.real = 9
    x.imag = [7, 8]
    assert x.tolist() == [9 + 7j, 9 + 8j]
    assert other.tolist() == [1 + 2j, 3 + 4j]
    real = tfr.asarray([1.0, 2.0])
    real.real = [3, 4]
    assert real.tolist() == [3.0, 4.0]
    with pytest.raises(DTypeError, match="imaginary"):
        real.imag = 1
