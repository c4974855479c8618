"""Plans: what runs together, in how many kernels, reading and writing how many bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.execution.events import Event, Moment, listen
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.schedule.plan import Plan, human_bytes
from tests.runtime.new_memory import new_memory


def big(*shape: int, seed: int = 0) -> tfr.Tensor:
    """Return a tensor too large for the small path."""
    return tfr.asarray(np.random.default_rng(seed).random(shape, dtype=np.float32) + 0.5)


@pytest.fixture
def apart() -> Iterator[None]:
    """Makes new tensors live where reductions are not fused with what they reduce."""
    with tfr.use_backend("numpy"):
        yield


def plan_of(*tensors: tfr.Tensor) -> Plan:
    plan = tfr.explain(*tensors)
    assert isinstance(plan, Plan)
    return plan


def test_an_elementwise_expression_is_one_kernel() -> None:
    a, b = big(300, 100), big(300, 100, seed=1)
    plan = plan_of(tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b))
    assert plan.kernels == 1
    assert plan.bytes_read == a.nbytes + b.nbytes + 4  # the number 1 is an argument
    assert plan.bytes_written == a.nbytes


def test_without_fusion_every_op_is_a_kernel() -> None:
    a = big(300, 100)
    with tfr.config.override(fuse=False):
        plan = plan_of(tfr.exp(a) * 2 + 1)
    assert plan.kernels == 3
    assert "fusion is off" in str(plan)


def test_equal_subgraphs_compute_once() -> None:
    a, b = big(200, 100), big(200, 100, seed=1)
    plan = plan_of(tfr.sum(tfr.sin(a + b)), tfr.max(tfr.sin(b + a)))
    flops_of_one = plan_of(tfr.sum(tfr.sin(a + b))).flops
    assert plan.kernels == 1  # sum and max take it in as it is computed
    assert plan.flops == flops_of_one + a.size


def test_a_refusal_gives_its_reason() -> None:
    a, row = big(300, 100), big(100, seed=1)
    text = str(plan_of(a + tfr.exp(row)))
    assert "loops over (300, 100) would compute its shape (100,) again and again" in text


def test_what_inner_loops_do_not_determine_runs_outside_of_them() -> None:
    image, channel = big(8, 16, 30, 30), big(16, seed=1)
    plan = plan_of(image * tfr.sqrt(channel).reshape(16, 1, 1))
    assert plan.kernels == 1  # 128 square roots beside 115,200 products


def test_fills_take_no_memory_and_no_kernel_of_their_own() -> None:
    plan = plan_of(big(300, 100) + tfr.ones((300, 100)))
    assert plan.kernels == 1
    assert plan.bytes_read == 300 * 100 * 4 + 4


def test_numbers_are_arguments_so_other_numbers_share_the_plan() -> None:
    a = big(300, 100)
    assert plan_of(a * 3.5 + 4.25).steps is plan_of(a * 5.5 + 7.75).steps
    assert (a * 5.5 + 7.75).numpy() == pytest.approx(a.numpy() * np.float32(5.5) + np.float32(7.75))


def test_a_neutral_number_is_not_confused_with_an_argument() -> None:
    a = big(300, 100)
    np.testing.assert_array_equal((a * 3).numpy(), a.numpy() * 3)
    np.testing.assert_array_equal((a * 1).numpy(), a.numpy())
    np.testing.assert_array_equal((a * 3).numpy(), a.numpy() * 3)


def test_equal_structures_share_a_plan_and_a_second_compute_makes_none() -> None:
    made: list[Event] = []

    def note(event: Event) -> None:
        if event.moment is Moment.PLAN_MADE:
            made.append(event)

    PLANS.clear()
    with listen(note):
        for seed in range(3):
            (tfr.sqrt(big(300, 100, seed=seed)) + 0.125).compute()
    assert len(made) == 1


def test_steps_are_told_in_order(apart: None) -> None:
    told: list[tuple[str, int | None]] = []
    with listen(lambda event: told.append((event.moment.value, event.step))):
        tfr.sum(tfr.sort(big(300, 100))).compute()
    assert told[-6:] == [
        ("plan started", None),
        ("step started", 0),
        ("step finished", 0),
        ("step started", 1),
        ("step finished", 1),
        ("plan finished", None),
    ]


def test_a_costly_intermediate_that_is_held_is_kept() -> None:
    a = big(300, 100)
    total = tfr.sum(a)
    scaled = tfr.exp(a) * total
    scaled.compute()
    assert total.is_computed
    assert plan_of(total + 1).kernels == 1  # the sum is not run again


def test_a_costly_intermediate_that_nobody_holds_is_dropped() -> None:
    a = big(300, 100)
    scaled = tfr.exp(a) * tfr.sum(a)
    assert len(plan_of(scaled).outputs) == 1
    node = scaled.node
    scaled.compute()
    assert node.inputs == ()


def test_one_part_of_a_library_call_makes_the_others_free() -> None:
    found = tfr.linalg.svd(big(80, 80))
    assert plan_of(found.S).library_calls == 1
    found.S.compute()
    assert plan_of(found.U).library_calls == 0


def test_a_slice_computes_only_what_it_shows() -> None:
    a = big(1000, 100)
    plan = plan_of(tfr.exp(a + 1)[:5])
    assert plan.bytes_written == 5 * 100 * 4
    plan = plan_of(tfr.sum(tfr.exp(a), axis=1)[3])
    assert plan.bytes_written == 4


def test_slices_that_together_show_much_compute_the_whole_once() -> None:
    a = big(400, 100)
    b = tfr.exp(a)
    plan = plan_of(b[1:] + b[:-1])
    assert plan.flops == 10 * a.size + 399 * 100


def test_a_chain_works_in_blocks() -> None:
    x = big(4_000_000)
    y = x
    for _ in range(10):
        y = tfr.sqrt(y) * 1.5
    with new_memory() as taken, tfr.config.override(threads=2):  # each has blocks of its own
        y.compute()
    assert taken.peak < x.nbytes * 1.1  # the output and a few blocks; the input was there before


def test_blocks_give_what_whole_arrays_give() -> None:
    a, row, column = big(301, 200), big(200, seed=1), big(301, 1, seed=2)
    want = (a.numpy() * row.numpy() + column.numpy()) * a.numpy().T.copy().T
    with tfr.config.override(block_bytes=1000, small_size=0):
        for operand in (a, tfr.asarray(np.asfortranarray(a.numpy()))):
            got = ((operand * row + column) * operand).numpy()
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_assignments_in_a_row_copy_once() -> None:
    x = big(500, 100)

    def assigned() -> tfr.Tensor:
        y = x.copy()
        for at in range(10):
            y[at] = float(at)
        return y

    assigned().compute()  # what the plan takes is not counted
    y = assigned()
    with new_memory() as taken:
        y.compute()
    assert taken.peak < 1.5 * x.nbytes
    assert y.numpy()[:10, 0].tolist() == list(range(10))
    assert not np.shares_memory(x.numpy(), y.numpy())


def test_an_operand_seen_through_a_view_is_not_overwritten() -> None:
    x = big(300, 300)
    y = tfr.exp(x)
    got = (y + y[::-1]).numpy()
    right = tfr.exp(x).numpy()
    np.testing.assert_array_equal(got, right + right[::-1])


def test_peak_memory_is_known_before_anything_runs() -> None:
    x = big(1000, 100)
    plan = plan_of(tfr.exp(x) * 2)
    assert plan.peak == {x.device: 2 * x.nbytes + 4}


def test_every_pass_can_be_the_last() -> None:
    z = tfr.sigmoid(big(300, 100))
    assert "sigmoid" not in str(tfr.explain(z, until="core"))
    for name in ("canonical", "simplify", "narrow", "place", "fuse", "order", "memory"):
        assert tfr.explain(z, until=name)
    with pytest.raises(tfr.errors.ArgumentError, match="no pass 'fusion'"):
        tfr.explain(z, until="fusion")


def test_a_plan_is_a_networkx_graph_of_steps(apart: None) -> None:
    graph = plan_of(tfr.sum(tfr.sort(big(300, 100)))).graph()
    assert list(graph.edges) == [(0, 1)]
    assert graph.nodes[1]["label"] == "sum"


def test_the_recorded_graph_has_a_node_per_op() -> None:
    x = big(3)
    graph = (x + x * x).graph()
    assert sorted(data["op"] for _, data in graph.nodes(data=True)) == ["add", "data", "multiply"]
    assert graph.number_of_edges() == 3  # x -> multiply once, for both of its operands


def test_plans_for_a_device_that_is_not_here_can_be_made_but_not_run() -> None:
    x = big(300, 100)
    y = tfr.sum(x.to_device("dry") * 2 + 1)
    plan = plan_of(y)
    assert (plan.transfers, plan.bytes_transferred, plan.kernels) == (1, x.nbytes, 2)
    with pytest.raises(tfr.errors.DeviceError, match="holds no values"):
        y.numpy()


def test_a_tensor_moves_once_for_all_its_consumers() -> None:
    x, small = big(300, 100), big(100, seed=1)
    far = x.to_device("dry")
    y = far * small + tfr.exp(far - small)
    assert y.device == tfr.Device("dry")
    plan = plan_of(y)
    assert plan.transfers == 2
    assert plan.bytes_transferred == x.nbytes + small.nbytes


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1000, "1000 B"), (1536, "1.5 KiB"), (1023 * 1024, "1023 KiB"), (2**55, "32 PiB")],
)
def test_bytes_are_told_in_three_digits_and_a_unit(count: int, text: str) -> None:
    assert human_bytes(count) == text
