"""Matmuls that do not fit run in blocks of rows or columns, where nothing says that their bits are those in memory."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.streaming.assembled import Assembled
from tensorframe.runtime.streaming.out_of_core import run_stream
from tensorframe.runtime.streaming.planning import Obstacles, StreamPlan, plan_stream
from tests.streaming.runs import core_of, saved, tensors_of

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((40_000, 64)).astype(np.float32)
FACTOR = RNG.standard_normal((64, 40)).astype(np.float32)
ROOM = 6 << 20  # bytes: less than the larger factor
ROUNDS = "matmuls round as those of tiles"

CASES = {
    "rows": lambda x: x @ tfr.asarray(FACTOR),
    "columns": lambda x: tfr.asarray(FACTOR.T) @ x.T,
    "a vector": lambda x: x @ tfr.asarray(FACTOR[:, 0]),
    "what follows": lambda x: tfr.softmax(tfr.exp(x * 0.1) @ tfr.asarray(FACTOR) + 1, axis=1),
    "a sum of it": lambda x: (tfr.sum(x @ tfr.asarray(FACTOR), axis=0), tfr.max(x)),
    "a norm of its rows": lambda x: tfr.var(x @ tfr.asarray(FACTOR), axis=1),
    "two of them": lambda x: (x @ tfr.asarray(FACTOR)) @ tfr.asarray(FACTOR.T),
}


def in_blocks(tensors):
    """The results of a stream within the room, and its plan."""
    core = core_of(tensors)
    planned = plan_stream(core, lambda _: ROOM, ())
    assert isinstance(planned, StreamPlan), planned
    sinks = {root: Assembled(root) for root in core}
    run_stream(planned, sinks)
    return [sinks[root].array for root in core], planned


@pytest.mark.parametrize("case", CASES)
def test_a_factor_in_a_file_is_read_in_blocks(case, tmp_path):
    x = saved(tmp_path, "x", TALL)
    results, planned = in_blocks(tensors_of(CASES[case](x)))
    assert planned.stream.tiles > 2
    assert planned.peak[planned.stream.cut.leaf.device] < ROOM
    assert str(planned).endswith(ROUNDS)
    wanted = tensors_of(CASES[case](tfr.asarray(TALL)))
    evaluate([tensor.node for tensor in wanted])
    for result, tensor in zip(results, wanted, strict=True):
        tolerance = 1e-5 * max(np.abs(tensor.numpy()).max(), 1)
        np.testing.assert_allclose(result, tensor.numpy(), rtol=1e-5, atol=tolerance)


def test_integers_have_the_same_bits_and_nothing_else_is_said(tmp_path):
    numbers = (TALL * 9).astype(np.int32)
    factor = tfr.asarray((FACTOR * 9).astype(np.int32))
    (result,), planned = in_blocks([saved(tmp_path, "x", numbers) @ factor])
    assert ROUNDS not in str(planned)
    np.testing.assert_array_equal(result, numbers @ factor.numpy())


def test_what_runs_with_the_bits_of_memory_is_preferred(tmp_path):
    x = saved(tmp_path, "x", TALL)
    small = tfr.asarray(FACTOR) @ tfr.asarray(FACTOR.T)  # is there as a whole
    _, planned = in_blocks([x * tfr.sum(small)])
    assert ROUNDS not in str(planned)


def test_the_inner_axis_is_no_cut(tmp_path):
    x = saved(tmp_path, "x", TALL.reshape(-1))
    y = saved(tmp_path, "y", TALL.reshape(-1) * 2)
    planned = plan_stream(core_of([x @ y]), lambda _: ROOM, ())
    assert isinstance(planned, Obstacles)
    assert "it needs more of an operand than a tile" in str(planned)


def test_a_save_streams_it_and_explain_says_so(tmp_path):
    x = saved(tmp_path, "x", np.tile(TALL, (4, 1)))
    product = x @ tfr.asarray(FACTOR)
    used = tfr.memory.stats()["cpu"].counted
    with tfr.memory.limit(used + (24 << 20)):
        assert ROUNDS in str(tfr.explain(product))
        tfr.save(tmp_path / "product.npy", product)
    result = np.load(tmp_path / "product.npy")
    np.testing.assert_allclose(result[-40_000:], TALL @ FACTOR, rtol=1e-4, atol=1e-4)
