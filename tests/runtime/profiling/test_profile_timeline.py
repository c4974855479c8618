"""Timelines of profiles: slices nest in lanes of threads and devices, times add up, and traces have the format."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import tensorframe as tfr
from tests.runtime.profiled import N, numbers


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
        "test_profile_timeline.py" in kernel["args"]["line"]
        for kernel in kernels
        if kernel["name"] == "add"
    )
