"""Binary search on devices: NumPy's places for every dtype, values of any shape, ends of vectors included."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tests.backends.devices import FOUND, holds, on_every_device, some

PLACES = [name for name in FOUND if holds(name, "int64")]
on_devices_with_places = pytest.mark.parametrize("device", PLACES) if PLACES else on_every_device


def check(device, vector, values, side):
    x, v = tfr.asarray(vector, device=device), values
    if isinstance(values, np.ndarray):
        v = tfr.asarray(values, device=device)
    found = tfr.searchsorted(x, v, side=side)
    assert str(found.device) == device
    assert not tfr.explain(tfr.searchsorted(x, v, side=side)).fallbacks
    np.testing.assert_array_equal(found.numpy(), np.searchsorted(vector, values, side=side))


@pytest.mark.sweep(3)
@on_devices_with_places
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_every_dtype(device, dtype, side):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    vector = np.sort((some((37,), dtype) * 3).astype(dtype))
    values = np.concatenate([vector[::3], (some((40,), dtype, seed=1) * 4).astype(dtype)])
    check(device, vector, values, side)


@on_devices_with_places
@pytest.mark.parametrize("length", [1, 2, 3, 8, 1000])
@pytest.mark.parametrize("shape", [(), (1,), (7, 5), (0,)])
def test_every_length_and_shape(device, length, shape):
    vector = np.sort(some((length,), "float32"))
    check(device, vector, np.asarray(some(shape, "float32", seed=1), np.float32), "left")


@on_devices_with_places
def test_special_values(device):
    vector = np.float32([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan, np.nan])
    for side in ("left", "right"):
        check(device, vector, vector[::-1].copy(), side)
        check(device, vector, np.float32([0.0, -0.0, np.nan]), side)


@on_devices_with_places
def test_views_and_numbers(device):
    whole = np.sort(some((40,), "float32"))
    x = tfr.asarray(whole, device=device)
    values = tfr.asarray(some((6, 4), "float32"), device=device)
    found = tfr.searchsorted(x[4::3], values[::2].mT)
    np.testing.assert_array_equal(
        found.numpy(), np.searchsorted(whole[4::3], values.numpy()[::2].T)
    )
    assert int(tfr.searchsorted(x, 0.25)) == np.searchsorted(whole, np.float32(0.25))
    assert tfr.searchsorted(x, x).tolist() == list(range(40))


@on_devices_with_places
@pytest.mark.parametrize("side", ["left", "right"])
def test_vectors_that_positions_sort(device, side):
    vector = some((60,), "float32")[::2].round(1)
    x = tfr.asarray(some((60,), "float32"), device=device)[::2].round(1)
    values = np.concatenate([vector, some((9,), "float32", seed=1)])
    with tfr.transfer_policy("error"):
        found = tfr.searchsorted(
            x, tfr.asarray(values, device=device), side=side, sorter=tfr.argsort(x)
        )
        assert str(found.device) == device
    order = np.argsort(vector, kind="stable")
    np.testing.assert_array_equal(
        found.numpy(), np.searchsorted(vector, values, side=side, sorter=order)
    )


@on_devices_with_places
@pytest.mark.parametrize("wrong", [3, -1])
def test_sorters_with_what_are_no_positions(device, wrong):
    x = tfr.asarray(np.float32([1, 2, 3]), device=device)
    sorter = tfr.asarray(np.full(3, wrong), device=device)
    found = tfr.searchsorted(x, x, sorter=sorter)
    with pytest.raises(IndexingError, match="searchsorted"):
        found.numpy()
