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
from tensorframe.backends import registry
from tensorframe.runtime import pace, progress, terminal
from tensorframe.runtime.cache import PLANS
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.executor import _perform, _shown, runner_of
from tensorframe.runtime.under_way import Compute
from tensorframe.runtime.wording import amounts, step_words, time_words
from tensorframe.schedule.capture import capture
from tensorframe.schedule.peak import peak_bytes
from tensorframe.testing.boxed import BoxedBackend

ROOT = Path(__file__).parents[2]


class Noting:
    """A display that keeps what it was shown."""

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

    monkeypatch.setattr(progress, "displays", [display])
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_LOOK", 0.005)
    monkeypatch.setattr(progress, "_MUCH", 0)
    PLANS.clear()
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        yield drawn
    PLANS.clear()


@pytest.fixture
def slow():
    """A device on which each step waits until somebody has looked, or a while; `waits` are those that it had to do."""

    class Slow(BoxedBackend):
        waits = 0
        seen = staticmethod(lambda: False)

        def compile(self, region, device):
            inner = super().compile(region, device)

            def run(inputs, buffers):
                until = monotonic() + 20
                looks = self.seen()
                while self.seen() == looks and monotonic() < until:
                    sleep(0.001)
                return inner(inputs, buffers)

            return run

        def synchronize(self, device):
            self.waits += 1

    backend = Slow("slow")
    registry.register(backend)
    yield backend
    registry.unregister("slow")


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
    states = display.states
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
    assert not progress._Watch.computes


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

    monkeypatch.setattr(progress, "displays", [broken])
    slow.seen = lambda: bool(asked) and monotonic()
    x = tfr.asarray(np.ones((4, 4)), device=slow.device)
    assert (x + 1).sum().item() == 32.0
    assert len(asked) == 1


def test_the_option_turns_it_off(shown, monkeypatch):
    asked = []
    monkeypatch.setattr(progress, "displays", [lambda: asked.append(1)])
    with tfr.config.override(progress="off", small_size=0):
        chain("cpu").compute()
        sleep(0.05)
    assert not asked


def test_short_plans_run_as_ever_and_long_ones_are_counted():
    with tfr.config.override(fuse=False, small_size=0, small_nodes=0):
        short, request = plan_for(chain("cpu"))
        assert runner_of(short, request).perform is _perform
        x = tfr.asarray(np.ones((3000, 3000), np.float32))
        long, request = plan_for(tfr.sin(x) @ x)
        assert runner_of(long, request).perform is _shown
        ordered, request = plan_for(tfr.linalg.svdvals(x[:700, :700]))
        assert runner_of(ordered, request).perform is _shown
        many, request = plan_for(chain("cpu", 1200))
        assert runner_of(many, request).perform is _shown


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
    assert not progress._Watch.computes
    assert all(one.closed == 1 for one in shown)


def test_devices_are_waited_for_as_their_work_adds_up(shown, slow, monkeypatch):
    monkeypatch.setattr(pace, "_FIRST", 2 * 2 * 64 * 64 * 4)  # what two steps move
    monkeypatch.setattr(pace, "_SHORTEST", 0.0)
    monkeypatch.setattr(pace, "_LONGEST", np.inf)
    pace._paces.clear()
    slow.seen = monotonic  # at once
    with tfr.config.override(progress="off"):
        chain(slow.device, 8).compute()
        assert 3 <= slow.waits <= 5
        before = slow.waits
        chain(slow.device, 8).compute()
        assert 3 <= slow.waits - before <= 5
    pace._paces.clear()


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

    told = replace(
        state, done=2, steps=80, moved=3 << 30, bytes=10 << 30, memory=1 << 30, limit=8 << 30
    )
    assert step_words(told) == "step 3 of 80: cumulative_sum on cpu"
    assert amounts(told) == ["3 GiB of 10 GiB moved", "memory 1 GiB of 8 GiB"]
    assert amounts(replace(told, limit=None))[1] == "memory 1 GiB"
    assert amounts(replace(told, done=0, steps=1))[0] == "10 GiB to move"
    assert time_words(replace(told, elapsed=12.3, left=None)) == "0:12"
    assert time_words(replace(told, elapsed=61, left=3700)) == "1:01, about 1:01:40 left"


SCRIPT = """
import threading, numpy as np, tensorframe as tfr
from tensorframe.runtime import progress
progress._PATIENCE = 0.0
progress._LOOK = 0.001
x = tfr.asarray(np.ones((900, 900), np.float32))
y = x
for _ in range(20):
    y = y @ x / 900
y.compute()
print(any(one.name == "tensorframe progress" for one in threading.enumerate()))
"""


@pytest.mark.parametrize(("wanted", "drawn"), [("on", True), ("off", False), ("auto", False)])
def test_a_script_whose_output_goes_elsewhere(wanted, drawn):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": str(ROOT), "TENSORFRAME_PROGRESS": wanted},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("step" in done.stderr) is drawn
    assert done.stdout.strip() == str(wanted != "off")


def test_the_thread_goes_when_nothing_has_run_for_a_while(shown, monkeypatch):
    monkeypatch.setattr(progress, "_IDLE", 1)
    chain("cpu").compute()
    until = monotonic() + 20
    while progress._Watch.thread is not None and monotonic() < until:
        sleep(0.01)
    assert progress._Watch.thread is None
    names = {one.name for one in threading.enumerate()}
    assert "tensorframe progress" not in names or monotonic() < until
