"""Assignment by index tensors on devices: NumPy's result, without a fallback, whichever thread comes first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tests.backends.devices import holds, on_every_device, some

pytestmark = [on_every_device, pytest.mark.filterwarnings("error")]

DTYPES = [
    *["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"],
    *["float16", "float32", "float64", "complex64", "complex128"],
]


def check(device, x, key, values, tensor=None):
    """Assign on a device, with indices that nothing is known of before it runs."""
    tensor = tfr.asarray(x, device=device) if tensor is None else tensor
    values = np.asarray(values, x.dtype)
    expected = np.array(x)
    expected[key] = values
    moved = [
        tfr.asarray(part, device=device) + 0 if isinstance(part, np.ndarray) else part
        for part in key
    ]
    tensor[tuple(moved)] = tfr.asarray(values, device=device)
    assert str(tensor.device) == device
    np.testing.assert_array_equal(tensor.numpy(), expected)


def indices(*values, dtype="int32"):
    return np.array(values, dtype)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    values = some((6, 3), dtype, seed=1)
    check(device, some((4, 3), dtype), (indices(1, 3, 1, -4, 1, 3),), values)
    check(device, some((4,), dtype), (np.array(2, "int32"),), values[0, 0])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_indices_of_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    key = (indices(4, 0, 4, dtype=dtype), indices(2, 1, 2, dtype=dtype))
    check(device, some((5, 3), "float32"), key, [1, 2, 3])


def test_the_last_of_many_values_stays(device):
    positions = np.random.default_rng(0).integers(-7, 7, 5000).astype("int32")
    check(device, some((7,), "float32"), (positions,), np.arange(5000))


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), indices(1, -1, 1)),
        (indices(1, -1, 1), slice(None), indices(0, 2, 0)),
        (slice(None), indices(1, -1)[:, None], indices(0, 2, 0)),
        (slice(1, None), indices(0, 0), slice(None, None, -1)),
        (np.array(1, "int32"), slice(None), indices(3, 0)),
        (2, indices(1, 1)),
        (None, indices(1, 1, 0), ...),
        (np.array(-1, "int32"),),
        (np.array(-1, "int32"), np.array(1, "int32"), np.array(0, "int32")),
    ],
    ids=str,
)
def test_any_axes(device, key):
    x = some((3, 4, 5), "float32")
    check(device, x, key, np.arange(x[key].size).reshape(x[key].shape))
    check(device, x, key, 7)


def test_views(device):
    x = some((8, 6), "complex64" if holds(device, "complex64") else "float32")
    tensor = tfr.asarray(x, device=device)
    part, part_tensor = x[1::2, ::-1].T, tensor[1::2, ::-1].mT
    values = some((3, 4), "float32")
    check(device, part, (indices(5, 0, 5),), values, tensor=part_tensor)
    np.testing.assert_array_equal(tensor.numpy(), x)


def test_values_and_indices_that_are_views(device):
    x, values = some((5, 4), "float32"), some((4, 6), "float32", seed=1)
    places = indices(*range(6))[::-1] % 5
    tensor = tfr.asarray(x, device=device)
    tensor[tfr.asarray(places, device=device)] = tfr.asarray(values, device=device).mT
    x[places] = values.T
    np.testing.assert_array_equal(tensor.numpy(), x)


def test_elements_of_their_own_lines(device):
    x = some((4, 6), "float32")
    places = np.argsort(x, axis=1)[:, :2].astype("int32")
    tensor = tfr.asarray(x, device=device)
    tfr.put_along_axis(tensor, tfr.asarray(places, device=device) + 0, 9.0, axis=1)
    np.put_along_axis(x, places, 9.0, axis=1)
    np.testing.assert_array_equal(tensor.numpy(), x)


@pytest.mark.parametrize("index", [2**32 + 1, -(2**32) + 1, 2**63 - 1, -(2**63)])
def test_indices_that_positions_do_not_hold(device, index):
    if not holds(device, "int64"):
        pytest.skip(f"{device} holds no int64")
    tensor = tfr.asarray(some((5,), "float32"), device=device)
    computed = tfr.asarray(np.array([0, index]), device=device) + 0
    with pytest.raises(IndexingError, match=f"index {index} is out of bounds"):
        tensor[computed].numpy()
    tensor[computed] = 1.0
    with pytest.raises(IndexingError, match=f"index {index} is out of bounds"):
        tensor.numpy()


@pytest.mark.parametrize("key", [(indices(0, 3),), (slice(None), indices(1, -6))], ids=str)
def test_indices_out_of_bounds(device, key):
    tensor = tfr.asarray(some((3, 5), "float32"), device=device)
    axis = len(key) - 1
    moved = [
        part if isinstance(part, slice) else tfr.asarray(part, device=device) + 0 for part in key
    ]
    tensor[tuple(moved)] = 1.0
    wrong = (3, -6)[axis]
    with pytest.raises(IndexingError, match=f"index {wrong} is out of bounds for axis {axis}"):
        tensor.numpy()


def test_nothing_is_replaced(device):
    x = some((3, 5), "float32")
    check(device, x, (indices(),), np.empty((0, 5)))
    check(device, x[:0], (slice(None), indices(1)), np.empty((0, 1)))


def test_what_is_assigned_to_may_be_computed_and_used(device):
    x = some((50, 4), "float32")
    tensor = tfr.asarray(x, device=device) * 2
    kept = tensor + 0
    tensor[tfr.asarray(indices(3, 3, 9), device=device) + 1] = tfr.asarray(x[:3], device=device)
    expected = x * 2
    expected[[4, 4, 10]] = x[:3]
    np.testing.assert_array_equal((tensor - 1).numpy(), expected - 1)
    np.testing.assert_array_equal(kept.numpy(), x * 2)


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_as_numpy_does(device, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    indexed = data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1))
    full = tuple(data.draw(st.lists(st.integers(1, 6), max_size=2)))
    key = [slice(None)] * len(shape)
    for axis in indexed:
        own = tuple(data.draw(st.sampled_from((1, size))) for size in full)
        own = own[data.draw(st.integers(0, len(own))) :]
        generator = np.random.default_rng(data.draw(st.integers(0, 99)))
        key[axis] = generator.integers(-shape[axis], shape[axis], own, dtype="int32")
        key[axis] = np.asarray(key[axis])
    x = some(shape, "float32")
    wanted = x[tuple(key)].shape
    check(device, x, tuple(key), some(wanted, "float32", seed=1))
