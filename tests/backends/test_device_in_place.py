"""Donated tensors on devices: elements are replaced in the memory that is there, unless somebody else sees it."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError, TracingError
from tests.backends import host_gpu
from tests.backends.counts import counted
from tests.backends.devices import FOUND, on_every_device

SHAPE = (2, 4, 512, 16)
NBYTES = 4 * 2 * 4 * 512 * 16


def at_slice(cache, row, place):
    cache[:, :, place : place + 1] = row


def at_place(cache, row, place):
    cache[:, :, place] = row[:, :, 0]


def of(device, seed=0, shape=SHAPE):
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    tensor = tfr.asarray(values, device=device)
    tfr.compute(tensor)
    return tensor, values.copy()


def row(device, seed):
    return of(device, seed, (*SHAPE[:2], 1, SHAPE[3]))


@on_every_device
def test_slices_are_set_in_the_memory_of_a_donated_tensor(device):
    step = tfr.jit(at_slice, updates="cache", donate=True, static_argnames="place")
    cache, expected = of(device)
    for place in (0, 7, 511):
        new, values = row(device, place)
        before = cache.node.storage.handle.block.buffer
        with counted(device) as counts:
            step(cache, new, place)
        assert cache.node.storage.handle.block.buffer is before
        assert (counts["launch"], counts["copy"], counts["fresh"]) == (1, 0, 0)
        expected[:, :, place : place + 1] = values
        np.testing.assert_array_equal(cache.numpy(), expected)


@on_every_device
def test_places_that_change_are_recorded_once(device):
    step = tfr.jit(at_place, updates="cache", donate=True)
    cache, expected = of(device)
    for place in (0, 7, 511, -1):
        new, values = row(device, place + 1)
        number, _ = tfr.compute(tfr.asarray(place, device=device), new)
        with counted(device) as counts:
            step(cache, new, number)
        assert counts["launch"] == 2  # what is pointed to, and the store
        assert counts["fresh"] < NBYTES // 100
        expected[:, :, place] = values[:, :, 0]
        np.testing.assert_array_equal(cache.numpy(), expected)
    assert step.cache_info().recorded == 1


@on_every_device
@pytest.mark.parametrize("donate", [True, False])
def test_what_others_see_is_left_alone(device, donate):
    step = tfr.jit(at_slice, updates="cache", donate=donate, static_argnames="place")
    cache, before = of(device)
    view, snapshot = tfr.compute(cache[:, 1:, 5:9], tfr.Tensor(cache.node))
    new, values = row(device, 1)
    step(cache, new, 6)
    np.testing.assert_array_equal(view.numpy(), before[:, 1:, 5:9])
    np.testing.assert_array_equal(snapshot.numpy(), before)
    expected = before.copy()
    expected[:, :, 6:7] = values
    np.testing.assert_array_equal(cache.numpy(), expected)


@on_every_device
def test_what_is_kept_undonated_is_copied(device):
    step = tfr.jit(at_slice, updates="cache", static_argnames="place")
    cache, _ = of(device)
    new, _ = row(device, 1)
    with counted(device) as counts:
        step(cache, new, 6)
    assert counts["fresh"] >= NBYTES


@on_every_device
def test_what_is_broadcast_has_no_memory_to_write_to(device):
    """Rows that share their memory would all get what one of them does."""
    wide = tfr.jit(lambda x: tfr.broadcast_to(x, (3, 8)))

    @tfr.jit(updates="x", donate=True)
    def step(x, value):
        x[1] = value

    line, values = of(device, 3, (8,))
    x = wide(line)
    del line
    value, one = of(device, 4, (8,))
    step(x, value)
    np.testing.assert_array_equal(x.numpy(), np.stack([values, one, values]))


@on_every_device
def test_transposed_memory_is_written_to_by_its_strides(device):
    turned = tfr.jit(lambda x: x.mT)

    @tfr.jit(updates="x", donate=True)
    def step(x, value):
        x[2:4] = value

    plain, values = of(device, 3, (6, 8))
    x = turned(plain)
    del plain
    value, part = of(device, 4, (2, 6))
    with counted(device) as counts:
        step(x, value)
    assert counts["launch"] == 1
    expected = values.T.copy()
    expected[2:4] = part
    np.testing.assert_array_equal(x.numpy(), expected)


@on_every_device
def test_intermediates_are_written_over(device):
    x, values = of(device)
    new, part = row(device, 1)

    def changed():
        y = x * 2
        y[:, :, 3:4] = new
        return y

    with tfr.config.override(small_size=0, small_nodes=0):
        tfr.compute(changed())
        with counted(device) as counts:
            y = changed()
            tfr.compute(y)
    assert counts["launch"] == 2
    assert counts["fresh"] < 1.5 * NBYTES
    expected = values * 2
    expected[:, :, 3:4] = part
    np.testing.assert_array_equal(y.numpy(), expected)


@on_every_device
def test_indices_out_of_bounds_leave_no_value(device):
    step = tfr.jit(at_place, updates="cache", donate=True)
    cache, _ = of(device)
    new, _ = row(device, 1)
    number = tfr.asarray(512, device=device)
    with pytest.raises(IndexingError, match="512"):
        step(cache, new, number)
    with pytest.raises(TracingError, match="did not finish"):
        cache.numpy()


@pytest.mark.parametrize("device", FOUND)
def test_plans_know_that_there_is_one_cache(device):
    cache, _ = of(device)
    new, _ = row(device, 1)
    peaks = []
    for donate in (False, True):
        step = tfr.jit(at_slice, updates="cache", donate=donate, static_argnames="place")
        peaks.append(step.explain(cache, new, 3).peak[cache.device])
    assert peaks[0] - peaks[1] == NBYTES


def test_tensors_whose_buffers_were_handed_out_are_left_alone():
    if "opencl" not in FOUND:
        pytest.skip("no device that hands buffers out")
    step = tfr.jit(at_slice, updates="cache", donate=True, static_argnames="place")
    cache, _ = of("opencl")
    new, _ = row("opencl", 1)
    buffer = cache.native()
    before = cache.node.storage.handle.block
    step(cache, new, 6)
    assert cache.node.storage.handle.block is not before
    del buffer


@pytest.mark.skipif(host_gpu.COMPILER is None, reason="no C++ compiler for printed kernels")
def test_printed_cuda_kernels_write_in_place():
    pytest.importorskip("cupy", reason="the backend speaks to GPUs through CuPy")
    with host_gpu.host_gpu():
        for function, static in ((at_slice, ("place",)), (at_place, ())):
            step = tfr.jit(function, updates="cache", donate=True, static_argnames=static)
            cache, expected = of("cuda")
            for place in (3, 500):
                new, values = row("cuda", place)
                number = place if static else tfr.asarray(place, device="cuda")
                tfr.compute(new, *([] if static else [number]))
                with counted("cuda") as counts:
                    step(cache, new, number)
                assert counts["fresh"] < NBYTES // 100
                expected[:, :, place : place + 1] = values
                np.testing.assert_array_equal(cache.numpy(), expected)
