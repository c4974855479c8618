"""Creation: what becomes a Tensor, with which dtype and memory, and ranges and triangles against NumPy."""

from __future__ import annotations

import array as array_module
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    OutOfRangeError,
    ShapeError,
)

DTYPES = sorted(tfr.dtypes.BY_NAME)
INTEGERS = sorted(dtype.name for dtype in tfr.dtypes.INTEGER)
FLOATS = sorted(dtype.name for dtype in tfr.dtypes.FLOAT)


def same(found, expected, dtype=None):
    """Asserts equal shapes, elements and dtypes."""
    expected = np.asarray(expected)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.shape == expected.shape
    assert found.dtype == (dtype or expected.dtype)


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
    with pytest.raises(ShapeError, match="vectors"):
        tfr.meshgrid(tfr.zeros((2, 2)))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 0, 3)])
def test_indices_and_fromfunction_match_numpy(shape):
    same(tfr.indices(shape), np.indices(shape))
    function = lambda *axes: sum(10**index * axis for index, axis in enumerate(axes))  # noqa: E731
    same(tfr.fromfunction(function, shape), np.fromfunction(function, shape).astype("float32"))


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
        tfr.tril(tfr.zeros(3))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40), st.integers(1, 2**38), st.booleans()
)
def test_arange_lengths_of_integers_are_exact(start, stop, step, down):
    step = -step if down else step
    length = max(0, math.ceil(Fraction(stop - start, step)))
    assume(length < 10**6)
    assert tfr.arange(start, stop, step).shape == (length,)


@pytest.mark.parametrize("k", [2**64, -(2**64), 2**63 - 1, -(2**63)])
def test_diagonals_far_outside_of_the_matrix_are_empty(k):
    assert tfr.eye(2, k=k).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    below = [[1.0, 1.0], [1.0, 1.0]] if k > 0 else [[0.0, 0.0], [0.0, 0.0]]
    assert tfr.tril(tfr.ones((2, 2)), k=k).tolist() == tfr.tri(2, k=k).tolist() == below
    assert (tfr.triu(tfr.ones((2, 2)), k=k) == 1 - tfr.asarray(below)).all()


@pytest.mark.parametrize("values", [[1.0, None], [1.0, "2"], [np.float64(1), None], [[1], [b"2"]]])
def test_what_is_no_number_beside_numbers_is_refused(values):
    with pytest.raises(DTypeError, match="numbers"):
        tfr.asarray(values)
