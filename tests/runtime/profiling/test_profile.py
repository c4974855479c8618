"""Profiles: everything that runs is counted, exactly, by the line that recorded it."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import registry, spans
from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.llvm import functions
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.errors import ArgumentError, KernelError
from tensorframe.graph.device import Device
from tensorframe.runtime import evaluate
from tensorframe.runtime.execution import events, executor, observers
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.profiling import collection
from tensorframe.runtime.replays import replay
from tests.runtime.profiled import N, here, numbers


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
    monkeypatch.setattr(collection, "_WAITING", 50)
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
