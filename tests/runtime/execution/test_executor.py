"""The executor: memory is taken over and let go as the plan says, listeners hear every step, errors name theirs."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import registry
from tensorframe.backends.base import DeviceInfo, is_quiet, quiet
from tensorframe.backends.numpy.engine import CAPABILITIES, NumpyBackend
from tensorframe.errors import KernelError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import Trace
from tensorframe.ops.elementwise import ADD
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.execution import executor, observers
from tensorframe.runtime.execution.events import Moment, listen
from tensorframe.runtime.execution.executor import runner_of
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.progress import monitor
from tensorframe.runtime.replays.replay import Replay
from tensorframe.schedule.capture import capture


class Spy(NumpyBackend):
    """The NumPy engine under another name, which notes what its programs get and give."""

    name = "spy"

    def __init__(self):
        self.ran = []
        self.compiled = 0
        self.arrays = []
        self.is_quiet = False

    def probe(self):
        return [DeviceInfo(Device("spy"), "spy", CAPABILITIES)]

    def compile(self, region, device):
        self.compiled += 1
        inner = super().compile(region, device)

        def run(inputs, buffers):
            results = inner(inputs, buffers)
            self.ran.append((region, [buffer is not None for buffer in buffers]))
            self.arrays += [
                weakref.ref(result) for result in results if isinstance(result, np.ndarray)
            ]
            return results

        return quiet(run) if self.is_quiet else run


@pytest.fixture
def spy():
    backend = Spy()
    registry.register(backend)
    PLANS.clear()
    with tfr.config.override(small_size=0, small_nodes=0, fuse=False, rewrite=False):
        yield backend
    PLANS.clear()
    registry.unregister("spy")


def leaf(*shape, seed=0):
    return tfr.asarray(np.random.default_rng(seed).random(shape) + 0.5, device="spy")


def test_a_value_that_dies_gives_its_memory_to_the_next(spy):
    x = leaf(50, 40)
    tfr.sqrt(tfr.sqrt(tfr.sqrt(x))).compute()
    # the first writes to new memory, since the leaf is the user's
    assert [buffers for _, buffers in spy.ran] == [[False], [True], [True]]


def test_in_a_replay_too_and_never_an_argument(spy):
    jitted = tfr.jit(lambda x, y: tfr.sqrt(x + y) * y + x)
    for seed in range(3):
        x, y = leaf(50, 40, seed=seed), leaf(50, 40)
        before = x.numpy(copy=True), y.numpy(copy=True)
        result = jitted(x, y)
        np.testing.assert_array_equal(x.numpy(), before[0])
        np.testing.assert_array_equal(y.numpy(), before[1])
        np.testing.assert_allclose(result.numpy(), np.sqrt(sum(before)) * before[1] + before[0])
    assert [buffers for _, buffers in spy.ran] == [[False], [True], [True], [True]] * 3
    assert spy.compiled == 4


def test_what_somebody_else_sees_is_not_taken_over(spy):
    x = leaf(50, 40)
    y = tfr.sqrt(x)
    view = y.T
    tfr.compute(tfr.sqrt(y), view)
    assert not any(any(buffers) for _, buffers in spy.ran)
    np.testing.assert_array_equal(view.numpy(), np.sqrt(x.numpy()).T)


def test_values_are_freed_as_soon_as_nobody_needs_them(spy):
    alive = []

    def count(event):
        if event.moment is Moment.STEP_FINISHED:
            alive.append(sum(array() is not None for array in spy.arrays))

    x = leaf(50, 40)
    with listen(count):
        for _ in range(3):
            x = tfr.cumulative_sum(x, axis=0)  # which no step does in the memory of its operand
        total = tfr.sum(x)
        del x
        total.compute()
    assert alive == [1, 1, 1, 0]


def test_a_replay_keeps_nothing(spy):
    jitted = tfr.jit(lambda x: tfr.cumulative_sum(tfr.cumulative_sum(x, axis=0), axis=0))
    result = jitted(leaf(50, 40))
    del result
    gc.collect()
    assert [array() for array in spy.arrays] == [None, None]


def test_listeners_hear_replays(spy):
    jitted = tfr.jit(lambda x: tfr.sqrt(x) + 1)
    told = []
    with listen(lambda event: told.append((event.moment, event.step))):
        for _ in range(2):
            jitted(leaf(3))
    one_call = [
        (Moment.PLAN_STARTED, None),
        (Moment.STEP_STARTED, 0),
        (Moment.STEP_FINISHED, 0),
        (Moment.STEP_STARTED, 1),
        (Moment.STEP_FINISHED, 1),
        (Moment.PLAN_FINISHED, None),
    ]
    assert told == [(Moment.PLAN_MADE, None), *one_call, *one_call]


def test_a_plan_is_compiled_once(spy):
    for seed in range(3):
        (tfr.sqrt(leaf(30, seed=seed)) + 1).compute()
    assert spy.compiled == 2
    assert len(spy.ran) == 6


def test_what_fails_to_compile_names_the_line(spy, monkeypatch):
    def fail(*_):
        raise ValueError("no such instruction")

    monkeypatch.setattr(spy, "compile", fail)
    x = leaf(30)
    with pytest.raises(tfr.errors.KernelError, match="no such instruction") as caught:
        tfr.sqrt(x).compute()  # recorded here
    assert "# recorded here" in str(caught.value)
    with pytest.raises(tfr.errors.KernelError):
        tfr.jit(tfr.sqrt)(x)


def test_validation_checks_replays(spy):
    with tfr.config.override(validate=True):
        jitted = tfr.jit(lambda x: tfr.sqrt(tfr.sqrt(x)))
        jitted(leaf(30))
        assert not any(any(buffers) for _, buffers in spy.ran)  # inputs are read again


class TestWarnings:
    def test_numpy_s_are_silenced_around_programs_that_are_not_quiet(self, spy):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (leaf(3) / 0.0).tolist() == [np.inf] * 3
            assert tfr.jit(lambda x: x / 0.0)(leaf(3)).tolist() == [np.inf] * 3

    def test_quiet_programs_run_without(self, spy):
        spy.is_quiet = True
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            (leaf(3) / 0.0).compute()

    def test_views_are_quiet_by_nature(self, spy):
        request = capture([leaf(3, 4).T[1:].node])
        runner = runner_of(plan_of(request), request)
        assert runner.quiet
        assert not any(is_quiet(action[1]) for action in runner.actions)


class TestReplay:
    def test_nothing_to_compute(self):
        replay = Replay([], Trace("f", list, 0, 0))
        assert replay.run([]) == []
        assert replay.plan.steps == []

    def test_constants_are_bound_once(self, spy):
        x, y = leaf(4).node, leaf(4, seed=1).node
        root = Node(ADD, (x, y), (), (4,), x.dtype, x.device, None)
        replay = Replay([root], Trace("f", list, 0, 0))
        first, second = replay.run([]), replay.run([])
        assert first[0] is not second[0]
        np.testing.assert_array_equal(first[0].storage.handle, second[0].storage.handle)
        assert root.storage is None


def test_a_listener_that_fails_is_no_step_that_fails(spy):
    x = leaf(3) + 1

    def fail(event):
        if event.moment is Moment.STEP_STARTED:
            raise LookupError("in the listener")

    with listen(fail), pytest.raises(LookupError, match="in the listener"):
        x.compute()
    assert not x.is_computed
    assert x.sum().item() == (leaf(3) + 1).numpy().sum()


def test_a_runner_that_another_thread_settles_meanwhile_runs_unobserved(monkeypatch):
    def late(runner, *rest):
        runner.observers = ()
        return observers.observed(runner, *rest)

    monkeypatch.setattr(executor, "observed", late)
    x = tfr.asarray(np.arange(10_000.0), device="numpy")
    assert (tfr.sin(x) + x).numpy()[0] == 0.0


def test_observers_are_closed_when_a_step_fails(spy):
    """While somebody still holds the error, and with it the frames of the loop."""
    started = []

    def fail(_inputs, _buffers):
        started.append(len(monitor._Watch.computes))
        raise ArithmeticError("in the step")

    x = leaf(41) - 7
    request = capture((x.node,))
    plan = plan_of(request)
    runner = runner_of(plan, request)
    place, program, *rest = runner.actions[0]
    runner.actions = ((place, fail, *rest),)
    with listen(lambda event: None), pytest.raises(KernelError) as caught:
        x.compute()
    assert started == [1]
    assert monitor._Watch.computes == []
    assert runner.observers  # it has not run yet
    assert caught.value.__cause__.args == ("in the step",)
    runner.actions = ((place, program, *rest),)
    np.testing.assert_array_equal(x.numpy(), leaf(41).numpy() - 7)
