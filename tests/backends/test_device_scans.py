"""Scans on devices: NumPy's sums up to each element, whatever the length of rows, in the same bits every time."""

import numpy as np
import pytest

import tensorframe as tfr
from tests.backends.devices import holds, on_every_device, some

pytestmark = on_every_device


@pytest.mark.parametrize("shape", [(3, 100), (300, 700), (3, 40_000), (20_000, 3), (1, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_every_length(device, shape, axis):
    x = some(shape, "float32")
    found = tfr.cumulative_sum(tfr.asarray(x, device=device), axis=axis)
    assert str(found.device) == device
    exact = np.cumsum(x.astype(np.float64), axis=axis)
    magnitudes = np.cumsum(np.abs(x).astype(np.float64), axis=axis)
    places = np.arange(1, shape[axis] + 1)
    count = places if axis == 1 else places[:, None]
    assert np.all(np.abs(found.numpy() - exact) <= (count + 1) * 2.0**-24 * magnitudes)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int32", "uint64", "float16", "float64", "complex64"]
)
def test_every_kind_of_number(device, dtype):
    if not holds(device, dtype):
        pytest.skip(f"{device} holds no {dtype}")
    x = (some((2, 20_000), "float32") * 4).astype(np.int8).astype(dtype)
    wide = np.cumsum(x[:, ::40], axis=1, dtype=np.float32 if dtype == "float16" else None)
    found = tfr.cumulative_sum(tfr.asarray(x, device=device)[:, ::40], axis=1)
    np.testing.assert_array_equal(found.numpy(), wide.astype(found.dtype))
    if np.dtype(dtype).kind in "iu":
        whole = tfr.cumulative_sum(tfr.asarray(x, device=device), axis=1)
        np.testing.assert_array_equal(whole.numpy(), np.cumsum(x, axis=1).astype(whole.dtype))


def test_the_same_bits_in_every_run(device):
    x = tfr.asarray(some((2, 50_000), "float32"), device=device)
    first = tfr.cumulative_sum(x, axis=1).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(tfr.cumulative_sum(x, axis=1).numpy(), first)
