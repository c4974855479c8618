"""Tensors that are larger than a device's buffers may be: they run tile by tile, or are refused before the first step.

Devices that are here have buffers of some GiB: the tests have them take a megabyte.
"""

from dataclasses import replace

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of
from tensorframe.errors import OutOfMemoryError
from tensorframe.runtime.streaming import out_of_core

DEVICES = [name for name in ("opencl", "wgpu") if name in tfr.backends.available()]
LARGEST = 1 << 20
SHAPE = (1024, 700)  # 2.7 MiB of float32

REDUCTIONS = {
    "rows": lambda xp, x: xp.sum(x * 2, axis=1),
    "the largest of columns": lambda xp, x: xp.max(x, axis=0),
    "all integers": lambda xp, x: xp.sum(x.astype("int32"), dtype="int32"),
    "positions": lambda xp, x: xp.argmax(x, axis=0),
    "any": lambda xp, x: xp.any(x > 8),
    "a part": lambda xp, x: x[5:70] + 1,
    "generated": lambda xp, x: xp.max(xp.arange(700_000, dtype="float32")[1:] * 2),
}


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """A device whose buffers have a megabyte at most."""
    found = tfr.zeros(1, device=request.param).device
    queue = backend_of(found).open_device(found).queue
    monkeypatch.setattr(queue, "traits", replace(queue.traits, max_block=LARGEST))
    monkeypatch.setattr(queue, "_largest", LARGEST, raising=False)
    return request.param


@pytest.fixture
def values():
    return np.random.default_rng(0).integers(-9, 10, SHAPE).astype(np.float32)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_is_made_of_a_large_array_in_memory_has_numpys_values(device, values, name):
    with tfr.use_backend(device):
        found = REDUCTIONS[name](tfr, tfr.asarray(values))
        assert np.array_equal(found.numpy(), REDUCTIONS[name](np, values))


def test_large_files_go_through_a_device_to_a_file(device, values, tmp_path):
    np.save(tmp_path / "x.npy", values)
    x = tfr.load(tmp_path / "x.npy", device=device)
    tfr.save(tmp_path / "y.npy", (x * 2).astype("float16"))
    assert np.array_equal(np.load(tmp_path / "y.npy"), (values * 2).astype(np.float16))
    assert np.array_equal(tfr.min(x, axis=1).numpy(), values.min(axis=1))


def test_large_results_leave_the_device_tile_by_tile(device, values):
    on_host = (tfr.asarray(values, device=device) * 2 + 1).to_backend("cpu")
    assert np.array_equal(on_host.numpy(), values * 2 + 1)


RESULTS = {
    "a map": lambda xp, x: x * 2 + 1,
    "itself": lambda xp, x: xp.asarray(x, copy=True),
    "a slice": lambda xp, x: x[5:1000],
    "a transpose": lambda xp, x: x.T,
    "both": lambda xp, x: xp.concatenate([x, x]),
    "a stencil": lambda xp, x: x[1:] - x[:-1],
    "sorted rows": lambda xp, x: xp.sort(x, axis=1),
    "sorted columns": lambda xp, x: xp.sort(x, axis=0),
    "a scan": lambda xp, x: xp.cumsum(x, axis=0),
    "a condition": lambda xp, x: xp.where(x > 0, x, 0),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", RESULTS)
def test_results_that_no_buffer_has_stay_with_the_host(device, values, name):
    expected = RESULTS[name](np, values)
    with tfr.use_backend(device):
        found = RESULTS[name](tfr, tfr.asarray(values))
        assert found.is_computed == (name == "itself")  # which the host has from the beginning
        assert found.compute() is found
        assert found.is_computed
        assert found.is_ready
        assert found.device == device
        assert np.array_equal(found.numpy(), expected)
        # and go on from there
        assert np.array_equal(found[3:5, 1:].numpy(), expected[3:5, 1:])
        assert np.array_equal(tfr.max(found + 1, axis=0).numpy(), (expected + 1).max(axis=0))


def test_several_results_are_computed_each_as_it_can_be(device, values):
    x = tfr.asarray(values, device=device)
    large, small = tfr.compute(x - 1, tfr.max(x, axis=0))
    assert large.is_computed
    assert small.is_computed
    assert np.array_equal(large.numpy(), values - 1)
    waited = (x + 1).compute(wait=False)
    assert np.array_equal(waited.numpy(), values + 1)


def test_what_was_computed_is_not_computed_again(device, values, monkeypatch):
    y = (tfr.asarray(values, device=device) * 2).compute()
    begun = []
    monkeypatch.setattr(out_of_core, "run_stream", lambda *_: begun.append(1))
    assert np.array_equal(y.numpy(), values * 2)
    assert y.compute().is_computed
    assert not begun


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_of_floats_that_no_buffer_has_are_added_by_the_host(device, axis):
    values = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    x = tfr.asarray(values, device=device)
    total = tfr.sum(x * 2, axis=axis).compute()
    assert total.device == device
    assert np.allclose(total.numpy(), (values * 2).sum(axis=axis), rtol=1e-5, atol=1e-3)
    if axis is None:  # in the order of the cpu
        assert total.item() == tfr.sum(tfr.asarray(values, device="cpu") * 2).item()


def test_what_needs_all_of_a_tensor_is_refused_with_what_helps(device, values):
    result = tfr.sort(tfr.reshape(tfr.asarray(values, device=device), (-1,)))
    with pytest.raises(
        OutOfMemoryError,
        match=r"(?s)whose buffers have 1 MiB at most; nothing has run.*another axis",
    ) as caught:
        result.compute()
    assert caught.value.outgrown
    assert not result.is_computed
