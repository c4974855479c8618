"""Results that are handed over to a device: when they are there, and errors that come late, on one that fails late."""

from math import inf

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import DeviceError, KernelError
from tensorframe.graph.device import Device
from tensorframe.runtime.execution import throttling
from tensorframe.runtime.progress import monitor
from tests.backends.devices import on_every_device
from tests.backends.fakes import registered
from tests.backends.late import LateBackend


@pytest.fixture
def queue():
    """The queue of a device that works when somebody waits."""
    with registered(LateBackend()) as (backend,):
        yield backend.open_device(Device("late")).queue


def operand(queue):
    return tfr.asarray(np.arange(6, dtype=np.float32), device="late")


def test_handing_over_returns_before_the_device_has_worked(queue):
    y = (operand(queue) + 1).compute(wait=False)
    assert y.is_computed
    assert not y.is_ready
    assert len(queue.given) == 1
    queue.work()
    assert y.is_ready
    np.testing.assert_array_equal(y.numpy(), np.arange(1, 7))


def test_who_waits_at_once_needs_no_mark(queue, monkeypatch):
    x = operand(queue)
    marks = []
    mark = queue.mark
    monkeypatch.setattr(queue, "mark", lambda: marks.append(mark()) or marks[-1])
    y = (x * 2).compute()
    assert y.is_ready
    tfr.compute(x + 1)
    assert not marks
    later = (x - 1).compute(wait=False)
    assert len(marks) == 1
    y.compute()  # which was there before
    assert y.is_ready
    assert not later.is_ready
    tfr.compute(x + 2, x + 3)
    assert len(marks) == 3


def test_computing_waits_and_reading_does(queue):
    x = operand(queue)
    y = (x * 2).compute()
    assert not queue.given
    assert y.is_ready
    low, high = tfr.compute(tfr.min(x), tfr.max(x + 1), wait=False)
    assert queue.given
    assert not high.is_ready
    assert (low.item(), high.item()) == (0.0, 6.0)
    assert high.is_ready


def test_a_result_that_is_there_waits_for_none_that_came_later(queue):
    early = (operand(queue) + 1).compute(wait=False)
    late = (operand(queue) + 2).compute(wait=False)
    for _ in range(2):
        early.compute()
        assert early.is_ready
        assert not late.is_ready
        assert len(queue.given) == 1


def test_what_is_lost_with_its_device_does_not_open_it_again(queue):
    y = (operand(queue) + 1).compute(wait=False)
    tfr.backends.close("late")
    assert y.is_ready
    assert not tfr.backends.is_open("late")
    with pytest.raises(DeviceError, match="was closed"):
        y.numpy()


def test_synchronize_waits_for_one_device_or_all(queue):
    for devices in (("late",), ()):
        y = (operand(queue) - 1).compute(wait=False)
        assert queue.given
        tfr.synchronize(*devices)
        assert not queue.given
        assert y.is_ready
    with pytest.raises(DeviceError, match="nowhere"):
        tfr.synchronize("nowhere")


def test_a_late_error_names_the_line_that_recorded_it_at_every_read(queue):
    x = operand(queue)
    good = tfr.exp(x).compute(wait=False)
    bad = tfr.sqrt(x)  # this line
    queue.failing.add(queue.launches + 1)
    bad.compute(wait=False)
    after = (x * 3).compute(wait=False)
    np.testing.assert_array_equal(after.numpy(), 3 * np.arange(6))  # whose work has gone well
    for _ in range(2):
        with pytest.raises(KernelError, match=r"launch 2 has failed(.|\n)*this line") as caught:
            bad.numpy()
        assert "sqrt -> float32[6] on late" in str(caught.value)
    np.testing.assert_allclose(good.numpy(), np.exp(np.arange(6)), rtol=1e-6)
    with pytest.raises(KernelError, match="this line"):
        tfr.synchronize()
    tfr.synchronize()  # which tells it once


def test_a_late_error_that_somebody_else_meets_names_its_own_line(queue):
    x = operand(queue)
    queue.failing.add(queue.launches + 1)
    bad = tfr.sqrt(x).compute(wait=False)  # the failing line
    good = (x + 1).compute(wait=False)
    with pytest.raises(KernelError, match="the failing line"):
        tfr.synchronize("late")
    assert good.numpy()[0] == 1
    with pytest.raises(KernelError, match="the failing line"):
        bad.item()


def test_computing_with_an_error_raises_at_once(queue):
    x = operand(queue)
    early = tfr.exp(x).compute(wait=False)  # the one before
    queue.failing.update((queue.launches, queue.launches + 1))
    bad = tfr.sqrt(x)  # the recording
    for read in (bad.compute, bad.compute, bad.numpy):
        with pytest.raises(KernelError, match=r"has failed(.|\n)*the recording") as caught:
            read()
        assert "sqrt -> float32[6] on late" in str(caught.value)
    with pytest.raises(KernelError, match="the one before"):
        early.numpy()


def test_reading_with_an_error_raises_at_every_read(queue):
    x = operand(queue)
    queue.failing.add(queue.launches + 1)
    bad = tfr.sqrt(x)  # the recording
    for _ in range(2):
        with pytest.raises(KernelError, match=r"has failed(.|\n)*the recording") as caught:
            bad.numpy()
        assert "sqrt -> float32[6] on late" in str(caught.value)
    assert (x + 1).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("read", [tfr.Tensor.compute, tfr.Tensor.numpy])
def test_an_error_in_much_work_is_raised_at_every_read(queue, monkeypatch, read):
    monkeypatch.setattr(monitor, "_MUCH", 0)
    bad = tfr.sqrt(operand(queue))  # the recording
    queue.failing.add(queue.launches + 1)
    for _ in range(2):
        with pytest.raises(KernelError, match=r"has failed(.|\n)*the recording"):
            read(bad)


@on_every_device
def test_devices_hand_over_and_finish(device):
    x = tfr.asarray(np.arange(1000, dtype=np.float32), device=device)
    y = tfr.sum(x * 2).compute(wait=False)
    z = (x + y).compute(wait=False)
    tfr.synchronize(device)
    assert y.is_ready
    assert z.is_ready
    assert y.item() == 999_000
    assert not (z * 2).is_ready


@on_every_device
def test_a_thread_waits_for_what_may_take_long_and_not_for_what_took_little(device, monkeypatch):
    called = []
    monkeypatch.setattr(throttling, "run_interruptibly", lambda call: called.append(call()))
    monkeypatch.setattr(throttling, "_UNNOTICED", inf)
    monkeypatch.setattr(monitor, "_MUCH", 0)  # so that every plan may be long
    x = tfr.asarray(np.arange(1200, dtype=np.float32), device=device).compute()
    called.clear()
    for _ in range(3):
        (x * 2 + 3).compute()
        assert len(called) == 1  # the first time
    for _ in range(2):
        (x * 2 + 3).compute(wait=False)  # known, with one that is not
        (x * 3 - 4).compute(wait=False)
        tfr.synchronize(device)
    assert len(called) == 3  # two plans that were waited for together teach nothing of either
    monkeypatch.setattr(throttling, "_UNNOTICED", 0.0)
    (x * 2 + 3).compute()
    assert len(called) == 4


def test_what_is_waited_for_in_parts_says_nothing_of_the_whole(queue, monkeypatch):
    called = []
    monkeypatch.setattr(throttling, "run_interruptibly", lambda call: called.append(call()))
    monkeypatch.setattr(throttling, "_UNNOTICED", inf)
    monkeypatch.setattr(throttling, "_FIRST", 1.0)  # so that each step is waited for
    monkeypatch.setattr(throttling, "_SHORTEST", 0.0)
    monkeypatch.setattr(monitor, "_MUCH", 0)
    x = operand(queue).compute()
    called.clear()
    for count in (1, 2, 3):
        (x * 2 + 3).compute()
        assert len(called) == count


def test_the_hosts_memory_is_ready_when_calls_return():
    y = tfr.sqrt(tfr.ones(5)).compute(wait=False)
    assert y.is_ready
    tfr.synchronize("cpu")
    assert not tfr.sqrt(y).is_ready
