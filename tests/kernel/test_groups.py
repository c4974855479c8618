"""Kernels of work-groups, interpreted: NumPy's results for any number of threads, within the bounds of operands."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import Combine, If, Loop, ParallelAxis
from tensorframe.kernel.ir.walk import expressions, in_order
from tensorframe.testing.compare import assert_close
from tensorframe.testing.random_graph import check, program_of
from tests.kernel.form_cases import CASES, by_numpy, operand, tensors
from tests.kernel.interpreted import in_groups, interpreted, interpreting, kernels_of

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)

CHUNK = 5


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lanes", [1, 4])
def test_every_form(name, lanes):
    one = CASES[name]
    x = operand(one)
    with in_groups(lanes), interpreting():
        found = interpreted(*tensors(one, x))
    for value, expected in zip(found, by_numpy(one, x), strict=True):
        assert_close(value, expected, ulp=one.ulp)


def statements(body):
    for statement in body:
        yield statement
        if isinstance(statement, Loop | If):
            yield from statements(statement.body)


def shared_out(*results):
    """How the loops of the kernels are shared out, and how often threads join their values."""
    with in_groups(), interpreting():
        found = [list(statements(kernel.body)) for kernel in kernels_of(*results)]
    loops = [[one.over for one in kernel if isinstance(one, Loop)] for kernel in found]
    joins = [sum(isinstance(one, Combine) for one in kernel) for kernel in found]
    return loops, joins


def matrix(*shape):
    return tfr.asarray(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), device="llvm")


def test_a_map_gives_each_thread_an_element():
    assert shared_out(matrix(3, 5) * 2) == ([[ParallelAxis.GRID]], [0])


def test_a_softmax_is_one_kernel_with_a_group_for_each_row():
    loops, joins = shared_out(tfr.softmax(matrix(7, 14)))
    shared = [axis for axis in loops[0] if axis is not ParallelAxis.NOTHING]
    assert (len(loops), shared) == (1, [ParallelAxis.GROUPS, *[ParallelAxis.LANES] * 3])
    assert joins == [2]


def test_columns_are_summed_by_a_thread_each():
    loops, joins = shared_out(tfr.sum(matrix(2, 12), axis=0))
    assert (loops, joins) == ([[ParallelAxis.GRID, ParallelAxis.NOTHING]], [0])


def test_a_thread_adds_a_longer_column_slot_by_slot():
    loops, joins = shared_out(tfr.sum(matrix(4, 12), axis=0))
    assert (loops, joins) == ([[ParallelAxis.GRID, *[ParallelAxis.NOTHING] * 2]], [0])


def test_whole_numbers_have_no_order():
    x = tfr.astype(matrix(4, 12), "int32")
    loops, _ = shared_out(tfr.sum(x, axis=0))
    assert loops == [[ParallelAxis.GRID, ParallelAxis.NOTHING]]


def test_a_sum_of_everything_has_partial_results():
    loops, joins = shared_out(tfr.sum(matrix(20, 30)))
    assert [loop[0] for loop in loops] == [ParallelAxis.GROUPS, ParallelAxis.GROUPS]
    assert joins == [1, 1]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize("start", range(30_000, 30_200, CHUNK))
def test_random_programs(start, index):
    with in_groups(index=index), interpreting():
        for seed in range(start, start + CHUNK):
            if "(300, 500)" not in program_of(seed).body():
                check(seed, device="llvm")


def tree_size(root):
    """How many operations the text of an expression has, in which what is shared is written again and again."""
    sizes = {}
    for expr in in_order((root,), {}):
        sizes[expr] = 1 + sum(sizes[operand] for operand in expr.operands)
    return sizes[root]


def test_what_follows_a_choice_is_named():
    """Powers of integers square a value 64 times: without names the text would have 2^64 of them."""
    x = tfr.asarray(np.arange(12).reshape(3, 4), device="llvm")
    with in_groups(), interpreting():
        (kernel,) = kernels_of(tfr.pow(tfr.concat([x, x], axis=0), 2 * x[0, 1]))
    roots, _ = expressions(kernel.body)
    assert max(map(tree_size, roots)) < 100
