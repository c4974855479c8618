"""Joins, pads and reshapes on devices that no kernel computes alone: too many parts, or axes cut elsewhere."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tests.backends.devices import on_every_device

pytestmark = on_every_device


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bool"])
def test_many_tensors(device, dtype):
    x = np.arange(60).reshape(4, 15).astype(dtype)
    parts = [tfr.asarray(x, device=device)[:, index : index + 3] for index in range(13)]
    expected = np.concatenate([x[:, index : index + 3] for index in range(13)], axis=1)
    assert np.array_equal(tfr.concat(parts, axis=1).numpy(), expected)


def test_many_computed_numbers(device):
    x = np.arange(40, dtype=np.float32)
    y = tfr.asarray(x, device=device)
    assert np.array_equal(tfr.stack([y[index] * 2 for index in range(40)]).numpy(), x * 2)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_a_pad_along_four_axes(device, dtype, monkeypatch):
    x = np.arange(16).reshape(2, 2, 2, 2).astype(dtype)
    y = tfr.asarray(x, device=device).compute()
    with monkeypatch.context() as patched:
        patched.setattr(backend_of(y.device), "download", None)  # nothing goes through the host
        padded = tfr.pad(y, ((1, 1),) * 4, constant_values=3).compute()
    assert np.array_equal(padded.numpy(), np.pad(x, 1, constant_values=np.asarray(3, dtype)))


@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_a_reshape_that_cuts_axes_elsewhere(device, dtype):
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    turned = tfr.permute_dims(tfr.asarray(x, device=device), (2, 0, 1))
    found = tfr.reshape(turned, (3, 8))
    assert np.array_equal(found.numpy(), x.transpose(2, 0, 1).reshape(3, 8))
    assert np.array_equal(tfr.reshape(found.T, (6, 4)).numpy(), found.numpy().T.reshape(6, 4))
