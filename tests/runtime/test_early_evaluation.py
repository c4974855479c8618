"""Loops of small tensors that only record are computed as they go on; short graphs, large ones and traces are not."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import IndexingError
from tensorframe.frontend.operand_nodes import weak_constant
from tensorframe.graph.node import discover, ticks
from tensorframe.runtime.evaluate import EVERY, early
from tensorframe.runtime.execution.events import listen
from tensorframe.runtime.plan_cache import PLANS

ROUNDS = 1500  # of two nodes


@pytest.fixture(autouse=True)
def next_node_is_looked_at():
    """Looks begin anew, at the same node of each test."""
    early.due = -1
    ticks.update()
    loop(tfr.asarray(np.ones(8)), 1)
    early.begin(-EVERY)


def loop(x, rounds=ROUNDS):
    for _ in range(rounds):
        x = x * 0.5 + 1.0
    return x


def pending(x):
    return len([node for node in discover([x.node]) if node.storage is None and node.inputs])


def test_a_loop_of_small_steps_does_not_grow_and_has_the_bits_of_one_that_waits():
    start = tfr.asarray(np.linspace(0.0, 1.0, 20, dtype=np.float32))
    early_result = loop(start)
    assert pending(early_result) < 2 * EVERY
    early.due = np.inf
    ticks.update()
    late = loop(start)
    assert pending(late) == 2 * ROUNDS
    assert early_result.numpy().tobytes() == late.numpy().tobytes()


def test_numbers_that_all_programs_share_stay_numbers():
    x = tfr.asarray(np.ones(8, np.float32))
    number = weak_constant(0.5, x.dtype, x.device)
    for before in range(4):  # whichever node of a turn is looked at
        early.due = 0
        ticks.update()
        y = x
        for _ in range(before):
            y = -y
        loop(y, 600)
    assert number.storage is None


def test_what_somebody_refers_to_is_stored():
    x = tfr.asarray(np.ones(8))
    held = loop(x, 100)
    after = loop(held)
    assert held.is_computed
    assert not after.is_computed  # what was recorded last waits for whoever needs it
    np.testing.assert_array_equal(held.numpy(), loop(np.ones(8), 100))


@pytest.mark.parametrize("before", [0, 100, 400])
def test_a_short_graph_waits_wherever_it_is_looked_at(before):
    x = tfr.asarray(np.ones(8))
    for _ in range(before):
        x + 1
    result = loop(x, 150)
    assert pending(result) == 300


def test_a_program_that_runs_again_finds_its_plans():
    start = tfr.asarray(np.linspace(0.0, 1.0, 20, dtype=np.float32))

    def program():
        history = [start]
        for _ in range(333):
            history.append(history[-1] * 0.5 + 1.0)
        return tfr.stack(history).numpy()

    for _ in range(3):
        program()
    plans = len(PLANS)
    for _ in range(5):
        program()
    assert plans == len(PLANS)


def test_evaluations_do_not_put_off_looking_for_ever():
    x = tfr.asarray(np.ones(8))
    grown = x
    for _ in range(40):
        grown = loop(grown, 100)
        ((x + 1) * (x + 2) * (x + 3) * (x + 4)).numpy()
    assert pending(grown) < 8000 == 2 * 100 * 40


def test_large_tensors_wait():
    assert pending(loop(tfr.asarray(np.ones(5000)))) == 2 * ROUNDS


def test_small_parts_of_large_results_wait():
    large = tfr.sum(tfr.asarray(np.ones(5000)) * 2)
    assert pending(loop(large, 600)) == 1202


def test_other_options_and_listeners_have_it_wait():
    x = tfr.asarray(np.ones(8))
    with tfr.config.override(small_nodes=0):
        assert pending(loop(x, 600)) == 1200
    with tfr.config.override(check_nan=True):
        assert pending(loop(x, 600)) == 1200
    with listen(lambda event: None):
        assert pending(loop(x, 600)) == 1200


def test_functions_that_are_traced_and_gradients_record_all_of_their_steps():
    x = tfr.asarray(np.ones(8))
    seen = []

    def steps(x):
        result = loop(x, 600)
        seen.append(pending(result))
        return tfr.sum(result)

    tfr.jit(steps)(x)
    slope = tfr.grad(steps)(x)
    rows = tfr.vmap(steps)(tfr.reshape(x, (2, 4)))
    assert min(seen) >= 1200
    np.testing.assert_allclose(slope.numpy(), 0.5**600)
    np.testing.assert_allclose(rows.numpy(), 8.0)


def test_what_fails_is_told_where_the_value_is_needed():
    x = tfr.asarray(np.arange(4.0))
    wrong = x[tfr.asarray(np.array([0, 9])) + 0]
    result = loop(wrong)
    with pytest.raises(IndexingError, match=r"test_early_evaluation\.py"):
        result.numpy()


def test_numpys_engine_computes_early_too():
    x = loop(tfr.asarray(np.ones(8, np.float32), device="numpy"))
    assert pending(x) < 2 * EVERY
    assert x.numpy().tolist() == [2.0] * 8
