"""The small path: what runs op by op at once, and what gets a plan instead."""

import tracemalloc

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.node import next_serial
from tensorframe.runtime.execution.events import Moment, listen


def plans_run(compute):
    started = []
    with listen(lambda event: started.append(event.moment)):
        compute()
    return started.count(Moment.PLAN_STARTED)


def steps_run(compute):
    """Return how many steps each plan has that runs."""
    steps = []
    with listen(
        lambda event: (
            steps.append(len(event.plan.steps)) if event.moment is Moment.PLAN_STARTED else None
        )
    ):
        compute()
    return steps


@pytest.fixture
def large():
    return tfr.asarray(np.ones((300, 40), np.float32)).compute()


@pytest.mark.parametrize(
    "reduce", [tfr.sum, tfr.max, tfr.argmin, tfr.var], ids=lambda f: f.__name__
)
def test_a_small_result_of_many_elements_gets_a_plan(large, reduce):
    assert plans_run(reduce(large).compute) == 1


def test_a_small_view_of_a_large_tensor_gets_none(large):
    assert plans_run((large[3, :5] * 2).compute) == 0


def test_what_is_costly_on_the_way_is_kept():
    x = tfr.asarray(np.arange(6))
    total = tfr.sum(x)
    assert plans_run((x / total).compute) == 0
    assert total.is_computed


@pytest.mark.parametrize("reduce", [tfr.sum, tfr.mean, tfr.prod], ids=lambda f: f.__name__)
def test_sums_whose_call_is_known_are_calls_and_no_graphs(reduce):
    def results():
        x = tfr.asarray(np.linspace(0.5, 1.5, 24, dtype=np.float32).reshape(4, 6)).compute()
        for _ in range(12):
            x = x * 0.5 + reduce(x * x, axis=1, keepdims=True)
        return x

    alone = results()
    alone.compute()
    made = []
    for _ in range(2):
        again = results()
        before = next_serial()
        again.compute()
        made.append(next_serial() - before - 1)
    assert made == [0, 0]
    with listen(lambda _: None):  # who looks on sees every plan
        looked_at = results().numpy()
    assert np.array_equal(again.numpy(), alone.numpy())
    assert np.array_equal(again.numpy(), looked_at)


@pytest.mark.parametrize("count", [50, 100, 2000])
def test_small_graphs_of_any_number_of_nodes_run_without_a_plan_and_store_what_is_referenced(count):
    x, held = tfr.asarray(np.linspace(0.5, 1.5, 6, dtype=np.float32)), []
    for step in range(count):
        x = x * 0.5 + tfr.sum(x * x)
        x = x / tfr.max(x)
        if step % 40 == 1:
            held.append(x)
    planned = x + 0
    assert plans_run(x.compute) == 0
    assert all(value.is_computed for value in held)
    with tfr.config.override(small_size=0, small_nodes=0):
        np.testing.assert_array_equal(planned.numpy(), x.numpy())


@pytest.mark.usefixtures("only_recorded")
@pytest.mark.parametrize("shape", [(2000,), (1500, 3)])
def test_pythons_sum_of_a_long_tensor_is_added_up_without_a_plan(shape):
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    total = sum(tfr.asarray(values))
    assert plans_run(total.compute) == 0
    np.testing.assert_array_equal(total.numpy(), sum(values))


def test_long_chains_of_large_tensors_get_a_plan_and_so_does_all_where_options_say_so(large):
    total = large
    for _ in range(1100):
        total = total + 1
    assert plans_run(total.compute) == 1
    few = tfr.asarray(1.0)
    for _ in range(110):
        few = few + 1
    with tfr.config.override(small_nodes=0):
        assert plans_run(few.compute) == 1


def test_a_fill_is_the_same_element_in_every_call():
    arrays = [tfr.zeros((100, 100)).compute() for _ in range(3)]
    handles = [array.node.storage.handle for array in arrays]
    assert handles[1] is handles[2]
    assert not handles[2].flags.writeable
    arrays[1][0, 0] = 1
    assert [array.numpy().sum() for array in arrays] == [0, 1, 0]


@pytest.mark.usefixtures("only_recorded")
def test_long_chains_free_what_nothing_needs_any_more():
    x = tfr.asarray(np.ones(4096))
    y, held = x, []
    for step in range(1500):
        y = y * 0.5 + x
        if step in (10, 700):
            held.append(y)
    tracemalloc.start()
    plans = plans_run(y.compute)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plans == 0
    assert all(value.is_computed for value in held)
    np.testing.assert_allclose(y.numpy(), 2.0)
    assert peak < 100 * x.nbytes


def test_equal_casts_of_a_loop_are_made_once():
    factor = tfr.asarray(np.linspace(0.5, 1.0, 8))
    wave, expected = tfr.asarray(np.ones(8, np.complex64)), np.ones(8, np.complex64)
    for _ in range(20):
        wave = wave * factor * tfr.asarray(np.arange(8) % 2 == 0) + 1
        expected = expected * factor.numpy() * (np.arange(8) % 2 == 0) + 1
    np.testing.assert_allclose(wave.numpy(), expected)


def test_numbers_that_views_show_are_nobodys_to_write():
    number = (
        tfr.asarray(np.ones(1)) * 3
    )  # computed beside a constant, whose array all programs share
    row = tfr.broadcast_to(number, (4,))
    row = tfr.asarray(row)
    row[0] = 7
    np.testing.assert_array_equal(row.numpy(), [7, 3, 3, 3])
    np.testing.assert_array_equal((tfr.asarray(np.ones(1)) * 3).numpy(), [3])


def turned(values, times):
    """Return small values after so many small operations."""
    for turn in range(times):
        values = tfr.roll(values, turn) - values * 0.5
    return values


def test_many_small_operations_on_the_sum_of_a_large_tensor_run_after_the_plan_of_that_sum(large):
    sums = tfr.sum(large, axis=0)
    result = turned(sums / tfr.sum(sums), 20)
    assert steps_run(result.compute) == [1]
    expected = turned(tfr.asarray(sums.numpy() / sums.numpy().sum()), 20)
    np.testing.assert_array_equal(result.numpy(), expected.numpy())


def test_few_small_operations_are_part_of_the_plan(large):
    total = tfr.sum(large, axis=0)
    assert plans_run((total * 2 + 1).compute) == 1


def test_small_products_run_before_the_plan_of_large_ones_that_need_them(large):
    def filtered(start):
        gain, result = start, large
        for turn in range(20):
            gain = gain @ start / tfr.linalg.norm(gain)
            result = result @ gain + turn
        return result, gain

    start = tfr.asarray(np.eye(40, dtype=np.float32) * 0.5 + 0.01)
    result, gain = filtered(start)
    planned, _ = filtered(start)
    (steps,) = steps_run(result.compute)
    assert steps <= 40  # of products of large matrices, and what is added to them
    assert gain.is_computed
    with tfr.config.override(small_size=0):
        np.testing.assert_allclose(planned.numpy(), result.numpy(), rtol=1e-5)


def test_few_small_products_are_part_of_the_plan(large):
    small = tfr.asarray(np.eye(40, dtype=np.float32))
    result = large
    for _ in range(5):
        small = small @ small
        result = tfr.sin(result @ small) * 2 + tfr.cos(result) * tfr.sin(result) + tfr.exp(result)
    assert len(steps_run(result.compute)) == 1


def test_profiles_count_the_plan_and_the_small_graph_after_it_once(large):
    result = turned(tfr.sum(tfr.exp(large), axis=0), 20)
    with tfr.profile() as profile:
        result.compute()
    assert "1 plan run, 1 small graph" in str(profile)
    assert sum(record.seconds for record in profile.records) <= profile.summary.seconds
