"""Recognition: graphs that a line evaluates again and again run without a walk, and others are told apart."""

import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.guards import recognition
from tensorframe.runtime.plan_cache import PLANS

TURNS = recognition.RUNS + 3
LARGE, FEW = (60, 100), (3, 5)


def operands(shape=FEW, device="cpu", dtype="float32", seed=0):
    generator = np.random.default_rng(seed)
    arrays = [generator.uniform(0.5, 1.5, shape).astype(dtype) for _ in range(2)]
    return [tfr.asarray(array, device=device).compute() for array in arrays]


def expression(a, b):
    return tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)


def of_numpy(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.exp(-a * a) * np.sin(b) + a / (1 + b * b)


@pytest.fixture(autouse=True)
def forgotten():
    PLANS.clear()
    yield
    PLANS.clear()


@pytest.fixture
def seen(monkeypatch):
    """How many graphs were recognised."""
    recognized = []
    run = recognition.run_recognized

    def noted(*given):
        done = run(*given)
        recognized.append(done)
        return done

    monkeypatch.setattr("tensorframe.runtime.evaluate.run_recognized", noted)
    return recognized


def recognised(seen, compute, turns=TURNS):
    """Compute so often, and return how many graphs were recognised."""
    seen.clear()
    for _ in range(turns):
        compute()
    return sum(seen)


@pytest.mark.parametrize("shape", [FEW, LARGE], ids=["small", "planned"])
@pytest.mark.parametrize("device", tfr.backends.available())
def test_what_a_line_evaluates_again_and_again_is_recognised(seen, shape, device):
    results = []

    def compute(seed):
        a, b = operands(shape, device, seed=seed)
        results.append(((a, b), expression(a, b).numpy()))

    for seed in range(TURNS):
        compute(seed)
    assert sum(seen) == 3
    for (a, b), result in (results[0], results[-1]):
        np.testing.assert_allclose(result, of_numpy(a.numpy(), b.numpy()), rtol=2e-6)


@contextmanager
def counted():
    lines = []

    def note(_frame, event, _argument):
        lines.append(event)
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield lines
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("shape", [FEW, LARGE], ids=["small", "planned"])
def test_it_takes_half_of_pythons_lines(shape):
    a, b = operands(shape)
    lines = []
    for _ in range(TURNS):
        result = expression(a, b)
        with counted() as events:
            result.compute()
        lines.append(len(events))
    assert lines[-1] < 0.5 * lines[10]


def test_turns_of_fifty_nodes_are_recognised(seen):
    a, b = operands(FEW)
    state = [a]

    def turn():
        x = state[0]
        for _ in range(12):
            x = tfr.sin(x * 0.5 + b) - x * 0.25
        state[0] = x.compute()

    assert recognised(seen, turn) == 3
    expected = a.numpy()
    for _ in range(12 * TURNS):
        expected = np.sin(expected * np.float32(0.5) + b.numpy()) - expected * np.float32(0.25)
    np.testing.assert_allclose(state[0].numpy(), expected, rtol=1e-3, atol=1e-4)


def test_variables_that_hold_what_lies_between_are_no_hindrance(seen):
    a, b = operands(LARGE)

    def compute():
        square = b * b
        total = a / (1 + square)
        return (tfr.exp(total) + square).compute()

    assert recognised(seen, compute) == 3


def sharing(a, b):
    square = -a * a
    return tfr.exp(square) * tfr.sin(b) + a / (1 + square)


# what is the same but for one thing: made again by each after the line has been recognised
OTHERS = {
    "another op": lambda a, b: tfr.exp(-a * a) * tfr.cos(b) + a / (1 + b * b),
    "another number": lambda a, b: tfr.exp(-a * a) * tfr.sin(b) + a / (3 + b * b),
    "a number that rules know": lambda a, b: tfr.exp(-a * a) * tfr.sin(b) + a / (0 + b * b),
    "one operand twice": lambda a, b: tfr.exp(-a * a) * tfr.sin(a) + a / (1 + a * a),
    "one node twice": sharing,
    "a node that is computed": lambda a, b: (
        tfr.exp((-a * a).compute()) * tfr.sin(b) + a / (1 + b * b)
    ),
    "operands in turn": lambda a, b: tfr.exp(-a * a) * tfr.sin(b) + (1 + b * b) / a,
}


@pytest.mark.parametrize("shape", [FEW, LARGE], ids=["small", "planned"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_graph_of_the_same_line_is_told_apart(shape, name):
    a, b = operands(shape)

    def at_one_line(function, *given):
        return tfr.add(function(*given), 0.25).compute()  # the line is that of the addition

    for _ in range(TURNS):
        at_one_line(expression, a, b)
    result = at_one_line(OTHERS[name], a, b).numpy()
    PLANS.clear()
    assert result.tobytes() == at_one_line(OTHERS[name], a, b).numpy().tobytes()


@pytest.mark.parametrize("shape", [FEW, LARGE], ids=["small", "planned"])
def test_operands_of_another_form_are_told_apart(shape):
    def compute(a, b):
        return expression(a, b).compute()

    for _ in range(TURNS):
        compute(*operands(shape))
    wider = compute(*operands(shape, dtype="float64"))
    assert wider.dtype == tfr.float64
    np.testing.assert_allclose(
        wider.numpy(), of_numpy(*operands(shape, dtype="float64")), rtol=1e-14
    )
    row, column = operands((1, shape[1]))[0], operands((shape[0], 1))[1]
    assert compute(row, column).shape == shape
    elsewhere = compute(*operands(shape, device="numpy"))
    assert str(elsewhere.device) == "numpy"


def test_attributes_are_compared():
    a, _ = operands((6, 6))

    def compute(axis, first):
        return (
            tfr.sum(a, axis=axis) + a[first : first + 1, :].reshape(6) * a[0, 0] - a[1]
        ).compute()

    for _ in range(TURNS):
        compute(0, 0)
    for axis, first in ((1, 0), (0, 3), (1, 4)):
        array = a.numpy()
        expected = array.sum(axis) + array[first] * array[0, 0] - array[1]
        np.testing.assert_allclose(compute(axis, first).numpy(), expected, rtol=1e-6)


def test_what_is_costly_on_the_way_and_held_is_stored_as_ever():
    a, _ = operands(LARGE)
    for _ in range(TURNS):
        total = tfr.sum(a, axis=1, keepdims=True)
        (a / total + a * total).compute()
        assert total.is_computed


def test_what_is_held_of_a_small_graph_is_stored_as_ever():
    a, b = operands(FEW)
    for _ in range(TURNS):
        square = b * b
        (tfr.exp(-a * a) * tfr.sin(b) + a / (1 + square) - square).compute()
        assert square.is_computed


def test_what_is_needed_again_is_stored_at_last():
    a, _ = operands((300, 300))

    def turn(kept):
        return (kept * 2 + tfr.exp(kept)).compute()

    for _ in range(TURNS):
        turn(tfr.sin(a) * a)
    kept = tfr.sin(a) * a
    for _ in range(40):
        turn(kept)
    assert kept.is_computed


def test_a_line_whose_graphs_change_is_given_up_until_they_stay_the_same(seen):
    a, b = operands(FEW)

    def turn(function):
        return tfr.add(function(a, b), 0.25).compute()

    def turns_of(function, turns=TURNS):
        return recognised(seen, lambda: turn(function), turns)

    assert turns_of(expression) == 3
    other = OTHERS["another op"]
    assert turns_of(other) == 0
    assert turns_of(expression) == 0  # forgotten by now
    assert turns_of(expression, 2 * TURNS) > 3


def test_errors_are_those_of_other_graphs():
    a, _ = operands(FEW)
    index = tfr.asarray([0, 1, 2])

    def turn(index):
        return (tfr.take(a, index, axis=0) * 2 + a - a * a).compute()

    for _ in range(TURNS):
        turn(index)
    with pytest.raises(IndexError, match="out of bounds"):
        turn(tfr.asarray([0, 1, 7]))
    np.testing.assert_array_equal(turn(index).numpy(), (a * 2 + a - a * a).numpy())


def test_checks_and_profiles_see_every_step():
    a, b = operands(LARGE)
    for _ in range(TURNS):
        expression(a, b).compute()
    with tfr.profile() as profile:
        expression(a, b).compute()
    assert profile.records
    with tfr.config.override(check_nan=True), pytest.raises(tfr.errors.TensorFrameError):
        expression(a * np.nan, b).compute()


def test_gradients_go_through_what_is_recognised():
    a, b = operands(FEW)

    def loss(a):
        inner = expression(a, b).compute()
        return tfr.sum(inner * inner)

    expected = tfr.grad(loss)(a).numpy()
    for _ in range(TURNS):
        expression(a, b).compute()
        result = tfr.grad(loss)(a).numpy()
    assert result.tobytes() == expected.tobytes()


def test_threads_recognise_the_same_line():
    a, b = operands(FEW)
    expected = expression(a, b).numpy().tobytes()
    results = set()

    def turn():
        results.update([expression(a, b).numpy().tobytes() for _ in range(3 * TURNS)])

    threads = [threading.Thread(target=turn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {expected}
