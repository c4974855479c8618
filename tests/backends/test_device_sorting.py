"""Sorting on devices: NumPy's order for every dtype, along any axis, stable, NaN last whichever way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorframe as tfr
from tests.backends.devices import holds, on_every_device

pytestmark = on_every_device

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def some(shape, dtype, seed=0):
    """Elements of which many are equal, and some are extreme."""
    generator, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "b":
        return generator.random(shape) > 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        extremes = np.array([limits.min, limits.max, 0, 1], kind)
        several = generator.integers(limits.min, limits.max, shape, kind, endpoint=True)
        return np.where(generator.random(shape) < 0.3, generator.choice(extremes, shape), several)
    extremes = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
    several = generator.standard_normal(shape)
    return np.where(
        generator.random(shape) < 0.4, generator.choice(extremes, shape), several
    ).astype(kind)


def lacks_places(info, backend):
    """Whether it is a device of a backend that has no 64-bit integers."""
    return info.device.backend == backend and np.dtype("int64") not in info.capabilities.dtypes


def check(device, x, axis, *, descending=False, tensor=None):
    tensor = tfr.asarray(x, device=device) if tensor is None else tensor
    elements = tfr.sort(tensor, axis=axis, descending=descending)
    places = tfr.argsort(tensor, axis=axis, descending=descending)
    assert str(elements.device) == str(places.device) == device
    assert places.dtype == np.int64
    host = tfr.asarray(x, device="numpy")
    expected = tfr.argsort(host, axis=axis, descending=descending).numpy()
    np.testing.assert_array_equal(places.numpy(), expected)
    np.testing.assert_array_equal(elements.numpy(), np.take_along_axis(x, expected, axis))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float16", "float32", "float64"])
def test_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    check(device, some((2, 50), dtype), 1, descending=dtype in ("int8", "uint32", "float32"))


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), 0), ((0, 3), 1), ((3000,), 0), ((5000, 2), 0), ((4, 5, 6), 1)]
)
def test_rows_of_every_length(device, shape, axis):
    check(device, some(shape, "float32"), axis)


@settings(deadline=None, max_examples=8)
@given(
    rows=st.integers(1, 20),
    length=st.integers(1, 300),
    turned=st.booleans(),
    descending=st.booleans(),
)
def test_views(device, rows, length, turned, descending):
    x = some((2 * rows, length + 3), "float32", seed=length)
    tensor = tfr.asarray(x, device=device)[::2, 3:]
    x = x[::2, 3:]
    if turned:
        x, tensor = x.T, tensor.mT
    check(device, x, 0 if turned else 1, descending=descending, tensor=tensor)


def first_of(x, count, axis, *, largest=True):
    """Return the positions that sorting has first: equal elements in their order, of which NumPy takes any."""
    order = tfr.argsort(tfr.asarray(x, device="numpy"), axis=axis, descending=largest).numpy()
    return np.take(order, range(count), axis)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("length", [20, 2500])
def test_the_first_of_them(device, largest, length):
    x = some((3, length), "float32")
    elements, places = tfr.topk(tfr.asarray(x, device=device), 7, largest=largest)
    assert str(elements.device) == str(places.device) == device
    expected = tfr.topk(tfr.asarray(x, device="numpy"), 7, largest=largest)[0].numpy()
    np.testing.assert_array_equal(elements.numpy(), expected)
    np.testing.assert_array_equal(places.numpy(), first_of(x, 7, 1, largest=largest))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "float64"])
def test_the_first_of_every_dtype(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x = some((2500, 2), dtype)
    tensor = tfr.asarray(x, device=device)
    for axis, view, host in ((0, tensor, x), (1, tensor.mT[:, 7:], x.T[:, 7:])):
        elements, places = tfr.topk(view, 60, axis=axis)
        expected = first_of(host, 60, axis)
        np.testing.assert_array_equal(places.numpy(), expected)
        np.testing.assert_array_equal(elements.numpy(), np.take_along_axis(host, expected, axis))


@pytest.mark.parametrize(("shape", "count"), [((3, 5), 0), ((0, 5), 2), ((0,), 0)])
def test_none_of_them(device, shape, count):
    elements, places = tfr.topk(tfr.asarray(some(shape, "float32"), device=device), count)
    assert elements.numpy().shape == places.numpy().shape == (*shape[:-1], count)
    assert (elements.dtype, places.dtype) == (np.float32, np.int64)


@pytest.mark.filterwarnings("ignore::tensorframe.errors.FallbackWarning")
def test_places_that_a_device_cannot_hold_are_found_elsewhere(device):
    name = next(
        (str(one.device) for one in tfr.backends.devices() if lacks_places(one, device)), None
    )
    if name is None:
        pytest.skip(f"every device of {device} holds int64")
    x = tfr.asarray(some((3, 40), "float32"), device=name)
    elements, places = tfr.topk(x, 5)
    order = tfr.argsort(x)
    assert str(tfr.sort(x).device) == name
    host = tfr.asarray(x.numpy(), device="numpy")
    np.testing.assert_array_equal(elements.numpy(), tfr.topk(host, 5)[0].numpy())
    np.testing.assert_array_equal(order.numpy(), tfr.argsort(host).numpy())
    assert places.dtype == np.int64


def test_partitions(device):
    x = some((3, 40), "float32")
    tensor = tfr.asarray(x, device=device)
    np.testing.assert_array_equal(tfr.partition(tensor, 9).numpy()[:, 9], np.sort(x)[:, 9])
    places = tfr.argpartition(tensor, 9).numpy()
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1)[:, 9], np.sort(x)[:, 9])


def test_what_is_sorted_may_be_computed_first_and_used_afterwards(device):
    x = some((4, 60), "int32") % 1000
    tensor = tfr.asarray(x, device=device)
    found = tfr.sum(tfr.sort(tensor * 2)[:, -3:], axis=1)
    np.testing.assert_array_equal(found.numpy(), np.sort(x * 2)[:, -3:].sum(axis=1))
