"""Streams: programs that run tile by tile have the bits that they have in memory, in as few passes as they need."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.device import CPU
from tensorframe.runtime.plan_cache import PLANS
from tensorframe.runtime.streaming import planning, tiled_execution
from tensorframe.runtime.streaming.assembled import Assembled
from tensorframe.runtime.streaming.planning import (
    Obstacles,
    StreamPlan,
    plan_stream,
    planned_stream,
)
from tensorframe.schedule.cut import Obstacle
from tests.streaming.runs import core_of, cut_of, in_memory, in_tiles, saved, stream_of, tensors_of

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((12_500, 11)).astype(np.float32)
LONG = (RNG.standard_normal(500_003) + 5).astype(np.float32)
WIDE = RNG.standard_normal((15_000, 40)).astype(np.float32)
CUBE = RNG.standard_normal((3000, 8, 25))
NAN = np.where(TALL > 2, np.nan, TALL)
# signed zeros, of which kernels know the larger
ZEROS = np.where(TALL > 0, 0.0, -0.0).astype(np.float32)

# what is done -> the leaf, and the passes over it
CASES = {
    "copy": (lambda x: x, TALL, 1),
    "map": (lambda x: tfr.exp(x) * 2 + 1, TALL, 1),
    "map of places": (lambda x: x * tfr.linspace(0, 1, len(TALL))[:, None], TALL, 1),
    "counted": (lambda x: x + tfr.arange(len(TALL))[:, None], TALL, 1),
    "random numbers": (lambda x: x + tfr.random.normal(TALL.shape, key=tfr.random.key(3)), TALL, 1),
    "sum": (tfr.sum, LONG, 1),
    "sum of a map": (lambda x: tfr.sum(tfr.exp(-x * x) * tfr.sin(x)), LONG, 1),
    "several sums": (lambda x: (tfr.sum(x * x), tfr.mean(x), tfr.max(x)), LONG, 1),
    "sum of columns": (lambda x: tfr.sum(x, axis=0), TALL, 1),
    "sum of rows": (lambda x: tfr.sum(x, axis=1), TALL, 1),
    "sum of all": (tfr.sum, TALL, 1),
    "sum of wide rows": (tfr.sum, CUBE, 1),
    "sum of outer axes": (lambda x: tfr.sum(x, axis=(0, 2)), CUBE, 1),
    "sum of inner axes": (lambda x: tfr.sum(x, axis=(1, 2)), CUBE, 1),
    "half": (lambda x: tfr.sum(x.astype("float16"), axis=0), TALL, 1),
    "bfloat16": (lambda x: tfr.sum(x.astype("bfloat16"), axis=0), TALL, 1),
    "double": (lambda x: tfr.sum(x.astype("float64")), TALL, 1),
    "integers": (lambda x: tfr.sum((x * 100).astype("int32")), TALL, 1),
    "complex": (lambda x: tfr.sum(x + 1j * x, axis=0), TALL, 1),
    "product": (lambda x: tfr.prod(x * 0.01 + 1, axis=0), TALL, 1),
    "extremes": (lambda x: (tfr.max(x, axis=0), tfr.min(x), tfr.argmin(x)), TALL, 1),
    "extremes of zeros": (lambda x: (tfr.max(x, axis=0), tfr.min(x)), ZEROS, 1),
    "extremes with nan": (lambda x: (tfr.argmax(x, axis=0), tfr.max(x), tfr.nanmax(x)), NAN, 1),
    "conditions": (lambda x: (tfr.any(x > 3, axis=0), tfr.all(x > -9)), TALL, 1),
    "means of what is there": (lambda x: tfr.nanmean(x, axis=0), NAN, 1),
    "variance": (tfr.var, LONG, 1),
    "variance in float64": (lambda x: tfr.var(x.astype("float64")), LONG, 1),
    "variance and mean": (lambda x: (tfr.std(x), tfr.mean(x)), LONG, 1),
    "variance of a map": (lambda x: tfr.var(tfr.exp(x * 0.1)), LONG, 1),
    "variance of columns": (lambda x: tfr.var(x, axis=0), WIDE, 1),
    "variance of rows": (lambda x: tfr.var(x, axis=1), TALL, 1),
    "normalised": (lambda x: (x - tfr.mean(x, axis=0)) / tfr.std(x, axis=0), TALL, 3),
    "scaled": (lambda x: (x - tfr.min(x)) / (tfr.max(x) - tfr.min(x)), TALL, 2),
    "softmax of rows": (lambda x: tfr.softmax(x, axis=1), TALL, 1),
    "softmax of columns": (lambda x: tfr.softmax(x, axis=0), TALL, 3),
    "stencil": (
        lambda x: x[1:-1, 1:-1] * 4 - x[2:, 1:-1] - x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2],
        TALL,
        1,
    ),
    "differences": (lambda x: tfr.diff(x, axis=0), TALL, 1),
    "padded": (lambda x: tfr.pad(x, ((3, 5), (0, 1))) * 2, TALL, 1),
    "joined": (lambda x: tfr.concat([x[:7] * 2, x, x[5:9]], axis=0), TALL, 1),
    "transposed": (lambda x: x.T * 2, TALL, 1),
    "halves": (lambda x: x[::2] + x[1::2], TALL, 1),
    "coarse": (lambda x: tfr.mean(x.reshape((1250, 10, 11)), axis=1), TALL, 1),
    "flat": (lambda x: (x + 1).reshape((-1,)), TALL, 1),
    "columns chosen": (lambda x: x[:, tfr.asarray([1, 3, 3])], TALL, 1),
    "sorted": (lambda x: tfr.sort(x, axis=1), TALL, 1),
    "sorted columns": (lambda x: tfr.sort(x, axis=0), TALL, 1),  # cut along the other axis
    "median": (lambda x: tfr.median(x, axis=1), TALL, 1),
    "running sums": (lambda x: tfr.cumulative_sum(x, axis=0), TALL, 1),
    "running sums of halves": (lambda x: tfr.cumulative_sum(x.astype("float16"), axis=0), TALL, 1),
    "running sums of integers": (
        lambda x: tfr.cumulative_sum((x * 100).astype("int32"), axis=0),
        TALL,
        1,
    ),
    "running products": (lambda x: tfr.cumulative_prod(x * 0.1 + 1, axis=0), TALL, 1),
    "some columns of a scan": (
        lambda x: (tfr.cumulative_sum(x, axis=0)[:9000:3, 2:4], tfr.argmin(x, axis=0)),
        TALL,
        1,
    ),
    "shifted scans": (
        lambda x: tfr.cumulative_sum(x, axis=0)[1:] - tfr.cumulative_sum(x * x, axis=0)[:-1],
        TALL,
        1,
    ),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_a_run_in_memory(case, tmp_path):
    make, values, passes = CASES[case]
    leaf = saved(tmp_path, "x", values)
    wanted = in_memory(tensors_of(make(tfr.asarray(values))))
    got, stream = in_tiles(tensors_of(make(leaf)))
    assert got == wanted
    assert stream.cut.count == passes
    assert stream.tiles > 1
    assert leaf.node.storage is None  # the file was read tile by tile


def test_leaves_beside_each_other_are_cut_together(tmp_path):
    x, y = saved(tmp_path, "x", TALL), saved(tmp_path, "y", TALL + 1)
    wanted = in_memory([tfr.asarray(TALL) + (TALL + 1) - tfr.mean(tfr.asarray(TALL + 1))])
    got, stream = in_tiles([x + y - tfr.mean(y)])
    assert got == wanted
    assert {x.node, y.node} <= stream.cut.tiled.keys()
    assert stream.cut.count == 2


def test_host_arrays_are_cut_too():
    wanted = in_memory([tfr.exp(tfr.asarray(TALL))])
    got, stream = in_tiles([tfr.exp(tfr.asarray(TALL))])
    assert got == wanted
    assert stream.tiles > 1


def test_results_made_from_nothing_are_cut_too():
    def make():
        return tfr.random.normal((300_000,), key=tfr.random.key(1)) * 2

    wanted = in_memory([make()])
    got, stream = in_tiles([make()])
    assert got == wanted
    assert stream.tiles > 1


def test_blocks_of_a_tile_are_found_once(tmp_path, monkeypatch):
    found = []
    find = tiled_execution.tile_of
    monkeypatch.setattr(tiled_execution, "tile_of", lambda *given: found.append(1) or find(*given))
    leaf = saved(tmp_path, "x", TALL)
    tensors = [tfr.exp(leaf)[1:] - leaf[:-1], tfr.sum(leaf * 3)]
    roots = core_of(tensors)
    stream = stream_of(roots, tiles=12)
    planned = planned_stream(stream, [])
    assert isinstance(planned, StreamPlan)
    assert stream.tiles > 10
    found.clear()
    stream.run({root: Assembled(root) for root in roots})
    assert len(found) == stream.tiles


def test_short_graphs_have_small_tiles_and_more_buffers_where_there_is_room(tmp_path):
    leaf = saved(tmp_path, "x", np.zeros(4 * planning.ENOUGH // 4, np.float32))
    root = core_of([tfr.sum(leaf)])
    for room, buffers in ((1 << 30, 3), (3 * planning.ENOUGH, 2)):
        planned = plan_stream(root, lambda _, room=room: room, ())
        assert isinstance(planned, StreamPlan)
        assert planned.tile_bytes == planning.ENOUGH
        assert planned.stream.buffers == buffers
        assert planned.peak[CPU] >= buffers * planning.ENOUGH
    long = leaf
    for _ in range(20):
        long = tfr.sin(long) * 1.5
    planned = plan_stream(core_of([tfr.sum(long)]), lambda _: 1 << 30, ())
    assert isinstance(planned, StreamPlan)
    assert planned.tile_bytes > 2 * planning.ENOUGH


def test_tiles_of_one_form_share_a_plan(tmp_path):
    leaf = saved(tmp_path, "x", TALL)
    tensors = [tfr.exp(leaf)[1:] - leaf[:-1], tfr.sum(leaf * 3)]
    stream = stream_of(core_of(tensors), tiles=25)
    before = len(PLANS)
    got, stream = in_tiles(tensors, tiles=25)
    assert got is not None
    assert stream.tiles > 10
    # of the first tile, those between, the last, and each joined with what is carried or not; and the carried sum
    assert len(PLANS) - before <= 6


def test_rows_with_moments_of_their_own_are_not_cut_too_thin():
    """A tile of one long row takes two passes where the whole takes one, whose roundings are others."""
    rows = LONG[:462_000].reshape((7, 66_000))
    x = tfr.asarray(rows)
    stream = stream_of(core_of([tfr.var(x, axis=1)]), tiles=7)
    assert stream.rows == 1
    obstacle = planned_stream(stream, [])
    assert isinstance(obstacle, Obstacle)
    assert "in other chunks" in obstacle.reason
    wanted = in_memory([tfr.var(tfr.asarray(rows), axis=1)])
    got, _ = in_tiles([tfr.var(x, axis=1)], tiles=2)
    assert got in (wanted, None)


JOINED = {
    "the beginning behind the end": lambda x, sums: tfr.roll(sums, -5, axis=0),
    "the beginning again": lambda x, sums: tfr.concat([sums, sums[:6]], axis=0),
    "sums that begin late": lambda x, sums: tfr.concat([x[:4000], sums[4000:]], axis=0),
    "sums with a gap": lambda x, sums: tfr.concat([sums[:3000], x[3000:9000], sums[9000:]], axis=0),
}


@pytest.mark.parametrize("case", JOINED)
def test_sums_that_tiles_do_not_pass_in_order_are_not_cut(case):
    """A tile began with the total of another place, or with none."""

    def make():
        x = tfr.asarray(TALL)
        return [JOINED[case](x, tfr.cumulative_sum(x, axis=0))]

    got, stream = in_tiles(make(), tiles=25)
    assert stream.tiles > 20
    assert got is None
    assert in_tiles(make(), tiles=1)[0] == in_memory(make())
    refused = plan_stream(core_of(make()), lambda _: TALL.nbytes // 4, ())
    assert isinstance(refused, Obstacles)
    told = str(refused)
    assert told.startswith("cumulative_sum: tiles need its running totals in another order")
    assert "test_streams.py" in told


BLOCKING = {
    "a sort along the cut": (tfr.sort, "sort"),
    "a transform": (tfr.fft.rfft, "rfftn"),
    "a reversed copy": (lambda x: x + x[::-1], "slice"),
}


@pytest.mark.parametrize("case", BLOCKING)
def test_what_blocks_is_named(case):
    make, name = BLOCKING[case]
    obstacles = cut_of(core_of([make(tfr.asarray(LONG))]))
    assert name in {obstacle.node.op.name for obstacle in obstacles}
    assert all(obstacle.reason for obstacle in obstacles)
