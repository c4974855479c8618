"""Devices open and close: nothing grows, what lay there raises clearly, and threads that compute are not surprised."""

import gc
import logging
import os
import sys
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DeviceError
from tests.backends.devices import on_every_device

# `STRESS=1` opens and closes 200 times
TIMES = 200 if os.environ.get("STRESS") else 6


def use(device):
    x = tfr.asarray(np.arange(1000, dtype=np.float32), device=device)
    return (x * 2 + 1).compute()


def footprint():
    """Return the numbers of handles and threads, and the resident bytes."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    handles, threads = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task"))
    return handles, threads, pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux tells what a process has")
@pytest.mark.parametrize("device", ["cpu", "numpy", "opencl", "wgpu"])
def test_nothing_grows(device):
    if device not in tfr.backends.available():
        pytest.skip("no such device")

    def cycle():
        with tfr.backends.opened(device) as opened:
            assert use(opened).numpy()[3] == 7

    tfr.backends.close(device)
    for _ in range(3):
        cycle()
    handles, threads, resident = footprint()
    grown = []
    while len(grown) < 3 and (not grown or grown[-1] > 16 << 20):
        # a process that has run many tests takes a piece of memory now and then: what grows, grows each time
        before, resident = resident, _after(cycle, handles, threads)
        grown.append(resident - before)
    assert grown[-1] <= 16 << 20, grown


def _after(cycle, handles, threads):
    """Return the resident bytes after so many times, which must leave neither handles nor threads."""
    for _ in range(TIMES):
        cycle()
    now = footprint()
    assert now[0] <= handles
    assert now[1] <= threads + 1  # drivers end threads a little later
    return now[2]


@on_every_device
def test_what_lay_on_a_closed_device_raises_clearly(device):
    tfr.backends.open(device)
    there = use(device)
    pending = there * 3
    view = there[2:5]
    tfr.backends.close(device)
    assert not tfr.backends.is_open(device)
    asked = [
        there.numpy,
        there.tolist,
        view.numpy,
        pending.numpy,
        (there @ there).numpy,
        there.native,
        lambda: there.to_device("cpu").numpy(),
        lambda: tfr.sort(there).numpy(),
    ]
    for ask in asked:
        with pytest.raises(DeviceError, match=f"{device} was closed, and what was in its memory"):
            ask()
    assert not tfr.backends.is_open(device) or use(device).numpy()[1] == 3


@on_every_device
def test_it_opens_again_when_it_is_used(device):
    function = tfr.jit(lambda x: tfr.exp(-x) * 2)
    expected = function(use("cpu")).numpy()
    np.testing.assert_allclose(function(use(device)).numpy(), expected, rtol=1e-5)
    tfr.backends.close(device)
    assert not tfr.backends.is_open(device)
    # a recording whose kernels were those of the device as it was
    np.testing.assert_allclose(function(use(device)).numpy(), expected, rtol=1e-5)
    assert tfr.backends.is_open(device)
    np.testing.assert_array_equal(tfr.sort(-use(device)).numpy(), np.sort(-use("cpu").numpy()))


@on_every_device
def test_a_raw_kernel_opens_it_again(device):
    bodies = {
        "opencl": "y[i] = 3.0f * x[i];",
        "cuda": "y[i] = 3.0f * x[i];",
        "wgsl": "y[i] = 3.0 * x[i];",
    }
    triple = tfr.raw_kernel("triple", {"x": "float32[n]"}, {"y": "float32[n]"}, source=bodies)
    function = tfr.jit(triple)
    for _ in range(2):
        assert function(use(device)).numpy()[2] == 15
        tfr.backends.close(device)


@on_every_device
def test_a_block_closes_what_it_opened_alone(device):
    tfr.backends.close(device)
    with tfr.backends.opened(device, warm_up=True) as outer:
        assert outer == device
        assert tfr.backends.is_open(device)
        with tfr.backends.opened(device):
            there = use(device)
        assert there.numpy()[0] == 1
    assert not tfr.backends.is_open(device)
    with pytest.raises(ValueError, match="mine"), tfr.backends.opened(device):
        raise ValueError("mine")
    assert not tfr.backends.is_open(device)


@on_every_device
def test_threads_that_compute_during_a_close_finish_or_fail_clearly(device):
    expected = use(device).numpy()
    begun, stop = threading.Barrier(4), threading.Event()
    wrong, told = [], []

    def work():
        begun.wait()
        while not stop.is_set():
            try:
                if not np.array_equal(use(device).numpy(), expected):
                    wrong.append("other numbers")
            except DeviceError as error:
                told.append(error.message)
            except BaseException as error:
                wrong.append(repr(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    for _ in range(4):
        tfr.backends.close(device)
        use("cpu")
    stop.set()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
    assert all("was closed" in message for message in told)
    assert np.array_equal(use(device).numpy(), expected)


def test_what_works_in_host_memory_loses_nothing():
    for device in ("cpu", "numpy", "llvm"):
        x = use(device)
        tfr.backends.close(device)
        assert tfr.backends.is_open(device)
        assert (x + 1).numpy()[1] == 4
        assert tfr.backends.open(device, warm_up=True) == device


@pytest.mark.parametrize("call", ["open", "close", "is_open"])
def test_a_device_that_is_not_here_is_told(call):
    for device in ("abacus", None):
        with pytest.raises(DeviceError):
            getattr(tfr.backends, call)(device)
    with pytest.raises(DeviceError), tfr.backends.opened("abacus"):
        pass


@on_every_device
def test_the_logger_tells_what_happens(device, caplog):
    tfr.backends.close(device)
    with caplog.at_level(logging.DEBUG, logger="tensorframe"):
        x = tfr.asarray(np.arange(9, dtype=np.float32).reshape(3, 3), device=device)
        y = tfr.linalg.svdvals(x + tfr.linspace(1, 2.125, 3, device=device)) + x
        y.numpy()
        tfr.backends.close(device)
    text = caplog.text
    assert f"opening {device} took" in text
    assert "compiled k_" in text
    assert f"svdvals of float32 runs on cpu instead of {device}" in text
    assert f"moved Storage(float32[3, 3] on {device}) from {device} to cpu" in text
    assert f"closed {device}" in text
    with caplog.at_level(logging.INFO, logger="tensorframe"):
        caplog.clear()
        use(device).numpy()
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_a_logger_that_nobody_asked_for_costs_and_prints_nothing(monkeypatch):
    from tensorframe.backends.spans import log

    log("hello")
    assert any(
        isinstance(handler, logging.NullHandler)
        for handler in logging.getLogger("tensorframe").handlers
    )
    monkeypatch.delitem(sys.modules, "logging")
    log("%d", "no number: it is not even formatted")
    assert "logging" not in sys.modules


def test_the_logger_tells_of_plans_that_are_dropped(caplog):
    x = tfr.asarray(np.arange(6.0).reshape(2, 3))
    with (
        tfr.config.override(plan_cache=2, small_nodes=0, small_size=0),
        caplog.at_level(logging.DEBUG, logger="tensorframe"),
    ):
        for function in (tfr.sinh, tfr.cosh, tfr.tanh, tfr.exp2):
            tfr.sum(function(x) * 2 + 1).item()
    assert "evicted the plan of sinh multiply add sum: plan_cache is 2" in caplog.text
