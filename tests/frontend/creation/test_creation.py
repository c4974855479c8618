"""Creation: what becomes a Tensor, with which dtype and memory, and what is filled."""

from __future__ import annotations

import array as array_module
import math

import ml_dtypes
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, OutOfRangeError, ShapeError
from tests.frontend.creation_cases import DTYPES, same


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (2**63, "uint64"),
        (1.5, "float32"),
        (1j, "complex64"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([1, 2.5], "float32"),
        ([1, 2.5, 1j], "complex64"),
        ([2**63], "uint64"),
        ([], "float32"),
        ([[], []], "float32"),
        (range(3), "int64"),
        (np.float64(1.5), "float64"),
        ([np.float64(1.5), 2.5], "float64"),
        ([np.float32(1.5), 2.5], "float32"),
        ([np.int8(1), 2], "int8"),
        ([np.int8(1), 2.5], "float32"),
        ([np.arange(2, dtype="int16"), [3, 4]], "int16"),
        (array_module.array("d", [1.0, 2.0]), "float64"),
        (bytearray(b"ab"), "uint8"),
        (b"ab", "uint8"),
        (np.ones(2, "float32").data, "float32"),
        (ml_dtypes.bfloat16(1.5), "bfloat16"),
        (np.ones(2, ml_dtypes.bfloat16), "bfloat16"),
    ],
)
def test_values_take_the_promised_dtype(value, dtype):
    found = tfr.asarray(value)
    elements = list(value) if isinstance(value, bytes) else value
    assert found.dtype == dtype
    np.testing.assert_array_equal(
        found.numpy(), np.asarray(elements).astype(tfr.dtypes.as_dtype(dtype))
    )


def test_python_floats_follow_the_default_dtype():
    tfr.set_default_dtype("float64")
    try:
        assert tfr.asarray([1.5]).dtype == tfr.asarray(1.5).dtype == tfr.zeros(1).dtype == "float64"
        assert tfr.asarray(1j).dtype == "complex128"
        assert tfr.arange(2.0).dtype == tfr.linspace(0, 1, 2).dtype == "float64"
    finally:
        tfr.set_default_dtype("float32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_can_be_asked_for(dtype):
    for value in (1, [0, 1], np.ones((2, 2), ">i2"), tfr.asarray([1, 0]), np.uint8(1)):
        found = tfr.asarray(value, dtype=dtype)
        assert found.dtype == found.numpy().dtype == dtype
        assert found.shape == np.shape(value)
        assert found.numpy().astype(bool).any()


def test_other_byte_orders_are_converted():
    values = np.asarray([1.5, -2.0], ">f8")
    same(tfr.asarray(values), values.astype("float64"))
    with pytest.raises(ArgumentError, match="copy=False"):
        tfr.asarray(values, copy=False)


def test_sequences_of_tensors_are_stacked_without_computing_them():
    x = tfr.asarray([1, 2]) + 1
    found = tfr.asarray([[x, x * 2], [x, [7, 8]]])
    assert not x.is_computed
    assert not found.is_computed
    same(found, [[[2, 3], [4, 6]], [[2, 3], [7, 8]]])
    same(tfr.asarray([x[0], 2.5]), np.asarray([2, 2.5], "float32"))
    assert tfr.asarray([], dtype="int8").shape == (0,)


@pytest.mark.parametrize(
    "bad", ["text", ["text"], None, [None], {1, 2}, {"a": 1}, object(), [object()]]
)
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(DTypeError, match="numbers") as caught:
        tfr.asarray(bad)
    assert caught.value.suggestions
    assert "test_creation.py" in str(caught.value)
    assert "tfr.asarray(bad)" in str(caught.value.location)


@pytest.mark.parametrize("bad", [[[1], [1, 2]], [1, [2]], [np.ones(2), np.ones(3)]])
def test_ragged_sequences_are_refused(bad):
    with pytest.raises(ShapeError, match="ragged"):
        tfr.asarray(bad)
    with pytest.raises(ShapeError, match="ragged"):
        tfr.asarray([tfr.asarray(one) for one in bad])


@pytest.mark.parametrize(
    "values", [np.asarray(["a"]), np.asarray([object()]), np.zeros(1, "M8[s]")]
)
def test_arrays_of_other_dtypes_are_refused(values):
    with pytest.raises(DTypeError, match="dtype"):
        tfr.asarray(values)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(OutOfRangeError, match="300"):
        tfr.asarray(300, dtype="uint8")
    with pytest.raises(OverflowError):
        tfr.asarray([300], dtype="uint8")
    with pytest.raises(DTypeError, match="nan"):
        tfr.asarray(math.nan, dtype="int32")
    with pytest.raises(DTypeError, match="real") as caught:
        tfr.asarray(np.ones(2, "complex64"), dtype="float32")
    assert any("tfr.real" in hint for hint in caught.value.suggestions)


def test_masked_elements_are_refused():
    with pytest.raises(DTypeError, match="masked"):
        tfr.asarray(np.ma.masked_array([1, 2], mask=[True, False]))
    same(tfr.asarray(np.ma.masked_array([1, 2], mask=False)), [1, 2])


@pytest.mark.parametrize("copy", [None, True])
def test_changing_an_array_later_changes_no_tensor(copy):
    values = np.asarray([1.0, 2.0])
    x = tfr.asarray(values, copy=copy)
    y = x + 1
    values[:] = 7
    same(x, [1.0, 2.0])
    same(y, [2.0, 3.0])


def test_no_copy_shares_the_array():
    values = np.asarray([1.0, 2.0])
    x = tfr.asarray(values, copy=False)
    values[0] = 7
    same(x, [7.0, 2.0])
    own = tfr.asarray(x, copy=True)
    values[0] = 8
    same(own, [7.0, 2.0])


def test_read_only_arrays_are_shared_unless_a_copy_is_asked_for():
    values = np.asarray([1.0, 2.0])
    values.flags.writeable = False
    assert np.shares_memory(tfr.asarray(values).numpy(), values)
    assert not np.shares_memory(tfr.asarray(values, copy=True).numpy(), values)
    assert not np.shares_memory(tfr.array(values).numpy(), values)


@pytest.mark.parametrize("value", [1.5, np.float32(1), [1, 2], np.ones(2, "complex64"), b"ab"])
def test_no_copy_is_refused_where_one_is_needed(value):
    with pytest.raises(ArgumentError, match="copy=False"):
        tfr.asarray(value, dtype="complex128", copy=False)
    assert issubclass(ArgumentError, ValueError)


def test_a_tensor_is_returned_itself_and_copies_are_handles_of_their_own():
    x = tfr.asarray([1, 2])
    assert tfr.asarray(x) is x
    assert tfr.asarray(x, copy=False) is x
    y = tfr.asarray(x, copy=True)
    x[0] = 9
    same(y, [1, 2])
    with pytest.raises(ArgumentError, match="copy=False"):
        tfr.asarray(x, dtype="float32", copy=False)


def test_devices_are_honoured():
    for value in (1.5, [1], np.ones(2), tfr.asarray([1])):
        assert str(tfr.asarray(value, device="numpy").device) == "numpy"
    assert str(tfr.arange(3, device="numpy").device) == "numpy"
    assert str(tfr.zeros_like(tfr.zeros(2, device="numpy")).device) == "numpy"
    with pytest.raises(DeviceError):
        tfr.zeros(2, device="nowhere")


class Exporter:
    """Hands out its array by DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class ArrayLike:
    """Hands out its array by `__array__` only."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_objects_that_know_dlpack_or_array_are_taken():
    for kind in (Exporter, ArrayLike):
        values = np.asarray([[1.0, 2.0]])
        x = tfr.asarray(kind(values))
        values[:] = 0
        same(x, [[1.0, 2.0]])


def test_from_dlpack_copies_what_can_be_written_and_shares_on_request():
    values = np.asarray([1, 2], "int16")
    own, shared = tfr.from_dlpack(values), tfr.from_dlpack(Exporter(values), copy=False)
    values[0] = 7
    same(own, np.asarray([1, 2], "int16"))
    same(shared, values)
    x = tfr.asarray([1])
    y = tfr.from_dlpack(x)
    y[0] = 2
    same(x, [1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("copy", [None, True, False])
def test_from_dlpack_takes_every_dtype(dtype, copy):
    class Versioned(Exporter):
        def __dlpack__(self, **options):
            return self.values.__dlpack__(**{"max_version": (1, 0), **options})

    exported = tfr.asarray(np.asarray([[1, 0], [0, 1], [1, 1]])).astype(dtype)
    x = tfr.from_dlpack(Versioned(exported), copy=copy)
    same(x, exported.numpy())
    assert np.shares_memory(x.numpy(), exported.numpy()) is (copy is False)


def test_from_dlpack_says_what_it_needs():
    with pytest.raises(DTypeError, match="__dlpack__"):
        tfr.from_dlpack([1, 2])

    class Elsewhere(Exporter):
        def __dlpack_device__(self):
            return (8, 0)

    with pytest.raises(DeviceError, match="type 8"):
        tfr.from_dlpack(Elsewhere(np.ones(2)))


@pytest.mark.parametrize("dtype", [None, *DTYPES])
@pytest.mark.parametrize("shape", [(), 3, (2, 0), (2, 3)])
def test_fills_match_numpy(shape, dtype):
    for name, value in (("zeros", 0), ("ones", 1), ("empty", 0)):
        expected = np.full(shape, value, tfr.dtypes.as_dtype(dtype or "float32"))
        same(getattr(tfr, name)(shape, dtype=dtype), expected)
        like = getattr(tfr, f"{name}_like")(tfr.zeros(shape, dtype="int8"), dtype=dtype)
        same(like, expected.astype(tfr.dtypes.as_dtype(dtype or "int8")))


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j, np.float64(0.1), math.nan, -math.inf])
def test_full_takes_the_dtype_of_its_value(value):
    same(tfr.full((2, 2), value), np.full((2, 2), value), tfr.asarray(value).dtype)
    same(tfr.full_like(tfr.zeros(2, dtype="complex128"), value), np.full(2, value, "complex128"))


def test_full_broadcasts_tensors():
    same(tfr.full((2, 2), tfr.asarray([1, 2])), [[1, 2], [1, 2]])
    with pytest.raises(ShapeError, match="full"):
        tfr.full((2,), tfr.asarray([[1, 2], [3, 4]]))
    with pytest.raises(ShapeError, match="negative"):
        tfr.zeros((2, -1))
    with pytest.raises(DTypeError, match="integers"):
        tfr.zeros(("2",))


def test_sources_take_no_memory():
    for x, kind in (
        (tfr.zeros((10**6, 10**6)), "full"),
        (tfr.full_like(tfr.ones((10**6, 10**6)), 2), "full"),
        (tfr.arange(10**12), "arange"),
    ):
        assert x.node.op.name == kind
        assert not x.is_computed


def test_nothing_is_computed_by_recording():
    recorded = [
        tfr.linspace(0, 1, 10**12),
        tfr.eye(10**6),
        tfr.tril(tfr.zeros((10**6, 10**6))),
        tfr.meshgrid(tfr.arange(10**6), tfr.arange(10**6))[0],
        tfr.logspace(0, 1, 10**12),
        tfr.indices((10**6, 10**6)),
    ]
    assert not any(x.is_computed for x in recorded)


@pytest.mark.parametrize("values", [[1.0, None], [1.0, "2"], [np.float64(1), None], [[1], [b"2"]]])
def test_what_is_no_number_beside_numbers_is_refused(values):
    with pytest.raises(DTypeError, match="numbers"):
        tfr.asarray(values)
