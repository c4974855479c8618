"""Blocks of results are made of blocks of operands, whatever the op: the same values as in the whole."""

import random

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.dispatch import call
from tensorframe.graph.node import reachable
from tensorframe.graph.op import Kind, Op, find
from tensorframe.kernel.ir.order import PIECE
from tensorframe.ops import movement
from tensorframe.ops.movement import CONCAT, EXPAND, PAD, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.runtime.evaluate import evaluate
from tensorframe.schedule.blocks import extents, whole
from tensorframe.schedule.pipeline import transform
from tensorframe.schedule.tile_graph import build_tile, demanded, shown
from tensorframe.schedule.tiles import How, followed, join_of, narrowed, part_of, rounds_by_shape

ROWS, COLUMNS = 12, 10


def leaf(*shape, seed=0):
    return tfr.asarray(np.random.default_rng(seed).integers(0, 9, shape).astype(np.float32))


def integers(*shape, below):
    return tfr.asarray(np.random.default_rng(1).integers(0, below, shape))


def assigned(x, key, values):
    result = tfr.Tensor(x.node)
    result[key] = values
    return result


CASES = {
    "map": lambda x: tfr.exp(x) * x[:1] + x[:, :1] + 3,
    "cast": lambda x: x.astype("float64") + tfr.arange(COLUMNS),
    "counted": lambda x: x + tfr.arange(3.0, 3.0 + ROWS * 0.5, 0.5)[:, None],
    "filled": lambda x: x + tfr.full((ROWS, COLUMNS), 2.5),
    "sum": lambda x: tfr.sum(x, axis=1),
    "sum kept": lambda x: tfr.sum(x, axis=1, keepdims=True) + x,
    "largest": lambda x: tfr.argmax(x, axis=0),
    "softmax": lambda x: tfr.softmax(x, axis=1),
    "scan": lambda x: tfr.cumulative_sum(x, axis=0),
    "transposed": lambda x: x.T * 2,
    "sliced": lambda x: x[2:9:2, ::3],
    "reversed": lambda x: x[::-1, ::-2],
    "differences": lambda x: x[1:] - x[:-1],
    "stencil": lambda x: x[1:-1, 1:-1] + x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:],
    "padded": lambda x: tfr.pad(x, ((2, 3), (1, 0))),
    "rolled": lambda x: tfr.roll(x, 5, axis=0),
    "joined": lambda x: tfr.concat([x, x[:5] * 2, x[3:4]], axis=0),
    "stacked": lambda x: tfr.stack([x, x + 1], axis=1),
    "flat": lambda x: (x + 1).reshape((-1,)),
    "folded": lambda x: (x + 1).reshape((4, 3, 5, 2)),
    "merged": lambda x: (x + 1).reshape((4, 30)),
    "regrouped": lambda x: (x + 1).reshape((3, 40)),
    "windows": lambda x: tfr.max(call(WINDOWS, x, attrs=(0, 3, 2, 1)), axis=-1),
    "spread": lambda x: tfr.broadcast_to(x[:, None], (ROWS, 4, COLUMNS)) * 2,
    "taken": lambda x: tfr.take(x, integers(7, below=COLUMNS), axis=1),
    "looked up": lambda x: x[integers(5, 4, below=ROWS)],
    "along": lambda x: tfr.take_along_axis(x, integers(ROWS, 3, below=COLUMNS), axis=1),
    "assigned": lambda x: assigned(x, (slice(2, 9, 3), slice(1, 4)), x[:3, :3] * 2),
    "assigned by index": lambda x: assigned(x, (slice(None), integers(2, below=4)), 7.0),
    "sorted": lambda x: tfr.sort(x, axis=1, descending=True),
    "places": lambda x: tfr.argsort(x, axis=0),
    "middle": lambda x: tfr.median(x, axis=1),
    "transformed": lambda x: tfr.fft.rfft(x, axis=1),
    "transformed across": lambda x: tfr.fft.fft(x, n=7, axis=0),
    "a stack of matrices": lambda x: tfr.linalg.det(x.reshape((30, 2, 2))),
    "product": lambda x: x @ leaf(COLUMNS, 3, seed=2),
    "turned product": lambda x: leaf(3, ROWS, seed=2) @ x,
    "vector product": lambda x: x @ leaf(COLUMNS, seed=2),
    "stack of products": lambda x: x.reshape((2, 6, COLUMNS)) @ leaf(COLUMNS, 3, seed=2),
}


def roots_of(how):
    """The core graph of a case, whose leaves are computed."""
    return transform([CASES[how](leaf(ROWS, COLUMNS)).node])


def is_leaf(node):
    return not node.inputs


def values_of(*nodes):
    evaluate(nodes)
    return [tfr.Tensor(node).numpy() for node in nodes]


def blocks_of(shape, chosen, count):
    for _ in range(count):
        ends = [sorted(chosen.sample(range(size + 1), 2)) for size in shape]
        yield tuple(map(tuple, ends))


@pytest.mark.parametrize("how", CASES)
def test_a_block_is_made_of_blocks(how):
    (root,) = roots_of(how)
    (everything,) = values_of(*transform([CASES[how](leaf(ROWS, COLUMNS)).node]))
    chosen = random.Random(how)
    for block in blocks_of(root.shape, chosen, 12):
        blocks = demanded([(root, block)], is_leaf)
        made = build_tile(blocks, is_leaf, shown)
        shown_block = made.shown(root, block)
        assert shown_block.shape == extents(block)
        (got,) = values_of(shown_block)
        wanted = everything[tuple(slice(*interval) for interval in block)]
        if rounds_by_shape_somewhere(root):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        else:
            assert np.array_equal(got, wanted, equal_nan=True)


def rounds_by_shape_somewhere(root):
    return any(rounds_by_shape(node.op) for node in reachable([root]))


@pytest.mark.parametrize("how", CASES)
def test_the_block_of_everything_is_everything(how):
    for node in reachable(roots_of(how)):
        if node.inputs and 0 not in node.shape:
            shapes = [source.shape for source in node.inputs]
            part = part_of(node.op, node.attrs, shapes, node.shape, whole(node.shape))
            assert part.shape == node.shape
            assert part.crop is None


def test_every_op_that_only_moves_elements_has_blocks():
    """A new view without a rule would make everything behind it blocking."""
    # written out before plans are made, and parts of calls, which are not cut
    without = {movement.ALIAS, movement.STOP_GRADIENT, movement.DEPENDS, movement.PART}
    views = {op for op in vars(movement).values() if isinstance(op, Op) and op.kind is Kind.VIEW}
    assert views - without == {SLICE, PERMUTE, EXPAND, RESHAPE, PAD, CONCAT, WINDOWS}


AXES = {
    # (what is done, the axis of the operand) -> the axis of the result that goes along
    ("transposed", 0): 1,
    ("flat", 0): 0,
    ("flat", 1): None,
    ("folded", 0): 0,
    ("folded", 1): 2,
    ("merged", 0): 0,
    ("sum", 0): 0,
    ("sum", 1): None,
    ("sorted", 0): 0,
    ("sorted", 1): None,
    ("padded", 1): 1,
    ("joined", 0): 0,
    ("windows", 0): 0,
    ("scan", 1): 1,
}


@pytest.mark.parametrize(("how", "axis"), AXES)
def test_the_axis_of_a_result_that_goes_along_with_one_of_the_operand(how, axis):
    cut = {}
    for node in reachable(roots_of(how)):
        if not node.inputs:
            cut[node] = axis
            continue
        shapes = [source.shape for source in node.inputs]
        (source, number) = next((one, place) for place, one in enumerate(node.inputs) if one.shape)
        along = cut.get(source)
        cut[node] = (
            None
            if along is None
            else followed(node.op, node.attrs, shapes, node.shape, number, along)
        )
    assert cut[node] == AXES[how, axis]


def test_one_place_of_a_product_needs_a_line_of_each_factor():
    matmul = find("matmul")
    shapes = [(6, 4), (4, 5)]
    assert narrowed(matmul, (), shapes, (6, 5), 0, 0) == {0: 1}
    assert narrowed(matmul, (), shapes, (6, 5), 1, 0) == {}
    assert narrowed(matmul, (), shapes, (6, 5), 1, 1) == {1: 1}


F32, F16, I32 = (np.dtype(name) for name in ("float32", "float16", "int32"))


def test_sums_are_cut_between_the_pieces_of_their_order():
    total = find("sum")
    assert join_of(total, F32, ((0,), False), (10**6,), 0).grain == PIECE
    assert join_of(total, F32, ((0, 1), False), (10**6, 8), 0).grain == PIECE // 8
    assert (
        join_of(total, F32, ((0, 1), False), (10**6, 300), 0).grain == 1
    )  # rows of 300 are pieces
    assert join_of(total, F32, ((0,), False), (10**6, 300), 0).grain == PIECE
    assert join_of(total, I32, ((0,), False), (10**6,), 0).grain == 1
    assert join_of(total, F16, ((0,), False), (10**6,), 0).dtype == F32
    assert join_of(find("prod"), F32, ((0,), False), (10**6,), 0).dtype == np.float64


def test_what_is_not_put_together_from_blocks_says_why():
    assert "before the cut" in join_of(find("sum"), F32, ((0, 1), False), (50, 10**6), 1)
    assert "before the cut" in join_of(find("argmax"), F32, ((0, 1), False), (50, 10**6), 1)
    assert join_of(find("max"), F32, ((0, 1), False), (50, 10**6), 1).how is How.COMBINE
