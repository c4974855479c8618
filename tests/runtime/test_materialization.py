"""What several evaluations need is stored: work is not done again and again, and what is looked at stays cheap."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import OutOfMemoryError
from tensorframe.runtime import evaluate
from tensorframe.runtime.execution.events import Event, Moment, listen
from tensorframe.runtime.plan_cache import PLANS
from tests.backends.devices import FOUND

HOST = ["cpu", "numpy", "llvm"]
SIZE = 20_000  # more than runs without a plan


@dataclass
class Work:
    """What was done meanwhile: plans that were made and run, ops and operations."""

    made: int = 0
    run: int = 0
    ops: int = 0
    flops: list[float] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def note(self, event: Event) -> None:
        plan = event.plan
        if event.moment is Moment.PLAN_MADE:
            self.made += 1
        elif event.moment is Moment.PLAN_STARTED:
            self.run += 1
            self.ops += sum(len(step.region.ops) for step in plan.steps)
            self.flops.append(plan.flops)
            self.outputs.append(len(plan.outputs))


@contextmanager
def counted() -> Iterator[Work]:
    work = Work()
    with listen(work.note):
        yield work


@pytest.fixture(autouse=True)
def no_plans() -> None:
    PLANS.clear()


@pytest.mark.parametrize("device", [*HOST, *FOUND])
def test_a_loop_that_reads_an_element_does_each_step_at_most_three_times(device):
    steps = 24
    x = tfr.zeros((SIZE,), device=device)
    found = []
    with counted() as work:
        for _ in range(steps):
            x = x * 0.5 + 1
            found.append(float(x[-1]))
    expected = 0.0
    for value in found:
        expected = expected * 0.5 + 1
        assert value == pytest.approx(expected)
    # two ops for each step and a few that take the element, instead of 600
    assert work.ops <= 10 * steps
    assert work.made <= 4


@pytest.mark.parametrize("size", [10, 1000, SIZE, 1_000_000])
def test_reading_in_a_loop_is_linear(size):
    """Four times as many steps are four times as many ops, and no further plans: each step costs the same."""

    def loop(steps: int) -> Work:
        x = tfr.zeros((size,))
        with counted() as work:
            for _ in range(steps):
                x = x * 0.5 + 1
                float(x[0])
        return work

    few, many = loop(100), loop(400)
    assert many.ops <= 5 * max(few.ops, 20)
    assert many.made <= few.made + 2
    assert few.ops < 100 * 40


def test_a_small_tensor_in_a_loop_is_stored_on_the_way():
    x, stored = tfr.zeros((10,)), 0
    for _ in range(60):
        x = x * 0.5 + 1
        float(x[0])
        stored += x.is_computed
    assert stored >= 15


@pytest.mark.parametrize("first", ["loss", "step"])
def test_training_that_prints_its_loss_takes_the_same_for_each_step(first):
    data = tfr.asarray(np.random.default_rng(0).standard_normal((500, 30), dtype=np.float32))
    wanted = data @ tfr.ones((30, 20))
    weights = tfr.zeros((30, 20))
    losses, each = [], []
    for _ in range(12):
        with counted() as work:
            loss = tfr.mean((data @ weights - wanted) ** 2)
            if first == "loss":
                losses.append(float(loss))
            weights = weights - 1e-3 * (tfr.matrix_transpose(data) @ (data @ weights - wanted))
            if first == "step":
                losses.append(float(loss))
        each.append(sum(work.flops))
    assert losses == sorted(losses, reverse=True)
    assert max(each[6:]) <= 1.1 * max(each[:6])


def simulation() -> tfr.Tensor:
    draws = tfr.random.normal((4000, 16), key=tfr.random.key(1))
    return tfr.exp(tfr.cumulative_sum(draws, axis=1) * 0.1)


@pytest.mark.parametrize("device", ["cpu", "llvm", *FOUND])
@pytest.mark.parametrize("named", [True, False])
def test_the_mean_and_the_deviation_of_a_simulation_run_it_once(device, named):
    with tfr.use_backend(device):
        paths = simulation()
        mean, deviation = tfr.mean(paths), tfr.std(paths)
        if not named:
            del paths
        with counted() as work:
            both = float(mean), float(deviation)
        expected = simulation().numpy()
    assert both == pytest.approx((expected.mean(), expected.std()), rel=1e-4)
    first, second = work.flops
    assert second < first / 20


def test_what_is_cheap_is_stored_when_it_is_needed_often_and_not_before():
    y = tfr.asarray(np.ones(1_000_000, np.float32)) + 1
    with counted() as work:
        for number in range(14):
            float(tfr.sum(y * number))
    assert y.is_computed
    assert work.outputs.count(2) == 1
    assert (
        4 <= work.outputs.index(2) <= 10
    )  # to write and read it costs as much as to add 1 so often


def test_a_simulation_whose_last_step_is_read_runs_once():
    """To store the other steps takes no more operations: each of them is on the way to the last one."""
    track = tfr.zeros((24, SIZE))
    x = tfr.asarray(np.linspace(0.1, 0.9, SIZE, dtype=np.float32))
    for index in range(24):
        x = tfr.sin(tfr.exp(tfr.cos(x) * 0.7)) * 0.5
        track[index] = x
    del x
    with counted() as work:
        float(track[-1].sum())
    first = sum(work.flops)
    with counted() as work:
        float(track[-2].sum()), track[3].numpy()
    assert sum(work.flops) < first / 4  # the first steps take no time


def test_what_a_large_tensor_is_made_of_is_stored_in_its_place():
    """All of the stack would be 16 times as much to write as what was looked at takes to make."""
    states = [tfr.asarray(np.linspace(0.1, 0.9, SIZE, dtype=np.float32))]
    for _ in range(20):
        states.append(tfr.sin(tfr.exp(tfr.cos(states[-1]) * 0.7)) * 0.5)
    history = tfr.stack([tfr.broadcast_to(state, (16, SIZE)) for state in states])
    del states
    with counted() as work:
        float(history[-1, 0].sum())
    assert not history.is_computed
    first = sum(work.flops)
    with counted() as work:
        float(history[-1, 1].sum()), float(history[-2, 0].sum())
    assert sum(work.flops) < first / 4  # the first steps take no time


def test_what_many_small_steps_lead_to_is_evaluated_once():
    """Of a hundred nodes the operations are few, but to find their plan and run its steps takes time as well."""
    with tfr.config.override(small_size=0, small_nodes=0):
        x = tfr.asarray(np.linspace(0.1, 0.9, 50, dtype=np.float32))
        for _ in range(100):
            x = tfr.flip(x) * 0.5 + tfr.roll(x, 1) * 0.5
        pair = tfr.stack([x, x + 1])
        del x
        with counted() as work:
            assert float(pair[0, 0]) < float(pair[1, 0])
            float(pair[0, 1])
    assert work.run == 1
    assert pair.is_computed


def test_what_nobody_refers_to_is_not_stored():
    x = tfr.asarray(np.ones(SIZE, np.float32))
    with counted() as work:
        for _ in range(5):
            float(tfr.sum(tfr.exp(tfr.sin(x) * 2)))
    assert work.outputs == [1] * 5


def test_rows_of_one_pending_tensor_cost_no_more_than_twice_the_whole():
    rows = 60
    y = tfr.exp(tfr.sin(tfr.asarray(np.ones((rows, 5000), np.float32)))) * 2
    whole = y.explain().flops
    with counted() as work:
        for row in range(rows):
            assert float(tfr.sum(y[row])) == pytest.approx(5000 * 2 * np.exp(np.sin(1)), rel=1e-5)
    assert y.is_computed
    assert sum(work.flops) < 2.2 * whole


def test_looking_at_a_billion_elements_never_makes_them():
    huge = tfr.sqrt(tfr.full((40_000, 25_000), 4.0) + 5)
    with counted() as work:
        for _ in range(50):
            repr(huge)
            float(huge[3, 4])
    assert not huge.is_computed
    assert sum(work.flops) < 1e6


def test_a_glance_stores_only_what_takes_no_time():
    """A preview of 400 MB may be asked for hundreds of times, and none of them waits for all of it."""
    large = tfr.sqrt(tfr.full((100_000_000,), 4.0) + 5)
    small = tfr.sqrt(tfr.full((50_000,), 4.0) + 5)
    large.node.spent = 1e30  # however often it was looked at
    with counted() as work:
        for _ in range(3):
            repr(large), repr(small)
    assert not large.is_computed
    assert small.is_computed
    assert max(work.flops) < 1e6


def test_the_option_says_how_large_a_tensor_may_be():
    with tfr.config.override(reuse_bytes=4 * SIZE - 1), counted() as work:
        x = tfr.zeros((SIZE,))
        for _ in range(6):
            x = x * 0.5 + 1
            float(x[0])
    assert set(work.outputs) == {1}


def test_what_is_stored_besides_is_never_why_an_evaluation_fails(monkeypatch):
    run = evaluate.run

    def without_room(plan, *rest):
        if len(plan.outputs) > 1:
            raise OutOfMemoryError("no room")
        run(plan, *rest)

    monkeypatch.setattr(evaluate, "run", without_room)
    x = tfr.zeros((SIZE,))
    for step in range(6):
        x = x * 0.5 + 1
        assert float(x[0]) == 2 - 0.5**step
    assert not x.is_computed


def test_an_explanation_is_of_what_runs():
    paths = simulation()
    mean = tfr.mean(paths)
    plan = mean.explain()
    with counted() as work:
        float(mean)
    assert work.outputs == [len(plan.outputs)] == [2]
    assert paths.is_computed


def test_a_jitted_step_runs_as_it_was_recorded():
    @tfr.jit
    def step(x: tfr.Tensor) -> tfr.Tensor:
        y = tfr.exp(tfr.sin(x))
        return tfr.sum(y) + tfr.max(y)

    x = tfr.asarray(np.ones(SIZE, np.float32)) * 2
    with counted() as work:
        for _ in range(5):
            step(x)
    assert x.is_computed  # arguments are
    assert work.made == 2
    assert work.outputs == [1] * 6


def program(choose: random.Random) -> Callable[[], list[float]]:
    """A program that makes tensors of those it has, lets go of some, and reads others, whole or in part."""
    moves = [(choose.randrange(7), choose.random(), choose.random()) for _ in range(40)]

    def run() -> list[float]:
        held = [tfr.asarray(np.linspace(0, 1, SIZE, dtype=np.float64)).reshape((100, 200))]
        found = []
        for move, one, other in moves:
            x, y = held[int(one * len(held))], held[int(other * len(held))]
            if move == 0:
                held.append(tfr.sin(x) + y)
            elif move == 1:
                held.append(x * 0.5 + tfr.mean(y, axis=0))
            elif move == 2:
                held.append(tfr.cumulative_sum(x, axis=1) / 200 - y)
            elif move == 3 and len(held) > 2:
                held.pop(int(one * len(held)))
            elif move == 4:
                found.append(float(tfr.sum(x)))
            elif move == 5:
                found.append(float(x[int(other * 100), -3]))
            else:
                found += x[3:5, ::60].tolist()[1]
        return found

    return run


@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(12))
def test_programs_give_the_same_with_less_work(seed):
    run = program(random.Random(seed))
    with tfr.config.override(reuse_bytes=0), counted() as without:
        expected = run()
    with counted() as first:
        found = run()
    with counted() as again:
        run()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert first.flops == again.flops  # a function of the program: nothing is timed
    # a tensor stored in vain takes as much as was spent before
    assert sum(first.flops) <= 2 * sum(without.flops)


VIEWS = {
    "row": lambda w: w[0],
    "part of a transpose": lambda w: w.T[:, 1:2],
    "flat": lambda w: w.reshape((-1,))[3:],
}


@pytest.mark.parametrize("device", HOST)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_pending_views_that_a_model_holds_cost_one_plan(view, device, tmp_path):
    """They were charged in the first call, stored by the plan of the second, and leaves of a third one."""
    tfr.save(tmp_path / "w.npy", tfr.asarray(np.arange(SIZE, dtype=np.float32).reshape(2, -1)))
    weights = [tfr.asarray(np.ones((2, SIZE), np.float32), device=device)]
    if device == "cpu":  # where files are read
        weights.append(tfr.load(tmp_path / "w.npy"))
    for weight in weights:
        held = view(weight)
        x = tfr.asarray(np.ones((8, 1), np.float32), device=device)
        made = []
        for _ in range(4):
            with counted() as work:
                tfr.sum(
                    tfr.exp(x * held.reshape((1, -1))[:, :3]) @ tfr.ones((3, 4), device=device)
                ).compute()
            made.append(work.made)
        assert made[1:] == [0, 0, 0]


@pytest.mark.parametrize("device", HOST)
def test_what_nobody_holds_is_dropped_where_a_view_or_a_move_is_computed_first(device):
    """Who looked for these held the whole graph, so that all that is costly in it seemed to be held."""
    x = tfr.asarray(np.ones((128, 128), np.float32), device=device)
    held = x.T[1:]
    with counted() as work:
        tfr.sum(tfr.exp(x @ x) @ (x @ held.T)).compute()
    assert work.outputs[-1] == 1
    there = tfr.asarray(
        np.ones((128, 128), np.float32), device="numpy" if device == "cpu" else "cpu"
    )
    moved = there.to_device(device)
    with counted() as work:
        tfr.sum(tfr.exp(x @ x) @ (x @ moved)).compute()
    assert work.outputs[-1] == 1
