"""Profiles: everything that runs is counted, exactly, by the line that recorded it, and times add up to the whole."""

from __future__ import annotations

import inspect
import json
import threading
import time

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import registry, spans
from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.device.memory import Pool, rounded
from tensorframe.backends.device.watching import Watch
from tensorframe.backends.llvm import functions
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.errors import ArgumentError, KernelError
from tensorframe.graph.device import Device
from tensorframe.runtime import evaluate, events, executor, observers, profile, replay
from tensorframe.runtime.cache import PLANS
from tensorframe.testing.boxed import BoxedBackend
from tests.backends.devices import on_every_device
from tests.backends.test_device_memory import Counting

N = 100_000


def numbers(*shape, seed=0, device=None):
    values = np.random.default_rng(seed).random(shape, dtype=np.float32)
    return tfr.asarray(values, device=device).compute()


def here():
    """The line that calls this."""
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture
def boxed():
    """A device with memory of its own, which says how often it was waited for."""

    class Waiting(BoxedBackend):
        waits = 0

        def synchronize(self, device):
            self.waits += 1

    backend = Waiting("boxed")
    registry.register(backend)
    PLANS.clear()
    yield backend
    PLANS.clear()
    registry.unregister("boxed")


@pytest.fixture
def failing():
    """A device on which square roots do not run."""

    class Failing(NumpyBackend):
        name = "failing"

        def probe(self):
            return [DeviceInfo(Device("failing"), "fails", CAPABILITIES)]

        def compile(self, region, device):
            inner = super().compile(region, device)

            def run(inputs, buffers):
                if any(op.op.name == "sqrt" for op in region.ops):
                    raise RuntimeError("no roots here")
                return inner(inputs, buffers)

            return run

    registry.register(Failing())
    with tfr.config.override(small_size=0, fuse=False):
        yield
    PLANS.clear()
    registry.unregister("failing")


def test_a_kernel_has_the_bytes_and_operations_of_its_plan_and_the_users_line():
    x = numbers(N)
    with tfr.profile() as p:
        line = here() + 1
        y = tfr.exp(x) * x
        plan = y.explain()
        y.compute()
    (record,) = p.records
    assert (record.kind, record.name, record.device) == ("kernel", "exp multiply", "cpu")
    assert (record.line, record.source) == (f"test_profile.py, line {line}", "y = tfr.exp(x) * x")
    assert (record.bytes_read, record.bytes_written) == (plan.bytes_read, plan.bytes_written)
    assert record.bytes_read + record.bytes_written == 8 * N
    assert record.flops == plan.flops
    assert record.bytes_per_second == pytest.approx(8 * N / record.mean)
    assert record.flops_per_second == pytest.approx(plan.flops / record.mean)


def test_calls_are_added_up_however_often_logs_are_emptied(monkeypatch):
    monkeypatch.setattr(profile, "_WAITING", 50)
    x = numbers(N)
    with tfr.profile() as p:
        for _ in range(100):
            (x + 1).compute()
    (record,) = p.records
    assert record.calls == 100
    assert 0 < record.fastest <= record.mean <= record.slowest <= record.seconds
    steps = [one for one in p.slices if one.kind == "kernel"]
    assert len(steps) == 100
    taken = sum(step.ended - step.began for step in steps) - p.summary.making * 1e9
    assert taken == pytest.approx(record.seconds * 1e9, rel=1e-6)


def test_the_plan_keeps_the_times_of_its_last_run():
    PLANS.clear()
    x = numbers(N)
    (x + 1).compute()
    y = x + 1
    plan = y.explain()
    assert plan.steps[0].seconds is None
    with tfr.profile() as p:
        y.compute()
    assert plan.steps[0].seconds == pytest.approx(p.records[0].seconds)


def test_runs_replays_and_plans_are_counted():
    PLANS.clear()
    x = numbers(N)
    step = tfr.jit(lambda u, rate: u + rate * tfr.sin(u))
    with tfr.profile() as p:
        for _ in range(5):
            (x * 2).compute()
        for _ in range(7):
            x = step(x, 0.5)
    found = p.summary
    assert (found.runs, found.replays) == (12, 7)
    assert (found.plans_made, found.plans_found) == (2, 4)
    assert found.results == 12 * 4 * N
    assert sorted(record.calls for record in p.records) == [5, 7]
    assert sorted(runs for _, runs in p.plans) == [5, 7]


def test_lines_that_share_a_plan_have_rows_of_their_own():
    x = numbers(N)
    with tfr.profile() as p:
        first = here() + 1
        (x - 7).compute()
        (x - 7).compute()
    assert {record.line for record in p.records} == {
        f"test_profile.py, line {line}" for line in (first, first + 1)
    }
    assert len(p.plans) == 1


def test_small_graphs_are_counted_too():
    x = tfr.asarray([1.0, 2.0])
    with tfr.profile() as p:
        for number in range(3):
            (x * number + 1).compute()
    (record,) = p.records
    assert (record.kind, record.calls, record.bytes_per_second) == ("small", 3, None)
    assert record.source == "(x * number + 1).compute()"
    assert (p.summary.runs, p.summary.small_runs) == (0, 3)


def test_times_add_up_to_the_whole():
    x = numbers(300, 300)
    # what several threads do at the same time is added up: that may be more than the whole
    with tfr.config.override(threads=1), tfr.profile() as p:
        tfr.softmax(x @ x).compute()
        tfr.sum(tfr.asarray([1.0, 2.0])).compute()
        tfr.jit(lambda u: u + 1)(x)
    found = p.summary
    parts = [*found.steps.values(), found.opening, found.planning, found.making]
    parts += [found.overhead, found.outside]
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(found.seconds)
    assert sum(record.seconds for record in p.records) == pytest.approx(sum(found.steps.values()))


def test_slices_nest():
    x = numbers(N)
    with tfr.profile() as p:
        for _ in range(3):
            tfr.sum(tfr.sqrt(x) + 1, axis=0).compute()
    runs = [one for one in p.slices if one.kind == "run"]
    steps = [one for one in p.slices if one.kind == "kernel"]
    assert len(runs) == 3
    assert all(0 <= one.began <= one.ended <= p.summary.seconds * 1e9 for one in p.slices)
    for step in steps:
        assert any(run.began <= step.began and step.ended <= run.ended for run in runs)


def test_profiles_nest():
    x = numbers(N)
    with tfr.profile() as outer:
        (x + 1).compute()
        with tfr.profile() as inner:
            (x + 2).compute()
        (x + 3).compute()
    assert [record.calls for record in inner.records] == [1]
    assert sum(record.calls for record in outer.records) == 3
    assert inner.summary.seconds <= outer.summary.seconds


def test_threads_are_told_apart():
    x = numbers(N)
    with tfr.profile() as p:
        thread = threading.Thread(target=(x + 1).compute, name="another")
        thread.start()
        thread.join()
        (x + 2).compute()
    assert sum(record.calls for record in p.records) == 2
    lanes = {one.lane.name for one in p.slices if one.kind == "kernel"}
    assert lanes == {"another", threading.current_thread().name}


def _run(profile, function):
    with profile:
        function()


def test_an_error_leaves_what_ran_until_then(failing):
    x = numbers(10, device="failing")
    p = tfr.profile()
    with pytest.raises(KernelError):
        _run(p, lambda: ((x + 1).compute(), tfr.sqrt(x * 2).compute()))
    assert {record.name: record.calls for record in p.records} == {"add": 1, "multiply": 1}
    assert p.summary.unfinished == 1
    assert "broke off" in str(p)
    assert not spans.collectors


def test_an_error_of_the_users_is_not_swallowed():
    p = tfr.profile()
    with pytest.raises(ZeroDivisionError):
        _run(p, lambda: ((numbers(N) + 1).compute(), 1 / 0))
    assert [record.calls for record in p.records if record.name == "add"] == [1]
    assert not spans.collectors


def test_transfers_have_their_bytes_whether_a_plan_knows_of_them_or_not(boxed):
    values = np.ones(1000, np.float32)
    with tfr.profile() as p:
        x = tfr.asarray(values, device="boxed")
        y = (x + 1).compute()
        y.numpy()
        y.numpy()
    moved = {record.device: record for record in p.records if record.kind == "transfer"}
    assert {name: one.bytes_written * one.calls for name, one in moved.items()} == {
        "cpu -> boxed": 4000,
        "boxed -> host": 8000,
    }
    assert moved["boxed -> host"].calls == boxed.counts["downloads"] == 2
    assert p.summary.steps["transfer"] == pytest.approx(sum(one.seconds for one in moved.values()))


def test_transfers_have_the_line_that_asked_for_them_or_needed_them(boxed):
    x = tfr.asarray(np.ones(1000, np.float32))
    with tfr.profile() as p:
        there = x.to_device("boxed")
        back = (there + 1).to_device("cpu")
        back.compute()
        tfr.asarray(np.ones(2000, np.float32), device="boxed").compute()
    lines = [(record.device, record.source) for record in p.records if record.kind == "transfer"]
    assert sorted(lines) == [
        ("boxed -> cpu", 'back = (there + 1).to_device("cpu")'),
        ("cpu -> boxed", 'tfr.asarray(np.ones(2000, np.float32), device="boxed").compute()'),
        ("cpu -> boxed", 'there = x.to_device("boxed")'),
    ]


def test_devices_that_work_on_their_own_are_waited_for_after_each_step_while_somebody_looks(boxed):
    x = tfr.asarray(np.ones(10, np.float32), device="boxed").compute()
    with tfr.config.override(fuse=False):
        tfr.sin(x + 1).compute()
        assert boxed.waits == 0
        with tfr.profile():
            tfr.cos(x + 1).compute()
    assert boxed.waits == 2


@on_every_device
def test_devices_with_kernels_count_their_memory_and_say_what_they_compile(device):
    PLANS.clear()
    x = numbers(N, device=device)
    with tfr.profile() as p:
        line = here() + 1
        y = (x * 4321 - tfr.exp(x)).compute()
        y.numpy()
    (record,) = [one for one in p.records if one.kind == "kernel"]
    assert (record.device, record.calls, record.bytes_written) == (device, 1, 4 * N)
    assert {(one.step, one.line) for one in p.kernels_made} <= {
        (record.name, f"test_profile.py, line {line}")
    }
    (memory,) = [one for one in p.memory if one.device == device]
    assert not memory.is_planned
    assert memory.peak >= 8 * N
    (copy,) = [one for one in p.records if one.kind == "transfer"]
    assert (copy.device, copy.bytes_written) == (f"{device} -> host", 4 * N)


def test_without_a_profile_no_time_is_taken_and_nothing_stands_between_steps(monkeypatch):
    asked = []

    def clock():
        asked.append(1)
        return time.perf_counter_ns()

    def refuse(*_):
        raise AssertionError("nobody asked for times")

    x, step = numbers(N), tfr.jit(lambda u: u * 2)
    step(x), (x + 1).compute(), _two_steps(x)  # plans are made
    for module in (evaluate, executor, observers, events, replay):
        monkeypatch.setattr(module, "perf_counter_ns", clock)
    with monkeypatch.context() as patched:
        patched.setattr(executor, "observed", refuse)
        step(x), (x + 1).compute(), _two_steps(x)
        assert (tfr.asarray([1.0]) + 1).item() == 2
    assert not asked
    with tfr.profile():
        step(x), (x + 1).compute()
        assert len(asked) == 8  # of each run the beginning, before and after the step, the end
        _two_steps(x)
        assert len(asked) == 13


def _two_steps(x):
    with tfr.config.override(fuse=False):
        return tfr.sin(x + 3).compute()


def test_profiling_does_not_change_what_is_reused_or_freed():
    x = numbers(N)
    with tfr.profile():
        found = tfr.sqrt(tfr.sqrt(x) + 1).numpy()
    np.testing.assert_array_equal(found, tfr.sqrt(tfr.sqrt(x) + 1).numpy())


def test_kernels_that_are_compiled_or_loaded_name_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr(functions, "_functions", {})
    x = numbers(N, device="llvm")
    with tfr.config.override(cache_dir=str(tmp_path)):
        PLANS.clear()
        with tfr.profile() as first:
            line = here() + 1
            tfr.tanh(x).compute()
        functions._functions.clear()
        PLANS.clear()
        with tfr.profile() as second:
            tfr.tanh(x).compute()
    compiled = [one for one in first.kernels_made if not one.from_disk]
    assert compiled
    assert {one.step for one in compiled} == {"tanh"}
    assert {one.line for one in compiled} == {f"test_profile.py, line {line}"}
    assert all(one.from_disk for one in second.kernels_made)
    kernels = {one.name for one in compiled if one.name.startswith("k_")}
    assert kernels == {one.name for one in second.kernels_made}
    # the time of a kernel is not that of making it
    assert first.records[0].seconds + first.summary.making <= first.summary.seconds
    assert first.summary.making > 0


def test_the_timeline_is_bounded_and_sums_are_not():
    x = tfr.asarray([1.0])
    with tfr.profile(timeline=20) as p:
        for number in range(500):
            (x + number).compute()
    assert sum(record.calls for record in p.records) == 500
    shown = [one for one in p.slices if one.kind == "small"]
    assert len(shown) == 10  # of two times each
    assert p.dropped == 490
    assert max(one.ended for one in shown) <= p.kept_until * 1e9
    assert "first 20" in str(p)


def test_a_profile_can_be_looked_at_while_it_runs():
    x = numbers(N)
    with tfr.profile() as p:
        (x + 1).compute()
        assert [record.calls for record in p.records] == [1]
        (x + 1).compute()
        assert sum(record.calls for record in p.records) == 2
        assert p.summary.seconds > 0


def test_a_profile_is_used_once():
    p = tfr.profile()
    assert "nothing has run" in repr(p)
    with pytest.raises(ArgumentError, match="nothing has run"):
        _ = p.records
    with p:
        pass
    with pytest.raises(ArgumentError, match="once"), p:
        pass
    assert "nothing computed" in repr(p)
    with pytest.raises(ArgumentError):
        tfr.profile(timeline=-1)


def test_a_trace_has_the_documented_format(tmp_path, boxed):
    x = tfr.asarray(np.ones(100, np.float32), device="boxed")
    with tfr.profile() as p:
        (x + 1).compute().numpy()
        (numbers(N) * 2).compute()
    p.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert all({"name", "ph", "ts", "pid", "tid", "args"} <= set(event) for event in events)
    assert {event["ph"] for event in events} == {"X", "M"}
    complete = [event for event in events if event["ph"] == "X"]
    assert all(one["dur"] >= 0 and one["ts"] >= 0 and one["cat"] for one in complete)
    assert all(type(event[key]) is int for event in events for key in ("pid", "tid"))
    named = {(event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    for one in complete:  # every lane has a name
        assert ("process_name", one["pid"], one["tid"]) in named
        assert ("thread_name", one["pid"], one["tid"]) in named
    groups = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert groups >= {"runs", "planning", "boxed", "cpu", "transfers"}
    kernels = [one for one in complete if one["cat"] == "kernel"]
    assert {kernel["args"]["bytes written"] for kernel in kernels} >= {400, 4 * N}
    assert all(
        "test_profile.py" in kernel["args"]["line"] for kernel in kernels if kernel["name"] == "add"
    )


def test_memory_of_devices_is_watched_between_two_moments():
    pool = Pool(Counting(), "counted")
    early = pool.block(100_000)
    del early
    watch = Watch()
    first, second = pool.block(5000), pool.block(5000)
    del first
    later = Pool(Counting(), "later")
    held = later.block(300)
    found = watch.statistics()
    watch.end()
    third = pool.block(1 << 20)
    assert found["counted"].peak == 2 * rounded(5000)
    assert found["counted"].allocations == 2
    assert found["later"].peak == held.nbytes
    assert watch.statistics()["counted"].peak == 2 * rounded(5000)
    del second, third


def test_memory_of_the_host_is_what_plans_say():
    x = numbers(N)
    with tfr.profile() as p:
        y = tfr.sin(x) + 1
        peak = y.explain().peak
        y.compute()
    (memory,) = [one for one in p.memory if one.device == "cpu"]
    assert memory.is_planned
    assert {Device("cpu"): memory.peak} == peak


class TestOpeningDevices:
    """The first use of a device loads drivers and gets it ready: a line of its own, and no other's."""

    @pytest.fixture
    def slow_to_open(self):
        """A device like those with queues of their own, which has not been opened yet, and takes a while to."""
        from tests.backends.devices import FOUND

        if "opencl" not in FOUND:
            pytest.skip("no OpenCL device")
        from tensorframe.backends.opencl.engine import OpenClBackend

        class Slow(OpenClBackend):
            def open_queue(self, device):
                time.sleep(0.2)
                queue = super().open_queue(device)
                with spans.spanned(spans.Work.COMPILE, "a trial", "opencl"):
                    time.sleep(0.1)
                return queue

        registry.register(Slow(), "opencl", override=True)
        PLANS.clear()
        yield "opencl"
        PLANS.clear()
        registry.unregister("opencl")

    @pytest.mark.parametrize("by", ["upload", "plan"])
    def test_opening_is_its_own_line(self, slow_to_open, by):
        with tfr.profile() as p:
            if by == "upload":
                x = tfr.asarray(np.ones(1000, np.float32), device=slow_to_open)
            else:
                x = tfr.arange(1000.0, device=slow_to_open)
            with tfr.config.override(small_size=0):
                (x + 1).compute()
        found = p.summary
        assert found.opening >= 0.3
        assert found.opened == ("opencl",)
        assert sum(found.steps.values()) + found.planning + found.making < found.seconds - 0.3
        assert found.accounted == pytest.approx(found.seconds, rel=0.02)
        assert not any(one.name == "a trial" for one in p.kernels_made)
        assert "opening devices" in repr(p)
        assert any("opening devices" in text for text in (p._repr_html_(),))
        opening = [one for one in p.slices if one.lane.group == "devices opened"]
        assert [one.name for one in opening if one.ended - one.began > 3e8] == ["opening opencl"]

    def test_a_second_use_opens_nothing(self, slow_to_open):
        tfr.ones(1000, device=slow_to_open).compute()
        with tfr.profile() as p:
            (tfr.arange(1000.0, device=slow_to_open) + 1).compute()
        assert (p.summary.opening, p.summary.opened) == (0.0, ())
        assert "opening" not in repr(p)

    def test_finding_a_backends_devices_is_opening_too(self):
        from tests.backends.fakes import Fake, info, registered

        class Slow(Fake):
            def probe(self):
                time.sleep(0.1)
                return super().probe()

        with registered(Slow("found", [info("found")])):
            with tfr.profile() as p:
                tfr.ones(3, device="found")
                tfr.ones(3, device="found")
            assert p.summary.opened == ("found",)
            assert p.summary.opening >= 0.1
            assert p.summary.outside < p.summary.seconds - 0.1
            (one,) = [one for one in p.slices if one.lane.group == "devices opened"]
            assert one.name == "finding devices of found"

    def test_a_device_that_does_not_open_is_told_and_forgotten(self, slow_to_open, monkeypatch):
        backend = registry.backend_of(Device(slow_to_open))

        def broken(device):
            raise RuntimeError("no queue")

        with monkeypatch.context() as patches:
            patches.setattr(backend, "open_queue", broken)
            with tfr.profile() as p, pytest.raises(Exception, match="no queue"):
                tfr.asarray(np.ones(10_000, np.float32), device=slow_to_open).compute()
            assert p.summary.opened == ("opencl",)
        assert not spans.opening
        assert tfr.ones(3, device=slow_to_open).tolist() == [1.0, 1.0, 1.0]
