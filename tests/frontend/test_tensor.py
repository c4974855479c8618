"""Tensors as Python objects: numbers, sequences, operators, methods, copies and pickles."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DeviceError, DTypeError, OutOfRangeError, ScalarError, ShapeError

MATRIX = np.arange(12, dtype=np.float64).reshape(3, 4)


@pytest.fixture
def matrix():
    return tfr.asarray(MATRIX)


@pytest.mark.parametrize("convert", [bool, int, float, complex])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_tensor_of_one_element_is_a_python_number(convert, shape):
    result = convert(tfr.reshape(tfr.asarray(2), shape))
    assert type(result) is convert
    assert result == convert(2)


@pytest.mark.parametrize("convert", [bool, int, float, complex, tfr.Tensor.item])
@pytest.mark.parametrize("shape", [(0,), (2,), (2, 2)])
def test_several_elements_or_none_are_no_number(convert, shape):
    with pytest.raises(ScalarError, match="elements, not one") as caught:
        convert(tfr.zeros(shape))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)
    assert caught.value.suggestions


@pytest.mark.parametrize("convert", [int, float])
def test_a_complex_tensor_has_no_real_value(convert):
    with pytest.raises(TypeError, match="complex"):
        convert(tfr.asarray(1j))


@pytest.mark.parametrize(("value", "expected"), [(np.nan, ValueError), (np.inf, OverflowError)])
def test_int_of_what_is_no_number_raises_as_python_does(value, expected):
    with pytest.raises(expected):
        int(tfr.asarray(value))


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_integer_tensors_are_indices(dtype):
    assert "abc"[tfr.asarray(1, dtype=dtype)] == "b"
    assert operator.index(tfr.asarray(200, dtype="uint8")) == 200


@pytest.mark.parametrize("value", [1.0, True, 1j])
def test_other_tensors_are_no_indices(value):
    with pytest.raises(DTypeError, match="not an index"):
        operator.index(tfr.asarray(value))


def test_len_iteration_and_membership_follow_the_first_axis(matrix):
    assert len(matrix) == 3
    rows = list(matrix)
    assert all(isinstance(row, tfr.Tensor) and row.shape == (4,) for row in rows)
    assert [row.tolist() for row in rows] == MATRIX.tolist()
    assert 7.0 in matrix
    assert -7.0 not in matrix


def test_zero_axes_have_neither_length_nor_rows():
    scalar = tfr.asarray(1.0)
    for use in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            use(scalar)


def test_item_takes_a_flat_index_or_one_per_axis(matrix):
    assert matrix.item(5) == 5.0
    assert matrix.item(1, 2) == 6.0
    assert tfr.asarray(3).item() == 3
    assert type(tfr.asarray([2.5], dtype="bfloat16").item()) is float


def test_tolist_gives_python_numbers():
    assert tfr.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert tfr.asarray(2.5).tolist() == 2.5
    assert type(tfr.asarray([True]).tolist()[0]) is bool


def test_tensors_are_hashed_by_identity(matrix):
    other = tfr.asarray(MATRIX)
    table = {matrix: "one", other: "other"}
    assert table[matrix] == "one"
    assert table[other] == "other"


def test_the_other_operand_is_asked_when_it_is_no_number(matrix):
    class Answers:
        def __radd__(self, other):
            return "asked"

    assert matrix + Answers() == "asked"
    with pytest.raises(TypeError, match="unsupported operand"):
        matrix + "text"


@pytest.mark.parametrize("left", [np.float32(2), np.full((3, 4), 2.0), 2, 2.0])
@pytest.mark.parametrize("symbol", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_operators_give_tensors_whichever_side_the_tensor_is_on(matrix, left, symbol):
    shifted = matrix + 1
    for result, expected in (
        (symbol(left, shifted), symbol(left, MATRIX + 1)),
        (symbol(shifted, left), symbol(MATRIX + 1, left)),
    ):
        assert isinstance(result, tfr.Tensor)
        np.testing.assert_allclose(result.numpy(), expected)


def test_divmod_is_quotient_and_remainder():
    quotient, remainder = divmod(tfr.asarray([7, -7]), 2)
    assert (quotient.tolist(), remainder.tolist()) == ([3, -4], [1, 1])
    quotient, remainder = divmod(7, tfr.asarray([2, 3]))
    assert (quotient.tolist(), remainder.tolist()) == ([3, 2], [1, 1])


def test_in_place_operators_change_the_handle_and_no_other_tensor(matrix):
    alias, copied, derived = matrix, matrix.copy(), matrix + 0
    matrix += 1
    assert alias is matrix
    assert alias.tolist() == (MATRIX + 1).tolist()
    assert copied.tolist() == derived.tolist() == MATRIX.tolist()


def test_in_place_operators_keep_shape_and_dtype():
    counts = tfr.asarray([1, 2])
    with pytest.raises(DTypeError, match="cannot hold float32"):
        counts += 1.5
    with pytest.raises(ShapeError, match="cannot hold shape"):
        counts += tfr.ones((2, 2), dtype="int64")
    single = tfr.ones(2, dtype="float32")
    single *= tfr.ones(2, dtype="float64")
    assert single.dtype == tfr.float32


def test_in_place_operators_keep_the_device(matrix):
    small = tfr.zeros((3, 4), dtype="float64", device="numpy")
    small += matrix
    assert small.device == "numpy"
    assert small.tolist() == MATRIX.tolist()


def test_the_class_is_not_called():
    with pytest.raises(DTypeError, match="by calling the class") as caught:
        tfr.Tensor([1, 2])
    assert "asarray" in str(caught.value)


def test_numbers_that_do_not_fit_the_dtype_are_refused():
    with pytest.raises(OutOfRangeError):
        tfr.asarray([1], dtype="uint8") + 256


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("all", ()),
        ("any", (0,)),
        ("argmax", ()),
        ("argmin", (1,)),
        ("argsort", ()),
        ("clip", (2, 5)),
        ("conj", ()),
        ("conjugate", ()),
        ("cumsum", (0,)),
        ("cumprod", (1,)),
        ("diagonal", (1,)),
        ("diagonal", (0, 1, 0)),
        ("dot", (MATRIX.T,)),
        ("flatten", ()),
        ("flatten", ("F",)),
        ("max", (0,)),
        ("mean", (1,)),
        ("min", ()),
        ("nonzero", ()),
        ("prod", (0,)),
        ("ravel", ()),
        ("repeat", (2, 1)),
        ("reshape", (4, 3)),
        ("reshape", ((2, -1),)),
        ("reshape", (-1,)),
        ("round", (2,)),
        ("round", (-1,)),
        ("squeeze", ()),
        ("std", (0,)),
        ("sum", ()),
        ("swapaxes", (0, 1)),
        ("take", ([2, 0], 0)),
        ("trace", ()),
        ("trace", (1,)),
        ("transpose", ()),
        ("transpose", (1, 0)),
        ("transpose", ((1, 0),)),
        ("var", (1,)),
        ("tobytes", ()),
    ],
)
def test_methods_do_what_ndarrays_do(name, arguments):
    array = MATRIX * 1.234
    expected = getattr(array, name)(*arguments)
    result = getattr(tfr.asarray(array), name)(*arguments)
    for part, wanted in zip(_parts(result), _parts(expected), strict=True):
        if isinstance(wanted, np.ndarray | np.generic):
            assert isinstance(part, tfr.Tensor)
            assert part.shape == wanted.shape
            np.testing.assert_allclose(part.numpy(), wanted)
        else:
            assert part == wanted


def _parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(
    "name", ["T", "mT", "real", "imag", "itemsize", "nbytes", "size", "ndim", "shape"]
)
def test_attributes_are_those_of_ndarrays(matrix, name):
    result = getattr(matrix, name)
    expected = getattr(MATRIX, name)
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_complex_parts_and_the_conjugate_transpose():
    values = np.asarray([[1 + 2j, 3 - 1j], [0, 1j]])
    tensor = tfr.asarray(values)
    np.testing.assert_array_equal(tensor.real.numpy(), values.real)
    np.testing.assert_array_equal(tensor.imag.numpy(), values.imag)
    np.testing.assert_array_equal(tensor.H.numpy(), values.conj().T)


def test_sort_and_fill_work_in_place():
    tensor = tfr.asarray([3, 1, 2])
    kept = tensor.copy()
    assert tensor.sort() is None
    assert tensor.tolist() == [1, 2, 3]
    tensor.fill(9)
    assert tensor.tolist() == [9, 9, 9]
    assert kept.tolist() == [3, 1, 2]


def test_astype_and_view_differ_in_values_and_bits():
    one = tfr.asarray([1.0], dtype="float32")
    assert one.astype("int32").tolist() == [1]
    assert one.view("int32").tolist() == [0x3F800000]
    with pytest.raises(DTypeError, match="no whole number of int64"):
        one.view("int64")


@pytest.mark.parametrize("shape", [(2, 4), (4, 2, 8), (0, 4), (3, 0)])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64", "float64"])
def test_views_of_another_width_divide_the_last_axis(shape, dtype):
    values = np.arange(np.prod(shape), dtype="int32").reshape(shape)
    views = tfr.asarray(values).view(dtype), tfr.asarray(values.T.copy()).T.view(dtype)
    for view in views:
        assert view.dtype == dtype
        np.testing.assert_array_equal(view.view("int32").numpy(), values)
        np.testing.assert_array_equal(view.numpy(), values.view(dtype))


def test_a_number_has_no_view_of_another_width():
    assert tfr.asarray(1.0, dtype="float32").view("int32").item() == 0x3F800000
    with pytest.raises(DTypeError, match="view"):
        tfr.asarray(1.0, dtype="float32").view("uint8")


@pytest.mark.parametrize(
    ("array", "suggestion"),
    [
        (np.array([1, 2], object), "array.astype('float64')"),
        (np.array(["2020-02-03"], "M8[D]"), "array.astype('int64'), which counts"),
        (np.array([3], "m8[s]"), "array.astype('int64'), which counts"),
        (np.zeros(2, [("height", "f4")]), "array['height']"),
        (np.zeros(2, np.clongdouble), "array.astype('complex128')"),
    ],
)
def test_an_array_of_another_kind_names_its_conversion(array, suggestion):
    with pytest.raises(DTypeError, match="has no dtype") as raised:
        tfr.asarray(array)
    assert raised.value.suggestions[0].startswith(suggestion)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: x.copy()])
def test_copies_do_not_see_later_assignments(matrix, copied):
    other = copied(matrix)
    matrix[0, 0] = 99.0
    assert other[0, 0].item() == 0.0
    assert matrix[0, 0].item() == 99.0


@pytest.mark.parametrize("dtype", ["bool", "int16", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_hold_values_dtype_and_device(dtype, protocol):
    tensor = tfr.asarray([[0, 1], [1, 0]], dtype=dtype, device="numpy") + tfr.asarray(
        0, dtype=dtype
    )
    restored = pickle.loads(pickle.dumps(tensor, protocol))
    assert restored.device == "numpy"
    assert restored.dtype == tensor.dtype
    assert restored.tolist() == tensor.tolist()


def test_a_pickle_from_a_device_that_is_not_here_goes_to_the_cpu():
    rebuild, (array, _device) = tfr.ones(2).__reduce__()
    restored = rebuild(array, "elsewhere:3")
    assert restored.device == "cpu"
    assert restored.tolist() == [1.0, 1.0]


def test_to_device_moves_nothing_that_is_there(matrix):
    assert matrix.to_device("cpu").node is matrix.node
    moved = matrix.to_device("numpy")
    assert moved.device == tfr.Device("numpy")
    assert moved.backend == "numpy"
    assert moved.to_backend("cpu").tolist() == MATRIX.tolist()


def test_unknown_devices_and_streams_are_refused(matrix):
    with pytest.raises(DeviceError, match="no device 'abacus'"):
        matrix.to_device("abacus")
    with pytest.raises(DeviceError, match="no stream"):
        matrix.to_device("cpu", stream=1)


def test_compute_keeps_results_and_returns_the_tensors(matrix):
    low, high = matrix.min(), matrix.max() + 1
    assert not high.is_computed
    assert tfr.compute(low, high) == (low, high)
    assert low.is_computed
    assert high.is_computed
    with pytest.raises(DTypeError, match="takes tensors"):
        tfr.compute([low])
