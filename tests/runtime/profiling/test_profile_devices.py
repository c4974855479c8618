"""Profiles of devices: transfers, memory, waits and what is compiled for them."""

from __future__ import annotations

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.device.memory import Pool, rounded
from tensorframe.backends.device.watching import Watch
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import Device
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.devices import on_every_device
from tests.backends.test_device_memory import Counting
from tests.runtime.profiled import N, here, numbers


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
def test_kernels_have_the_time_that_their_device_counts(device):
    x = numbers(N, device=device)
    tfr.sin(x + 1).compute()
    with tfr.config.override(fuse=False), tfr.profile() as p:
        for _ in range(3):
            tfr.sin(x + 1).compute()
    kernels = [one for one in p.records if one.kind == "kernel"]
    assert [one.calls for one in kernels] == [3, 3]
    for one in kernels:
        assert one.device_seconds is not None
        assert 0 < one.device_seconds <= one.seconds
    assert "on device" in str(p)
    assert backend_of(Device(device)).open_device(Device(device)).queue.clocks == {}


def test_what_devices_count_is_left_out_where_none_does(boxed):
    x = tfr.asarray(np.ones(10, np.float32), device="boxed").compute()
    with tfr.profile() as p:
        tfr.cos(x + 1).compute()
    assert [one.device_seconds for one in p.records] == [None]
    assert "on device" not in str(p)


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
        (record.name, f"test_profile_devices.py, line {line}")
    }
    (memory,) = [one for one in p.memory if one.device == device]
    assert not memory.is_planned
    assert memory.peak >= 8 * N
    (copy,) = [one for one in p.records if one.kind == "transfer"]
    assert (copy.device, copy.bytes_written) == (f"{device} -> host", 4 * N)


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
