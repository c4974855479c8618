"""Protocols that other libraries use: arrays, ufuncs, array functions, DLPack, the namespace."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.protocols.numpy_functions import ANSWERS, recorder

MATRIX = np.asarray([[4.0, 1.0], [3.0, 2.0]])


@pytest.fixture
def matrix():
    return tfr.asarray(MATRIX)


def evaluated(expression, x):
    """The value of an expression in `x`, written as a user would write it."""
    return eval(expression, {"np": np, "x": x})


def assert_is(result, expected):
    """The result is a Tensor (or a tuple of them) with NumPy's values."""
    if isinstance(expected, tuple | list):
        assert len(result) == len(expected)
        for one, wanted in zip(result, expected, strict=True):
            assert_is(one, wanted)
        return
    assert isinstance(result, tfr.Tensor)
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_arrays_are_read_only_views_unless_a_copy_is_asked_for(matrix):
    shared = np.asarray(matrix)
    assert not shared.flags.writeable
    assert np.shares_memory(shared, np.asarray(matrix))
    own = np.array(matrix, copy=True)
    own[0, 0] = 99.0
    assert matrix[0, 0].item() == 4.0
    assert np.asarray(matrix, dtype="float32").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(matrix, dtype="float32", copy=False)


def test_numpy_is_a_view_or_a_writable_copy(matrix):
    with pytest.raises(ValueError, match="read-only"):
        matrix.numpy()[0, 0] = 1.0
    assert matrix.numpy(copy=True).flags.writeable


@pytest.mark.parametrize(
    "ufunc", [np.sin, np.exp, np.negative, np.absolute, np.isfinite, np.square, np.logical_not]
)
def test_ufuncs_of_one_operand_record(matrix, ufunc):
    result = ufunc(matrix)
    assert not result.is_computed
    assert_is(result, ufunc(MATRIX))


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.maximum, np.power, np.less, np.hypot, np.matmul, np.arctan2]
)
@pytest.mark.parametrize("swapped", [False, True])
def test_ufuncs_of_an_array_and_a_tensor_record(matrix, ufunc, swapped):
    operands = (MATRIX, matrix + 1) if swapped else (matrix + 1, MATRIX)
    expected = ufunc(MATRIX, MATRIX + 1) if swapped else ufunc(MATRIX + 1, MATRIX)
    result = ufunc(*operands)
    assert not result.is_computed
    assert_is(result, expected)


@pytest.mark.parametrize(
    ("ufunc", "how", "arguments"),
    [
        (np.add, "reduce", ()),
        (np.add, "reduce", (None,)),
        (np.multiply, "reduce", (1,)),
        (np.maximum, "reduce", ()),
        (np.logical_and, "reduce", ()),
        (np.subtract, "reduce", ()),
        (np.add, "accumulate", ()),
        (np.maximum, "accumulate", (1,)),
        (np.add, "outer", ([1.0, 2.0],)),
        (np.add, "reduceat", ([0, 1],)),
    ],
)
def test_methods_of_ufuncs_give_tensors(matrix, ufunc, how, arguments):
    assert_is(getattr(ufunc, how)(matrix, *arguments), getattr(ufunc, how)(MATRIX, *arguments))


def test_reductions_of_ufuncs_record(matrix):
    assert not np.add.reduce(matrix, axis=1, keepdims=True).is_computed
    assert not np.multiply.accumulate(matrix).is_computed


def test_ufuncs_we_do_not_have_run_in_numpy(matrix):
    assert_is(np.modf(matrix + 0.25), np.modf(MATRIX + 0.25))
    assert_is(np.add(matrix, 1, dtype="float32"), MATRIX + 1)


def test_where_leaves_the_other_elements_of_out_as_they_are(matrix):
    target, array = tfr.full((2, 2), 7.0), np.full((2, 2), 7.0)
    np.add(matrix, 1, where=matrix > 2, out=target)
    assert_is(target, np.add(MATRIX, 1, where=MATRIX > 2, out=array))


def test_out_rebinds_a_tensor_and_fills_an_array(matrix):
    target, array = tfr.zeros((2, 2)), np.zeros((2, 2))
    kept = target.copy()
    assert np.add(matrix, 1, out=target) is target
    assert np.add(matrix, 1, out=array) is array
    assert target.dtype == tfr.float32
    assert_is(target, MATRIX + 1)
    np.testing.assert_array_equal(array, MATRIX + 1)
    assert_is(kept, np.zeros((2, 2)))
    array += matrix
    np.testing.assert_array_equal(array, MATRIX * 2 + 1)
    assert np.sum(matrix, out=np.zeros(())).item() == 10.0


def test_out_keeps_shape_and_kind(matrix):
    with pytest.raises(ShapeError, match="cannot hold shape"):
        np.add(matrix, 1, out=tfr.zeros(3))
    with pytest.raises(DTypeError, match="cannot hold float64"):
        np.add(matrix, 1, out=tfr.zeros((2, 2), dtype="int64"))


@pytest.mark.parametrize(
    "expression",
    [
        "np.mean(x)",
        "np.mean(x, axis=0)",
        "np.sum(x, 1, keepdims=True)",
        "np.amax(x)",
        "np.std(x, ddof=1)",
        "np.var(x, axis=0, ddof=1)",
        "np.concatenate([x, x], axis=1)",
        "np.stack([x, x])",
        "np.vstack((x, x))",
        "np.reshape(x, (4,))",
        "np.transpose(x)",
        "np.where(x > 2, x, 0)",
        "np.clip(x, 2, 3)",
        "np.cumsum(x, axis=0)",
        'np.einsum("ij,jk->ik", x, x)',
        "np.dot(x, x)",
        "np.tensordot(x, x)",
        "np.expand_dims(x, 0)",
        "np.moveaxis(x, 0, 1)",
        "np.round(x / 3, 2)",
        "np.trace(x)",
        "np.diagonal(x)",
        "np.zeros_like(x)",
        "np.full_like(x, 7)",
        "np.copy(x)",
        "np.fft.fft(x)",
        "np.linalg.inv(x)",
        "np.append(x, 0.1)",
        "np.insert(x, 1, 0.1, axis=0)",
        "np.delete(x, 0, axis=1)",
        "np.block([[x, x], [x, x]])",
        "np.column_stack([x, x])",
        "np.cov(x)",
        "np.corrcoef(x)",
        "np.convolve(x[0], x[1])",
        "np.diag(x[0], 1)",
        "np.ediff1d(x)",
        "np.interp(x, [0.0, 5.0], [0.0, 1.0])",
        "np.nanmedian(x)",
        "np.nanpercentile(x, 30)",
        "np.partition(x, 1)",
        "np.sinc(x)",
        "np.trapezoid(x)",
    ],
)
def test_array_functions_record(matrix, expression):
    result = evaluated(expression, matrix + 0)
    assert not result.is_computed
    assert_is(result, evaluated(expression, MATRIX))


@pytest.mark.parametrize(
    "expression",
    [
        "np.median(x, axis=0)",
        'np.pad(x, 1, mode="reflect")',
        'np.sort(x, axis=0, kind="stable")',
        "np.unique(x, return_counts=True)",
        "np.apply_along_axis(sorted, 1, x)",
        "np.linalg.eigh(x @ x.T)",
        "np.nonzero(x > 2)",
        "np.histogram(x, bins=3)",
        "np.array_split(x, 2)",
        "np.union1d(x, x + 2)",
    ],
)
def test_array_functions_without_a_record_of_their_own_give_tensors(matrix, expression):
    expected = _parts(evaluated(expression, MATRIX))
    assert_is(_parts(evaluated(expression, matrix)), expected)


def _parts(result):
    return result if isinstance(result, tuple | list) else (result,)


# NumPy's answer in Python, raise, read files or follow rules of their own
OF_THEIR_OWN = {
    *("allclose", "array_equal", "array_equiv", "bincount"),
    *("can_cast", "nanargmax", "nanargmin", "save", "savetxt", "savez", "savez_compressed"),
}


def test_every_function_of_both_is_recorded_or_of_its_own():
    names = {name for name in tfr.__all__ if hasattr(getattr(np, name, None), "_implementation")}
    # what is NumPy's own here is computed by NumPy
    names = {name for name in names if getattr(np, name) is not getattr(tfr, name)}
    functions = {getattr(np, name) for name in names - OF_THEIR_OWN}
    assert not {one.__name__ for one in functions if recorder(one) is None and one not in ANSWERS}


def test_questions_about_shape_and_dtype_compute_nothing(matrix):
    tensor = matrix + 1
    assert np.shape(tensor) == (2, 2)
    assert (np.ndim(tensor), np.size(tensor), np.size(tensor, 0)) == (2, 4, 2)
    assert np.result_type(tensor, np.complex64) == np.complex128
    assert not np.iscomplexobj(tensor)
    assert np.isrealobj(tensor)
    assert not tensor.is_computed


def test_numpy_answers_in_python_where_it_does(matrix):
    assert np.allclose(matrix, MATRIX) is True
    assert np.array_equal(matrix, MATRIX + 1) is False
    assert np.array_repr(matrix) == repr(matrix)
    assert np.array_str(matrix) == str(matrix)


def test_copyto_assigns_to_the_tensor(matrix):
    np.copyto(matrix, 5.0)
    assert matrix.tolist() == [[5.0, 5.0], [5.0, 5.0]]


@pytest.mark.parametrize(
    "statement",
    [
        "np.add.at(x, ([0, 0], [1, 1]), 10)",
        "np.negative.at(x, 0)",
        "np.maximum.at(x, [0], y[0])",
        "np.fill_diagonal(x, 7)",
        "np.put(x, [0, 9], [5, 6], mode='clip')",
        "np.place(x, x > 2, [9, 8])",
        "np.putmask(x, x > 2, -x)",
    ],
)
def test_functions_that_write_to_their_operand_move_its_handle(matrix, statement):
    array, other = MATRIX.copy(), MATRIX[::-1].copy()
    exec(statement, {"np": np, "x": array, "y": other})
    kept, view, pending = matrix.copy(), matrix[0], matrix + 0
    exec(statement, {"np": np, "x": matrix, "y": tfr.asarray(other)})
    assert_is(matrix, array)
    assert_is(kept, MATRIX)
    assert_is(pending, MATRIX)
    assert_is(view, MATRIX[0])


def test_functions_that_write_to_an_array_take_tensors_beside_it(matrix):
    array, wanted = np.zeros((2, 2)), np.zeros((2, 2))
    np.add.at(array, ([0, 1], [1, 0]), matrix[0])
    np.add.at(wanted, ([0, 1], [1, 0]), MATRIX[0])
    np.testing.assert_array_equal(array, wanted)


def test_like_makes_tensors(matrix):
    assert_is(np.zeros((2, 3), like=matrix), np.zeros((2, 3)))
    assert_is(np.asarray([1, 2], like=matrix), np.asarray([1, 2]))


def test_other_libraries_that_speak_the_protocols_are_asked_first(matrix):
    class Other:
        def __array_ufunc__(self, ufunc, how, *inputs, **options):
            return "ufunc"

        def __array_function__(self, function, types, args, options):
            return "function"

    assert np.add(matrix, Other()) == "ufunc"
    assert np.concatenate([matrix, Other()]) == "function"


def test_the_namespace_is_the_package(matrix):
    assert matrix.__array_namespace__() is tfr
    assert matrix.__array_namespace__(api_version="2021.12") is tfr
    with pytest.raises(ValueError, match=r"2019\.12"):
        matrix.__array_namespace__(api_version="2019.12")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
def test_dlpack_reaches_numpy(dtype):
    tensor = tfr.asarray([[0, 1], [1, 0]], dtype=dtype)
    np.testing.assert_array_equal(np.from_dlpack(tensor), tensor.numpy())


class DLTensor(ctypes.Structure):
    """The start of what a DLPack capsule points to: dlpack.h, version 0.8."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


def test_bfloat16_is_exported_as_bfloat16():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = tfr.asarray([1.5, -2.0], dtype="bfloat16").__dlpack__()
    header = DLTensor.from_address(pointer(capsule, b"dltensor"))
    kind_bfloat = 4
    assert (header.type_code, header.bits, header.lanes) == (kind_bfloat, 16, 1)
    assert (ctypes.c_uint16 * 2).from_address(header.data)[:] == [0x3FC0, 0xC000]


def test_dlpack_shares_memory_read_only_with_consumers_that_can_be_told(matrix):
    array = np.from_dlpack(matrix)
    assert np.shares_memory(array, matrix.numpy())
    assert not array.flags.writeable
    assert np.from_dlpack(matrix, copy=True).flags.writeable


class OldProducer:
    """Shows a tensor to a consumer as DLPack before 1.0 did."""

    def __init__(self, tensor, **options):
        self.tensor, self.options = tensor, options

    def __dlpack__(self, **_):
        return self.tensor.__dlpack__(**self.options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_older_consumers_get_a_copy_unless_they_ask_for_the_memory(matrix):
    copied = np.from_dlpack(OldProducer(matrix))
    assert not np.shares_memory(copied, matrix.numpy())
    shared = np.from_dlpack(OldProducer(matrix, copy=False))
    assert np.shares_memory(shared, matrix.numpy())


def test_patterns_without_memory_are_laid_out_for_sharing():
    ones = tfr.ones((2, 3))
    shared = np.from_dlpack(OldProducer(ones, copy=False))
    assert shared.flags.c_contiguous
    assert np.shares_memory(shared, ones.numpy())


def test_memory_that_the_user_made_read_only_is_not_shared_writable():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = tfr.asarray(array)
    with pytest.raises(BufferError, match=r"try: tfr.asarray\(x, copy=True\)"):
        x.__dlpack__(copy=False)
    own = np.from_dlpack(OldProducer(tfr.asarray(x, copy=True), copy=False))
    assert not np.shares_memory(own, array)


def test_dlpack_of_the_host_has_no_streams_and_no_other_device(matrix):
    assert matrix.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="streams"):
        matrix.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="host memory only"):
        matrix.__dlpack__(dl_device=(2, 0))


def test_exported_memory_outlives_the_tensor():
    exported = np.from_dlpack(tfr.asarray(np.arange(1000.0)) + 1)
    assert sys.getrefcount(exported) > 0
    np.testing.assert_array_equal(exported, np.arange(1000.0) + 1)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 0), (0,), (4, 3, 2)])
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_rows_in_host_memory_are_computed_when_they_are_taken(shape, device):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)[::-1]
    tensor = tfr.asarray(values, device=device)
    rows = list(tensor)
    assert all(
        row.is_computed and row.dtype == tensor.dtype and row.device == tensor.device
        for row in rows
    )
    assert [row.tolist() for row in rows] == values.tolist()
    for row in rows:
        row += 1  # a row is a value: what it was taken from stays
    assert tensor.tolist() == values.tolist()
