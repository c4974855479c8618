"""What takes long says how far it is, to whoever looks, and leaves nothing behind; what is short is left alone."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import registry, spans
from tensorframe.backends.base import Capabilities, DeviceInfo
from tensorframe.backends.device.engine import KernelBackend
from tensorframe.backends.spans import Work, spanned
from tensorframe.graph.device import Device
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.execution import throttling
from tensorframe.runtime.execution.events import listen
from tensorframe.runtime.execution.executor import _settled, runner_of
from tensorframe.runtime.execution.observers import shown as counting
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.progress import monitor, terminal
from tensorframe.runtime.progress.monitor import can_take_long
from tensorframe.runtime.progress.phases import Compute, Phase
from tensorframe.runtime.progress.phrases import amounts, step_words, time_words
from tensorframe.schedule import pipeline
from tensorframe.schedule.capture import capture
from tensorframe.schedule.peak import peak_bytes
from tensorframe.testing.boxed import BoxedBackend

ROOT = Path(__file__).parents[3]


class Noting:
    """A display that records the states that it draws."""

    def __init__(self):
        self.states = []
        self.closed = 0

    def show(self, state):
        assert not self.closed
        self.states.append(state)

    def close(self):
        self.closed += 1


@pytest.fixture
def shown(monkeypatch):
    """What is drawn of every compute, from its beginning on."""
    drawn = []

    def display():
        drawn.append(Noting())
        return drawn[-1]

    monkeypatch.setattr(monitor, "displays", [display])
    monkeypatch.setattr(monitor, "_PATIENCE", 0.0)
    monkeypatch.setattr(monitor, "_LOOK", 0.005)
    monkeypatch.setattr(monitor, "_MUCH", 0)
    PLANS.clear()
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0, progress="on"):
        yield drawn
    PLANS.clear()


@pytest.fixture
def slow():
    """A device on which each step waits until a state was drawn, or a while; `waits` counts calls of synchronize."""

    class Slow(BoxedBackend):
        waits = 0
        seen = staticmethod(lambda: False)

        def compile(self, region, device):
            inner = super().compile(region, device)

            def run(inputs, buffers):
                wait_for(self.seen)
                return inner(inputs, buffers)

            return run

        def synchronize(self, device):
            self.waits += 1

    backend = Slow("slow")
    registry.register(backend)
    yield backend
    registry.unregister("slow")


def wait_for(count):
    """Wait until a count has grown twice, or a while: what is drawn first may be of a moment ago."""
    until = monotonic() + 20
    for _ in range(2):
        before = count()
        while count() == before and monotonic() < until:
            sleep(0.001)


def plan_for(tensor):
    request = capture([tensor.node])
    return plan_of(request), request


def chain(device, steps=4):
    x = tfr.asarray(np.ones((64, 64), np.float32), device=device)
    for _ in range(steps):
        x = tfr.cumulative_sum(x, axis=0)
    return x


def test_every_step_is_shown_with_what_it_moves_and_holds(shown, slow):
    slow.seen = lambda: sum(len(one.states) for one in shown)
    chain(slow.device).compute()
    (display,) = shown
    assert display.closed == 1
    states = [state for state in display.states if state.phase is Phase.RUNNING]
    upload, *steps = sorted({state.done for state in states})
    assert [upload, *steps][-4:] == [1, 2, 3, 4]
    assert {state.steps for state in states} == {5}
    size = 64 * 64 * 4
    for state in states:
        if state.done:
            assert state.step == "cumulative_sum"
            assert state.device is slow.device
            # the transfer before writes, and perhaps reads, what each step reads and writes
            assert state.bytes - state.moved == 2 * size * (5 - state.done)
            assert state.memory == 2 * size
    shares = [state.share for state in states if state.share is not None]
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)
    assert all(state.left >= 0 for state in states if state.left is not None)


def test_what_is_drawn_is_over_when_the_compute_is(shown, slow):
    slow.seen = lambda: sum(len(one.states) for one in shown)
    for _ in range(3):
        chain(slow.device, 2).compute()
        assert all(one.closed == 1 for one in shown)
    assert not monitor._Watch.computes


def test_what_fails_is_closed_too(shown, slow, monkeypatch):
    def fail(*_):
        until = monotonic() + 20
        while not any(one.states for one in shown) and monotonic() < until:
            sleep(0.001)
        raise RuntimeError("no")

    monkeypatch.setattr(slow, "compile", lambda *_: fail)
    with pytest.raises(tfr.errors.KernelError):
        chain(slow.device).compute()
    assert [one.closed for one in shown] == [1]


def test_a_display_that_fails_is_left_alone(shown, slow, monkeypatch):
    asked = []

    def broken():
        asked.append(1)
        raise OSError("no terminal")

    monkeypatch.setattr(monitor, "displays", [broken])
    slow.seen = lambda: bool(asked) and monotonic()
    x = tfr.asarray(np.ones((4, 4)), device=slow.device)
    assert (x + 1).sum().item() == 32.0
    assert len(asked) == 1


def test_the_option_turns_it_off(shown, monkeypatch):
    asked = []
    monkeypatch.setattr(monitor, "displays", [lambda: asked.append(1)])
    with tfr.config.override(progress="off", small_size=0):
        chain("cpu").compute()
        sleep(0.05)
    assert not asked


def test_short_plans_run_as_ever_and_long_ones_are_counted():
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        x = tfr.asarray(np.ones((3000, 3000), np.float32))
        for long in (
            tfr.sin(x) @ x,
            tfr.linalg.svdvals(x[:700, :700]),
            chain("cpu", 1200),
        ):
            plan, _ = plan_for(long)
            assert can_take_long(plan)
        plan, request = plan_for(chain("cpu"))
        assert not can_take_long(plan)
        # the first run may compile kernels
        assert runner_of(plan, request).observers == (counting, _settled)
        chain("cpu").compute()
        assert runner_of(plan, request).observers == ()


def test_a_long_plan_is_counted_every_time(shown):
    plan, request = plan_for(chain("cpu"))
    assert runner_of(plan, request).observers == (counting, _settled)
    chain("cpu").compute()
    assert runner_of(plan, request).observers == (counting,)


def test_planning_is_shown_and_what_follows_in_the_same_line(shown, slow, monkeypatch):
    def drawn():
        return sum(len(one.states) for one in shown)

    slow.seen = drawn
    make_plan = pipeline.make_plan

    def slowly(request):
        wait_for(drawn)
        return make_plan(request)

    monkeypatch.setattr(pipeline, "make_plan", slowly)
    chain(slow.device, 2).compute()
    (display,) = shown
    first, *_, last = display.states
    assert step_words(first) == "planning 4 operations"
    assert not amounts(first)
    assert first.share is None
    assert last.phase is Phase.RUNNING
    elapsed = [state.elapsed for state in display.states]
    assert elapsed == sorted(elapsed)


def test_looking_at_each_step_before_the_first_runs_is_shown(shown, slow, monkeypatch):
    compiled = slow.compile

    def slowly(region, device):
        wait_for(lambda: sum(len(one.states) for one in shown))
        return compiled(region, device)

    monkeypatch.setattr(slow, "compile", slowly)
    slow.seen = monotonic  # at once
    chain(slow.device, 3).compute()
    states = [state for one in shown for state in one.states if state.phase is Phase.PREPARING]
    assert {state.done for state in states} >= {1, 2, 3}
    assert step_words(states[-1]) == "preparing 4/4: cumulative_sum on slow"
    assert states[-1].share == 0.75


def test_kernels_that_are_compiled_are_counted(shown, slow, monkeypatch):
    compiled = slow.compile

    def compiling():
        return [state for one in shown for state in one.states if state.phase is Phase.COMPILING]

    def first_slowly(region, device):
        run = compiled(region, device)

        def first(inputs, buffers):
            with spanned(Work.LAYOUT, "loops", "slow"), spanned(Work.COMPILE, "kernel", "slow"):
                wait_for(lambda: len(compiling()))
            return run(inputs, buffers)

        return first

    monkeypatch.setattr(slow, "compile", first_slowly)
    slow.seen = monotonic
    chain(slow.device, 4).compute()
    states = compiling()
    # the upload is no kernel
    assert {(state.done, state.steps) for state in states} >= {(index, 4) for index in range(4)}
    assert step_words(states[-1]) == "compiling 4/4: cumulative_sum on slow"
    assert not amounts(states[-1])
    assert states[-1].share == 0.75
    assert states[-1].left > 0
    assert not spans.making


def test_kernels_of_another_thread_are_not_counted():
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        plan, _ = plan_for(chain("cpu"))
    compute = Compute(plan)
    spans.making.add(-1)
    compute.look()
    spans.making.discard(-1)
    assert compute.state().phase is Phase.RUNNING


@pytest.mark.parametrize("watch", ["validate", "listener"])
def test_whoever_checks_or_listens_sees_how_far_it_is_too(shown, slow, watch):
    tensor = chain(slow.device, 3)
    heard = []
    slow.seen = lambda: sum(len(one.states) for one in shown)
    if watch == "validate":
        with tfr.config.override(validate=True):
            tensor.compute()
    else:
        with listen(heard.append):
            tensor.compute()
        assert heard
    assert {state.done for one in shown for state in one.states} >= {1, 2, 3}
    assert not monitor._Watch.computes


def test_without_a_display_no_thread_polls(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not monitor.is_displayed()
    monkeypatch.setattr(sys, "stderr", None)
    assert not monitor.is_displayed()
    monkeypatch.setattr(sys, "stderr", Screen())
    assert monitor.is_displayed()
    with tfr.config.override(progress="off"):
        assert not monitor.is_displayed()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with tfr.config.override(progress="on"):
        assert monitor.is_displayed()


def test_memory_under_way_is_that_of_the_estimate():
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        plan, _ = plan_for(chain("cpu"))
    live = Compute(plan)._live
    assert len(live) == len(plan.steps)
    assert {device: max(one[device] for one in live) for device in live[0]} == peak_bytes(plan)


def test_a_long_plan_interrupted_is_no_longer_under_way(slow, shown, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(slow, "compile", lambda *_: interrupted)
    with pytest.raises(tfr.errors.CancelledError):
        chain(slow.device).compute()
    assert not monitor._Watch.computes
    assert all(one.closed == 1 for one in shown)


def test_devices_are_waited_for_as_their_work_adds_up(shown, slow, monkeypatch):
    monkeypatch.setattr(throttling, "_FIRST", 2 * 2 * 64 * 64 * 4)  # what two steps move
    monkeypatch.setattr(throttling, "_SHORTEST", 0.0)
    monkeypatch.setattr(throttling, "_LONGEST", np.inf)
    throttling._paces.clear()
    slow.seen = monotonic  # at once
    with tfr.config.override(progress="off"):
        chain(slow.device, 8).compute()
        assert 3 <= slow.waits <= 5
        before = slow.waits
        chain(slow.device, 8).compute()
        assert 3 <= slow.waits - before <= 5
    throttling._paces.clear()


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


@pytest.fixture
def state():
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        plan, _ = plan_for(chain("cpu"))
    return Compute(plan).state()


def test_a_terminal_gets_a_line_and_is_left_clean(state, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    line = terminal.terminal(always=False)
    line.show(state)
    assert "step 1 of 4: cumulative_sum on cpu" in screen.getvalue()
    assert "0:00" in screen.getvalue()
    line.close()
    *_, last = screen.getvalue().split("\r")
    assert last.strip() == ""


def test_what_is_no_terminal_gets_nothing_unless_it_is_wanted(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert terminal.terminal(always=False) is None
    assert terminal.terminal(always=True) is not None
    monkeypatch.setattr(sys, "stderr", None)
    assert terminal.terminal(always=True) is None


def test_words(state):
    from dataclasses import replace

    running = replace(
        state, done=2, steps=80, moved=3 << 30, bytes=10 << 30, memory=1 << 30, limit=8 << 30
    )
    assert step_words(running) == "step 3 of 80: cumulative_sum on cpu"
    assert amounts(running) == ["3 GiB of 10 GiB moved", "memory 1 GiB of 8 GiB"]
    assert amounts(replace(running, limit=None))[1] == "memory 1 GiB"
    assert amounts(replace(running, done=0, steps=1))[0] == "10 GiB to move"
    assert time_words(replace(running, elapsed=12.3, left=None)) == "0:12"
    assert time_words(replace(running, elapsed=61, left=3700)) == "1:01, about 1:01:40 left"


SCRIPT = """
import sys, threading, time, numpy as np, tensorframe as tfr
from tensorframe.runtime.progress import monitor

monitor._PATIENCE, monitor._LOOK = 0.0, 0.001
looked = threading.Event()
monitor.displays.append(looked.set)  # it has no display: the next is asked
x = tfr.asarray(np.ones((900, 900), np.float32))
until = time.monotonic() + float(sys.argv[1])
while True:  # a fast or a busy machine is done before the thread has polled
    y = x
    for _ in range(20):
        y = y @ x / 900
    y.compute()
    if looked.is_set() or time.monotonic() > until:
        break
print(looked.is_set())
"""


@pytest.mark.parametrize(
    ("wanted", "drawn", "seconds"), [("on", True, 60), ("off", False, 0), ("auto", False, 0)]
)
def test_a_script_whose_output_goes_elsewhere(wanted, drawn, seconds):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(seconds)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TENSORFRAME_PROGRESS": wanted},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("step" in done.stderr) is drawn
    # without a display, no thread polls
    assert done.stdout.strip() == str(drawn)


def test_the_thread_goes_when_nothing_has_run_for_a_while(shown, monkeypatch):
    monkeypatch.setattr(monitor, "_IDLE", 1)
    chain("cpu").compute()
    until = monotonic() + 20
    while monitor._Watch.thread is not None and monotonic() < until:
        sleep(0.01)
    assert monitor._Watch.thread is None
    names = {one.name for one in threading.enumerate()}
    assert "tensorframe progress" not in names or monotonic() < until


@pytest.mark.parametrize("where", ["probe", "open"])
def test_opening_a_device_is_shown_as_that(shown, where):
    looked = staticmethod(lambda: sum(len(one.states) for one in shown))

    class Slow(KernelBackend):
        name = "slowly"

        def probe(self):
            if where == "probe":
                wait_for(looked)
            return [DeviceInfo(Device("slowly"), "opens slowly", Capabilities())]

        def open_queue(self, device):
            if where == "open":
                wait_for(looked)
            raise RuntimeError("no device after all")

    registry.register(Slow())
    try:
        x = tfr.asarray(np.ones((64, 64), np.float32), device="slowly")
        with pytest.raises(RuntimeError, match="no device after all"):
            (x + 1).compute()
    finally:
        registry.unregister("slowly")
    opening = [state for one in shown for state in one.states if state.phase is Phase.OPENING]
    assert opening
    assert {step_words(state) for state in opening} == {"opening slowly"}
    assert not any(amounts(state) for state in opening)
    assert all(one.closed == 1 for one in shown)
