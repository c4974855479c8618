"""Memory under control: limits, what is refused before it runs, what gives memory back, and what is told of it all."""

import gc
import sys
import threading
import tracemalloc

import pytest

import tensorframe as tfr
from tensorframe.backends import shortage
from tensorframe.backends.budget import Budget, add_callback
from tensorframe.backends.registry import backend_of
from tensorframe.backends.shortage import Watch
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.runtime.execution.memory_admission import held_tensors
from tests.frontend.memories import HOST, LIMITED, MIB, counted, larger, leaf


@pytest.fixture(params=[*HOST, *LIMITED])
def device(request):
    if request.param == "llvm":
        pytest.importorskip("llvmlite")
    gc.collect()
    return request.param


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


def test_statistics_print_as_a_table_and_say_of_each_device_in_use(device):
    leaf(device).compute()
    found = tfr.memory.stats()
    assert found["cpu"].device == "cpu"
    assert device in HOST or device in [row.device for row in found]
    assert repr(found).splitlines()[0].split()[:2] == ["device", "in"]
    assert len(repr(found).splitlines()) == len(found.devices) + 1


def test_only_functions_are_called():
    with pytest.raises(ArgumentError, match="takes a function"):
        tfr.memory.on_pressure("cache.clear()")


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

    def compact(self):
        pass

    def limited(self):
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


def test_what_is_pooled_is_no_credit():
    """Functions of libraries allocate beside the pool, which is as large as before while they do."""
    machine = Scarce()
    machine.pooled = lambda: 900 * MIB
    budget = Budget("cpu", machine)
    budget.set(2000 * MIB)
    assert budget.admits(80 * MIB)
    assert budget.credit <= 20 * MIB


def test_finding_what_is_held_takes_no_list_of_all_objects():
    x = leaf("cpu").compute()
    budget = backend_of(x.device).budget(x.device)
    tracemalloc.start()
    try:
        found = held_tensors(budget)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert x.nbytes in [size for size, _ in found]
    assert peak < sys.getsizeof(gc.get_objects()) // 4


def test_a_loop_over_one_plan_asks_for_the_free_memory_once(monkeypatch):
    """Its results are in memory that was there: to ask takes half as long as the kernel of a few million elements."""
    x = tfr.zeros((1 << 22,), dtype="float32", device="cpu").compute()

    def step():
        return (tfr.cos(x) * x + x).compute()

    for _ in range(70):  # until what is recognised runs without a walk
        step()
    asked = []
    room = Budget.room
    monkeypatch.setattr(Budget, "room", lambda self: asked.append(self) or room(self))
    for _ in range(30):
        step()
    assert len(asked) <= 2
    asked.clear()
    kept = [step() for _ in range(30)]  # 480 MiB
    assert asked, "what stays is charged"
    del kept
