"""Values added where indices select, and segments, on every device: as `ufunc.at` of NumPy, bit for bit where it is."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DTypeError, IndexingError, ShapeError, TracingError
from tests.backends.devices import FOUND, holds, some

DEVICES = ["numpy", "cpu", *FOUND]
DTYPES = [
    *["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
    *["float16", "float32", "float64", "complex64", "complex128"],
]

pytestmark = [
    pytest.mark.parametrize("device", DEVICES),
    pytest.mark.filterwarnings("error"),
]


def indices(*values, dtype="int32"):
    return np.array(values, dtype)


def added(x, key, values):
    """What `np.add.at` gives in float64, rounded once."""
    wide = x.astype(np.result_type(x.dtype, "float64")) if x.dtype.kind in "fc" else np.array(x)
    np.add.at(wide, key, np.asarray(values, wide.dtype))
    return wide.astype(x.dtype)


def check(device, x, key, values):
    """Add on a device at indices that nothing is known of before it runs."""
    tensor = tfr.asarray(x, device=device)
    moved = tuple(
        tfr.asarray(part, device=device) + 0 if isinstance(part, np.ndarray) else part
        for part in key
    )
    result = tfr.index_add(tensor, moved, tfr.asarray(values, device=device))
    assert str(result.device) == device
    exact = holds(device, "float64") or x.dtype.kind not in "fc"
    near = 0.0 if exact else 1e-3 if x.dtype == "float16" else 1e-6
    np.testing.assert_allclose(result.numpy(), added(x, key, values), rtol=near, atol=near)
    np.testing.assert_array_equal(tensor.numpy(), x)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    check(device, some((4, 3), dtype), (indices(1, 3, 1, -4, 1, 3),), some((6, 3), dtype, seed=1))
    check(device, some((4,), dtype), (np.array(2, "int32"),), some((), dtype, seed=1))


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "key",
    [
        (slice(None), indices(1, -1, 1)),
        (indices(1, -1, 1), slice(None), indices(0, 2, 0)),
        (slice(None), indices(1, -1)[:, None], indices(0, 2, 0)),
        (slice(1, None), indices(0, 0), slice(None, None, -1)),
        (2, indices(1, 1)),
        (None, indices(1, 1, 0), ...),
        (np.array(-1, "int32"), np.array(1, "int32"), np.array(0, "int32")),
        (1,),
        (slice(None), slice(1, 3)),
        (indices(),),
    ],
    ids=str,
)
def test_any_key(device, key):
    x = some((3, 4, 5), "float32")
    check(device, x, key, some(x[key].shape, "float32", seed=1))
    check(device, x, key, np.float32(7))
    whole = some((3, 4, 5), "int32")  # as wide as sums of them are
    check(device, whole, key, some(x[key].shape, "int32", seed=1))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum], ids=str)
def test_ufuncs_at_record(device, ufunc):
    x, values = some((4,), "float32"), some((3,), "float32", seed=1)
    tensor = tfr.asarray(x, device=device)
    ufunc.at(tensor, [1, 3, 1], values)
    assert tensor.node.storage is None
    ufunc.at(x, [1, 3, 1], values)
    np.testing.assert_allclose(tensor.numpy(), x, rtol=1e-6)


def test_masks_and_rows_of_every_width(device):
    x = some((4, 3), "float32")
    mask = x > 0
    found = tfr.index_add(tfr.asarray(x, device=device), tfr.asarray(mask, device=device), 1.0)
    np.testing.assert_array_equal(found.numpy(), added(x, mask, 1.0))
    for width in (1, 2, 600):  # NumPy takes long rows one by one
        rows = indices(*[index * 7 % 5 for index in range(40)])
        check(device, some((5, width), "float32"), (rows,), some((40, width), "float32", seed=2))


def test_long_segments_and_many(device):
    numbers = np.random.default_rng(0).integers(-7, 7, 5000).astype("int32")
    check(device, some((7,), "float32"), (numbers,), some((5000,), "float32", seed=1))
    check(device, some((7000,), "float32"), (numbers * 1000,), some((5000,), "float32", seed=1))


def test_the_same_bits_in_every_run(device):
    numbers = tfr.asarray(np.arange(3000, dtype="int32") % 3, device=device) + 0
    values = tfr.asarray(some((3000,), "float32"), device=device)
    first, *others = [tfr.segment_sum(values, numbers, 3).numpy().tobytes() for _ in range(3)]
    assert others == [first, first]


def test_a_zero_that_nothing_is_added_to_keeps_its_sign(device):
    x = tfr.asarray(np.array([-0.0, -0.0], "float32"), device=device)
    found = tfr.index_add(x, tfr.asarray(indices(1), device=device), 1.0).numpy()
    assert np.signbit(found).tolist() == [True, False]


def test_sums_of_half_precision_do_not_stop_growing(device):
    if not holds(device, "float16"):
        pytest.skip(f"{device} holds no float16")
    ones = tfr.ones(4000, dtype="float16", device=device)
    numbers = tfr.zeros(4000, dtype="int32", device=device)
    assert tfr.segment_sum(ones, numbers, 1).tolist() == [4000.0]


def test_segments_of_rows_and_of_blocks(device):
    x = some((2, 3, 4), "float32")
    tensor = tfr.asarray(x, device=device)
    found = tfr.segment_sum(tensor, tfr.asarray(indices(1, 1), device=device), 3).numpy()
    np.testing.assert_array_equal(found, added(np.zeros((3, 3, 4), "float32"), indices(1, 1), x))
    blocks = np.array([[0, 1, 1], [2, 0, -1]], "int32")
    found = tfr.segment_max(tensor, tfr.asarray(blocks, device=device), 3).numpy()
    np.testing.assert_array_equal(found[0], np.maximum(x[0, 0], x[1, 1]))
    np.testing.assert_array_equal(found[2], np.maximum(x[1, 0], x[1, 2]))


def test_segments_without_parts(device):
    x = tfr.asarray(np.array([2, 3], "int32"), device=device)
    numbers = tfr.asarray(indices(0, 0), device=device)
    low, high = np.iinfo("int32").min, np.iinfo("int32").max
    assert tfr.segment_sum(x, numbers, 2).tolist() == [5, 0]
    assert tfr.segment_prod(x, numbers, 2).tolist() == [6, 1]
    assert tfr.segment_max(x, numbers, 2).tolist() == [3, low]
    assert tfr.segment_min(x, numbers, 2).tolist() == [2, high]
    assert tfr.segment_mean(x, numbers, 2).tolist() == [2.5, 0.0]
    assert tfr.segment_max(x / 2, numbers, 2).tolist() == [1.5, -np.inf]
    assert tfr.segment_min(x > 2, numbers, 2).tolist() == [False, True]
    assert tfr.segment_sum(x[:0], numbers[:0], 2).tolist() == [0, 0]
    assert tfr.segment_sum(x[:0], numbers[:0]).shape == (0,)


def test_nan_in_a_segment(device):
    x = tfr.asarray(np.array([np.nan, 1.0, 2.0], "float32"), device=device)
    numbers = tfr.asarray(indices(0, 0, 1), device=device)
    for function in (tfr.segment_sum, tfr.segment_prod, tfr.segment_max, tfr.segment_min):
        assert np.isnan(function(x, numbers, 2).numpy()).tolist() == [True, False]


def test_the_number_of_segments_is_found_or_given(device):
    x = tfr.asarray(np.array([1.0, 2.0, 4.0], "float32"), device=device)
    numbers = tfr.asarray(indices(0, 3, 0), device=device)
    assert tfr.segment_sum(x, numbers).tolist() == [5.0, 0.0, 0.0, 2.0]
    step = tfr.jit(lambda x, numbers: tfr.segment_sum(x, numbers, 5))
    assert step(x, numbers).tolist() == [5.0, 0.0, 0.0, 2.0, 0.0]
    with pytest.raises(TracingError):
        tfr.jit(tfr.segment_sum)(x, numbers)


def test_bincount_counts_where_its_operand_is(device):
    x = tfr.asarray(indices(0, 2, 2), device=device) + 1
    assert tfr.bincount(x).tolist() == [0, 1, 0, 2]
    weights = tfr.asarray(np.array([0.5, 1.0, 2.0], "float32"), device=device)
    found = tfr.bincount(x, weights=weights, minlength=6)
    assert (found.tolist(), str(found.device)) == ([0.0, 0.5, 0.0, 3.0, 0.0, 0.0], device)


@pytest.mark.parametrize("key", [(indices(0, 3),), (slice(None), indices(1, -6))], ids=str)
def test_indices_out_of_bounds(device, key):
    axis = len(key) - 1
    moved = [
        part if isinstance(part, slice) else tfr.asarray(part, device=device) + 0 for part in key
    ]
    tensor = tfr.index_add(tfr.zeros((3, 5), device=device), tuple(moved), 1.0)
    wrong = (3, -6)[axis]
    with pytest.raises(IndexingError, match=f"index {wrong} is out of bounds for axis {axis}"):
        tensor.numpy()


def test_arguments_that_do_not_fit(device):
    x, numbers = tfr.ones((3, 2), device=device), tfr.asarray([0, 1, 1], device=device)
    with pytest.raises(IndexingError, match="index 1 is out of bounds for axis 0 with size 1"):
        tfr.segment_sum(x, [0, 1, 1], 1)
    with pytest.raises(IndexingError, match="segment number -1 counts from an end"):
        tfr.segment_sum(x, numbers - 1)
    with pytest.raises(ShapeError, match=r"segment_max: segment_ids of shape \(2,\)"):
        tfr.segment_max(x, [0, 1])
    with pytest.raises(ShapeError, match=r"segment_sum: segment_ids of shape \(\)"):
        tfr.segment_sum(x, 0)
    with pytest.raises(DTypeError, match="segment_ids are integers, got float32"):
        tfr.segment_sum(x, [0.0, 1.0, 1.0])
    with pytest.raises(DTypeError, match="index_add: takes numbers, got bool"):
        tfr.index_add(x > 0, [0], True)
    with pytest.raises(DTypeError, match="values of dtype complex64 are not assigned") as raised:
        tfr.index_add(x, [0], 1j)
    assert raised.value.suggestions[0] == "values.real.astype(tfr.float32)"
    with pytest.raises(ShapeError, match="do not broadcast"):
        tfr.index_add(x, [0], [1.0, 2.0, 3.0])
    if holds(device, "complex64"):
        with pytest.raises(DTypeError, match="segment_max: takes real or bool"):
            tfr.segment_max(x * 1j, numbers)


def test_one_step_of_a_plan_that_may_overwrite_its_operand(device):
    x = some((50, 40), "float32")
    places = tfr.asarray(indices(3, 3, 9), device=device) + 0
    with tfr.config.override(small_size=0, small_nodes=0):
        tensor = tfr.asarray(x, device=device) * 2
        found = (tfr.index_add(tensor, places, tfr.asarray(x[:3], device=device)) + 1).numpy()
    np.testing.assert_array_equal(found, added(x * 2, ([3, 3, 9],), x[:3]) + 1)
