"""Squares by work-groups, interpreted: operands of any order of axes, each read along its own."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.groups import tiles as group_tiles
from tensorframe.kernel.ir import Allocate, Loop, ParallelAxis
from tests.kernel.interpreted import in_groups, interpreted, interpreting, kernels_of

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def some(*shape, dtype=np.float32):
    return np.random.default_rng(0).integers(-9, 10, shape).astype(dtype)


def on(x):
    return tfr.asarray(x, device="llvm")


def check(result, expected):
    with in_groups(), interpreting():
        found, *_ = interpreted(result)
    np.testing.assert_array_equal(found, expected)


def form_of(result):
    """How the loops of the only kernel are shared out, and how many operands go through shared memory."""
    with in_groups(), interpreting():
        (kernel,) = kernels_of(result)
    (loop,) = [statement for statement in kernel.body if isinstance(statement, Loop)]
    return loop.over, sum(isinstance(statement, Allocate) for statement in kernel.body)


@pytest.mark.parametrize("shape", [(3, 3), (7, 5), (2, 11), (2, 4, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex64])
def test_matrices_of_both_orders(shape, dtype):
    x, y = some(*shape, dtype=dtype), some(*shape[:-2], shape[-1], shape[-2], dtype=dtype)
    check(on(x) + on(y).mT, x + y.swapaxes(-1, -2))


def test_one_operand_is_turned():
    x, y = some(7, 5), some(5, 7)
    assert form_of(on(x) * 2 + on(y).mT) == (ParallelAxis.GROUPS, 1)


def test_what_is_of_one_order_is_a_map():
    x, y = some(7, 5), some(7, 5)
    assert form_of(on(x) + on(y)) == (ParallelAxis.GRID, 0)
    assert form_of(on(x) + on(some(5))) == (ParallelAxis.GRID, 0)


def test_short_axes_are_maps(monkeypatch):
    x, y = some(7, 5), some(5, 7)
    with in_groups(), interpreting():
        monkeypatch.setattr(group_tiles, "_LEAST", 6)
        (kernel,) = kernels_of(on(x) + on(y).mT)
    assert [statement.over for statement in kernel.body if isinstance(statement, Loop)] == [
        ParallelAxis.GRID
    ]


def test_no_more_than_shared_memory_has_room_for(monkeypatch):
    x, y, z = some(7, 5), some(5, 7), some(5, 7)
    monkeypatch.setattr(group_tiles, "_MEMORY", 3 * 4 * 4)
    assert form_of(on(x) + on(y).mT * on(z).mT)[1] == 1
    check(on(x) + on(y).mT * on(z).mT, x + y.T * z.T)


def test_a_reshape_of_a_transpose_is_written_in_order():
    x = some(6, 7)
    check(tfr.reshape(on(x).mT * 2, (42,)), (x.T * 2).reshape(42))
