"""Memory under control: limits, what is refused before it runs, what gives memory back, and what is told of it all."""

import ctypes
import gc
import re
import sys
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import shortage
from tensorframe.backends.budget import Budget, add_callback
from tensorframe.backends.shortage import Watch
from tensorframe.errors import ArgumentError, DeviceError, OutOfMemoryError, OutOfRangeError
from tensorframe.runtime.events import listen
from tensorframe.testing.boxed import BoxedBackend
from tests.backends.test_device_rows import DEVICES

MIB = 1 << 20
HOST = ["cpu", "numpy", "llvm"]
# the workers of a cluster have limits of their own
LIMITED = [device for device in DEVICES if not device.startswith("dask")]


@pytest.fixture(params=[*HOST, *LIMITED])
def device(request):
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    gc.collect()
    return request.param


def counted(device):
    """What counts towards the limit once nothing is kept."""
    tfr.ones(8, device=device).compute()  # opens it
    gc.collect()
    tfr.memory.trim(device)
    if (
        sys.platform == "linux"
    ):  # what malloc has kept of earlier tests would go back in the middle of this one
        ctypes.CDLL(None).malloc_trim(0)
    return tfr.memory.stats()[device].counted


def leaf(device, count=1 << 20):
    return tfr.asarray(np.arange(count, dtype=np.float32), device=device)


def larger(x):
    """A result of 64 MiB of an operand of 4."""
    return tfr.reshape(x, (-1, 1)) + x[:16]


def test_what_does_not_fit_is_refused_before_it_runs(device):
    x = (leaf(device) * 2).compute()
    events = []
    with tfr.memory.limit(counted(device) + 16 * MIB, device=device):
        y = larger(x)
        with (
            listen(lambda event: events.append(event.moment.value)),
            pytest.raises(
                OutOfMemoryError, match=r"6[46] MiB are needed.*nothing has run"
            ) as caught,
        ):
            y.compute()
        assert "step started" not in events
        assert not y.is_computed
        assert tfr.sum(x * 0 + 1).item() == x.size  # what fits runs
    text = str(caught.value)
    assert re.search(r"^  in .*add: ", text, re.MULTILINE)  # the step,
    assert "y = larger(x)" in text or "return tfr.reshape" in text  # its line,
    assert "float32[1048576], " in text  # what is held, with its line,
    assert "x = (leaf(device) * 2).compute()" in text
    helps = ["tfr.save", "another axis", "smaller dtype", "del ", "a cluster"]  # and what helps
    assert [text.index(word) for word in helps] == sorted(text.index(word) for word in helps)
    assert np.array_equal(y[-1].numpy(), x.numpy()[:16] + x.numpy()[-1])


def test_every_way_to_run_a_plan_is_refused(device):
    x = leaf(device).compute()
    function = tfr.jit(larger)
    larger(x).compute()
    function(x).compute()
    larger(x).compute()  # by the single path
    refused = tfr.memory.stats()[device].refusals
    with tfr.memory.limit(counted(device) + 16 * MIB, device=device):
        for run in (lambda: larger(x).compute(), lambda: function(x).compute()):
            with pytest.raises(OutOfMemoryError):
                run()
            with tfr.profile(), pytest.raises(OutOfMemoryError):
                run()
        with pytest.raises(OutOfMemoryError):
            tfr.compute(larger(x) + 1, larger(x) * 2)
    assert tfr.memory.stats()[device].refusals >= refused + 5
    assert larger(x)[3, 5].item() == 8.0


def test_a_block_ends_its_limit_and_the_setting_stays(device):
    before = tfr.memory.stats()[device].limit
    high, low = counted(device) + 900 * MIB, counted(device) + 800 * MIB
    setting = tfr.memory.limit(high, device=device)
    assert tfr.memory.stats()[device].limit == high == setting.nbytes
    with tfr.memory.limit(low, device=device) as block:
        assert tfr.memory.stats()[device].limit == low == block.nbytes
        with tfr.memory.limit(high, device=device):  # a block inside takes nothing back
            assert tfr.memory.stats()[device].limit == low
        with pytest.raises(KeyError), tfr.memory.limit(low - MIB, device=device):
            raise KeyError
        assert tfr.memory.stats()[device].limit == low
    assert tfr.memory.stats()[device].limit == high
    tfr.memory.limit(None, device=device)
    after = tfr.memory.stats()[device].limit
    assert after != high
    assert (before is None) == (after is None)


def test_blocks_of_several_threads_end_each_its_own():
    first, second = counted("cpu") + 900 * MIB, counted("cpu") + 800 * MIB
    entered, leave = threading.Event(), threading.Event()

    def work():
        with tfr.memory.limit(second):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=work)
    with tfr.memory.limit(first):
        thread.start()
        entered.wait(60)
        assert tfr.memory.stats()["cpu"].limit == second  # memory is the process's
    assert tfr.memory.stats()["cpu"].limit == second
    leave.set()
    thread.join()
    assert tfr.memory.stats()["cpu"].limit not in (first, second)


def test_devices_of_host_memory_have_one_limit():
    size = counted("cpu") + 900 * MIB
    with tfr.memory.limit(size, device="numpy"):
        assert {tfr.memory.stats()[name].limit for name in ("cpu", "numpy")} == {size}


@pytest.mark.parametrize("size", ["lots", "", "-4 GiB", -1, 1.5, True, "4 XB", object()])
def test_what_is_no_amount_of_memory(size):
    with pytest.raises(ArgumentError, match=r"limit: .*no amount of memory"):
        tfr.memory.limit(size)
    assert tfr.memory.stats()["cpu"].limit != size


def test_less_than_is_in_use_is_too_small(device):
    x = leaf(device).compute()
    for size in (0, "1 KiB", x.nbytes // 2):
        with pytest.raises(OutOfRangeError, match="already"):
            tfr.memory.limit(size, device=device)
    assert (x + 1)[5].item() == 6.0


@pytest.mark.parametrize("call", ["limit", "trim", "reset_peak"])
def test_unknown_devices(call):
    function = getattr(tfr.memory, call)
    arguments = ("1 TiB",) if call == "limit" else ()
    for name, reason in (("abacus", "abacus"), ("cpu:7", "cpu:7"), ("dry", "does not tell")):
        with pytest.raises(DeviceError, match=reason):
            function(*arguments, device=name)
    with pytest.raises(DeviceError, match="abacus"):
        tfr.memory.stats()["abacus"]


def test_trim_leaves_nothing_pooled(device):
    x = leaf(device).compute()
    for _ in range(3):
        y = larger(x).compute()
    del y
    gc.collect()
    held = tfr.memory.stats()[device].in_use
    assert tfr.memory.trim(device) >= 64 * MIB
    stats = tfr.memory.stats()[device]
    assert stats.pooled == 0
    assert stats.in_use <= held  # products give back what they kept for the next one
    assert tfr.memory.trim(device) == 0
    assert larger(x)[1, 1].item() == 2.0


def test_what_is_counted(device):
    x = leaf(device).compute()
    larger(x).compute()
    tfr.memory.trim()
    tfr.memory.reset_peak()
    start = tfr.memory.stats()[device]
    assert start.peak == start.in_use
    y = larger(x).compute()
    held = tfr.memory.stats()[device]
    assert held.in_use >= start.in_use + y.nbytes
    assert held.peak >= held.in_use
    assert held.allocations > start.allocations
    assert held.counted >= start.counted + 0.9 * y.nbytes
    del y
    gc.collect()
    y = larger(x).compute()
    again = tfr.memory.stats()[device]
    assert (again.hits, again.allocations) == (held.hits + 1, held.allocations)
    tfr.memory.reset_peak(device)
    assert tfr.memory.stats()[device].peak == again.in_use
    del y


def test_statistics_print_as_a_table_and_say_of_each_device_in_use(device):
    leaf(device).compute()
    found = tfr.memory.stats()
    assert found["cpu"].device == "cpu"
    assert device in HOST or device in [row.device for row in found]
    assert repr(found).splitlines()[0].split()[:2] == ["device", "in"]
    assert len(repr(found).splitlines()) == len(found.devices) + 1


def test_callbacks_give_memory_up_before_anything_is_refused(device):
    x = leaf(device).compute()
    cache = {"old": larger(x).compute(), "recent": larger(x).compute()}
    told = []

    def give_up(pressure):
        told.append(pressure)
        cache.popitem()

    forget = tfr.memory.on_pressure(give_up)
    try:
        with tfr.memory.limit(counted(device) + 8 * MIB, device=device):
            assert larger(x).compute()[2, 3].item() == 5.0  # in what the newest has left
            assert list(cache) == ["old"]
            assert [pressure.needed // MIB for pressure in told] == [66 if device in HOST else 64]
            assert told[0].room < 64 * MIB
            assert told[0].memory == ("cpu" if device in HOST else device)
    finally:
        forget()
    with (
        tfr.memory.limit(counted(device) + 8 * MIB, device=device),
        pytest.raises(OutOfMemoryError),
    ):
        larger(x).compute()
    assert len(told) == 1
    forget()  # again: nothing


def test_what_a_callback_raises_reaches_whoever_computes():
    x = leaf("cpu").compute()
    forget = tfr.memory.on_pressure(lambda pressure: 1 // 0)
    try:
        with (
            tfr.memory.limit(counted("cpu") + 8 * MIB),
            pytest.raises(ZeroDivisionError),
        ):
            larger(x).compute()
    finally:
        forget()
    assert larger(x)[1, 1].item() == 2.0


def test_only_functions_are_called():
    with pytest.raises(ArgumentError, match="takes a function"):
        tfr.memory.on_pressure("cache.clear()")


def test_views_and_what_shares_memory_are_listed_once():
    x = leaf("cpu", 1 << 22).compute()
    views = [x[start:].compute() for start in range(4)]
    with tfr.memory.limit(counted("cpu") + 8 * MIB), pytest.raises(OutOfMemoryError) as caught:
        larger(x).compute()
    assert str(caught.value).count("16 MiB: float32") == 1
    assert len(views) == 4


def test_tensors_of_a_backend_that_is_gone_are_no_obstacle():
    tfr.backends.register(BoxedBackend("passing"))
    left = tfr.ones(100, device="passing").compute()
    tfr.backends.unregister("passing")
    known = tfr.asarray(np.ones(1 << 22, np.float32))
    with tfr.memory.limit(counted("cpu") + 8 * MIB), pytest.raises(OutOfMemoryError) as caught:
        larger(known).compute()
    assert "16 MiB: known float32[4194304], " in str(caught.value)
    assert left.is_computed


def test_small_plans_are_never_compared():
    x = leaf("cpu", 5000).compute()
    budget = tfr.memory.stats()
    (x * 2 + 1).compute()
    with tfr.memory.limit(counted("cpu") + MIB):
        assert (x * 2 + 1)[7].item() == 15.0
    assert budget["cpu"].refusals == tfr.memory.stats()["cpu"].refusals


class Scarce:
    """A pool of a machine that has as much left as it is told."""

    def __init__(self):
        self.left = 1000 * MIB
        self.statistics = None

    def held(self):
        return 1000 * MIB

    def pooled(self):
        return 0

    def free(self):
        return self.left

    def trim(self, wait=0.0):
        pass


def test_a_shortage_of_the_machine_is_told_once():
    told, machine = [], Scarce()
    watch = Watch(Budget("cpu", machine))
    forget = add_callback(told.append)
    try:
        for left in (900, 50, 40, 30, 900, 20):
            machine.left = left * MIB
            watch.look()
    finally:
        forget()
    assert [(pressure.needed, pressure.room // MIB) for pressure in told] == [(0, 50), (0, 20)]


def test_one_callback_that_fails_keeps_no_other_from_being_told(capsys):
    told, machine = [], Scarce()
    removes = [add_callback(lambda pressure: 1 // 0), add_callback(told.append)]
    try:
        machine.left = MIB
        Watch(Budget("cpu", machine)).look()
    finally:
        for remove in removes:
            remove()
    assert len(told) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_thread_looks_as_long_as_somebody_wants_to_know(monkeypatch):
    monkeypatch.setattr(shortage, "_PAUSE", 0.001)
    machine, told = Scarce(), threading.Event()
    machine.left = MIB
    watch = Watch(Budget("cpu", machine))
    remove = watch.add(lambda pressure: told.set())
    thread = watch._thread
    assert told.wait(60)
    remove()
    thread.join(60)
    assert not thread.is_alive()


def test_memory_is_a_card_in_notebooks(device):
    leaf(device).compute()
    html = tfr.memory.stats()._repr_html_()
    assert "in use" in html
    assert "nothing refused" in html or "refusal" in html
    assert html.count("<tr>") == len(tfr.memory.stats().devices) + 1
