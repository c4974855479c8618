"""Loops that only record are computed turn by turn once their period is known, with the bits of those that wait."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import discover, ticks
from tensorframe.ops.elementwise import CAST
from tensorframe.runtime.evaluate import EVERY, early
from tensorframe.runtime.loop_iterations import last_turn

WAVE = np.linspace(0.0, 1.0, 16, dtype=np.float32)


@pytest.fixture(autouse=True)
def next_node_is_looked_at():
    """Looks begin anew, and no loop is known."""
    early.due = -1
    ticks.update()
    tfr.asarray(WAVE) + 1
    early.begin(-EVERY)


def waiting(x):
    return [node for node in discover([x.node]) if node.storage is None and node.inputs]


def damped(x, rounds, factor=0.9):
    """A loop of eight nodes a turn; one value goes from turn to turn."""
    for _ in range(rounds):
        first = x * factor
        second = tfr.sin(first) + x
        x = (first - second) * 0.25 + tfr.cos(second) * first
    return x


def oscillating(x, v, rounds):
    """A loop of which two values go from turn to turn."""
    for _ in range(rounds):
        v = v - x * 0.01
        x = x + v * 0.01
    return x


def late(loop, *arguments):
    early.due = np.inf
    ticks.update()
    return loop(*arguments)


def test_turns_are_computed_as_they_end_with_the_same_bits():
    x = tfr.asarray(WAVE)
    result = damped(x, 400)
    assert len(waiting(result)) < 100 < EVERY
    expected = late(damped, tfr.asarray(WAVE), 400)
    assert len(waiting(expected)) == 8 * 400
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_what_a_turn_casts_again_and_again_is_cast_once():
    weights = tfr.asarray(np.arange(16) % 3 == 0)
    result = damped(tfr.asarray(WAVE), 400, weights)
    assert not [node for node in waiting(result) if node.op is CAST]
    expected = late(damped, tfr.asarray(WAVE), 400, tfr.asarray(np.arange(16) % 3 == 0))
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_casts_that_are_kept_go_with_what_they_are_of():
    weights = tfr.asarray(np.arange(16) % 3 == 0)
    damped(tfr.asarray(WAVE), 400, weights)
    cast = weights.node.converted()
    assert cast.storage is not None
    again = weights + tfr.asarray(WAVE)
    assert again.node.inputs[0] is cast


def test_several_values_from_turn_to_turn_are_computed_by_hundreds():
    x, v = tfr.asarray(WAVE), tfr.asarray(np.ones(16, np.float32))
    result = oscillating(x, v, 800)
    assert len(waiting(result)) < 2 * EVERY
    expected = late(oscillating, tfr.asarray(WAVE), v, 800)
    assert result.numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("every", [2, 7, 90])
def test_turns_that_differ_now_and_then(every):
    def loop(x):
        for number in range(600):
            x = tfr.sin(x) * 0.5 + x * x
            if number % every == 0:
                x = tfr.maximum(x, -x) - 0.125
        return x

    result = loop(tfr.asarray(WAVE))
    expected = late(loop, tfr.asarray(WAVE))
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_evaluations_between_turns():
    def loop(x):
        seen = []
        for number in range(500):
            x = damped(x, 1)
            if number % 50 == 0:
                seen.append(float(tfr.sum(x)))
        return x, seen

    (result, seen), (expected, others) = loop(tfr.asarray(WAVE)), late(loop, tfr.asarray(WAVE))
    assert seen == others
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_values_of_turns_that_somebody_keeps():
    def loop(x):
        history = [x]
        for _ in range(300):
            history.append(damped(history[-1], 1))
        return tfr.stack(history)

    result, expected = loop(tfr.asarray(WAVE)), late(loop, tfr.asarray(WAVE))
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def test_what_fails_in_a_turn_stays_recorded(monkeypatch):
    def failing(*_):
        raise tfr.errors.IndexingError("no such place")

    monkeypatch.setattr("tensorframe.runtime.early_evaluation.run_recognized", failing)
    result = damped(tfr.asarray(WAVE), 400)
    monkeypatch.undo()
    expected = late(damped, tfr.asarray(WAVE), 400)
    assert result.numpy().tobytes() == expected.numpy().tobytes()


def in_order(x):
    return sorted(waiting(x), key=lambda node: node.serial)


def test_a_turn_ends_with_the_value_that_the_next_one_begins_with():
    x = late(damped, tfr.asarray(WAVE), 50)
    order = in_order(x)
    known = last_turn(order, [x.node])
    assert known is not None
    (end,) = [node for node in order if node.serial == known.end]
    assert known.turn.ends_with(end)
    assert known.turn.ends_with(x.node)
    assert not known.turn.ends_with(order[-2])
    assert (x.node.serial - known.end) % 8 == 0
    assert known.turn.serials == 8 * 6  # as many turns as are worth it


def nested(x, rounds):
    """A loop within a loop."""
    for _ in range(rounds):
        for _ in range(5):
            x = tfr.sin(x) * 0.5 + x * x * 0.1
        x = tfr.abs(x)
    return x


def test_a_turn_is_that_of_the_outer_loop():
    x = late(nested, tfr.asarray(WAVE), 20)
    known = last_turn(in_order(x), [x.node])
    assert known is not None
    assert known.turn.serials == 26


@pytest.mark.parametrize(
    "loop",
    [
        lambda x: damped(x, 12),
        lambda x: oscillating(x, x + 1, 100),
        lambda x: tfr.cumsum(x) + tfr.sin(x) * tfr.cos(x),
    ],
    ids=["too few", "two values", "no loop"],
)
def test_other_graphs_have_no_turns(loop):
    x = late(loop, tfr.asarray(WAVE))
    assert last_turn(in_order(x), [x.node]) is None
