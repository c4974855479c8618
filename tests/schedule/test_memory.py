"""Whose memory a new value may take over: an operand's that is read where it is written, and nowhere else."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.python import print_kernel
from tensorframe.schedule.memory import may_overwrite
from tests.backends.devices import FOUND
from tests.kernel.interpreted import kernels_of, planned

ROWS, COLUMNS = 300, 300


def on_llvm(values):
    return tfr.asarray(values, device="llvm")


def leaf():
    return on_llvm(np.random.default_rng(0).random((ROWS, COLUMNS), dtype=np.float32))


def takes_over(make, output=0):
    """Whether an output of the one kernel of `make(x)` may be written over x."""
    x = leaf()
    made = make(x)
    plan, request = planned(*(made if isinstance(made, tuple) else (made,)))
    (step,) = [one for one in plan.steps if not one.is_view]
    slot = [leaf is x.node for leaf in request.leaves].index(True)
    return may_overwrite(step.region, output, step.inputs.index(slot))


def with_interior(x, values):
    result = tfr.Tensor(x.node)
    result[1:-1, 1:-1] = values
    return result


IN_PLACE = {
    "elementwise": lambda x: x * 2 + x,
    "passes over rows": lambda x: x - tfr.max(x, axis=1, keepdims=True),
    "passes over columns": lambda x: tfr.softmax(x, axis=0),
    "a slice set to what is there": lambda x: with_interior(x, x[1:-1, 1:-1] * 2),
    "flipped twice": lambda x: x[::-1][::-1] * 2,
}
ELSEWHERE = {
    "flipped besides": lambda x: x + x[::-1],
    "flipped": lambda x: x[::-1] * 2,
    "transposed besides": lambda x: x * 2 + x.T,
    "a slice set to its neighbours": lambda x: with_interior(x, x[2:, 1:-1] * 2),
    "rolled": lambda x: tfr.roll(x, 1, axis=0) * 2,
    "gathered": lambda x: tfr.take(x, on_llvm(np.arange(ROWS)), axis=0) * 2,
}


@pytest.mark.parametrize("how", IN_PLACE)
def test_elements_that_are_read_where_they_are_written_may_go(how):
    assert takes_over(IN_PLACE[how])


@pytest.mark.parametrize("how", ELSEWHERE)
def test_elements_that_are_read_elsewhere_stay(how):
    assert not takes_over(ELSEWHERE[how])


def test_of_two_results_the_one_written_last_may_take_the_memory():
    def both(x):
        return x * 2, x + 1

    assert not takes_over(both, 0)
    assert takes_over(both, 1)


def test_a_result_may_be_written_over_what_later_ones_read_only_through_it():
    def averaged(x):
        average = x * 0.9
        return average, tfr.sqrt(average) + average

    def besides(x):
        average = x * 0.9
        return average, tfr.sqrt(average) + x

    assert takes_over(averaged, 0)
    assert not takes_over(besides, 0)


def test_what_is_loaded_for_several_results_is_loaded_once_and_first():
    x = leaf()
    (kernel,) = kernels_of(x * 2, x + 1)
    lines = print_kernel(kernel).source.splitlines()
    loads = [index for index, line in enumerate(lines) if "load_float32" in line]
    stores = [index for index, line in enumerate(lines) if "store_float32" in line]
    assert len(loads) == 1
    assert loads[0] < min(stores)


def test_chains_of_shifted_reads_give_what_numpy_gives():
    x = leaf()
    expected = x.numpy().copy()
    u = tfr.Tensor((x * 1.5).node)
    expected = expected * np.float32(1.5)
    for _ in range(4):
        u = with_interior(u, u[2:, 1:-1] + 0.5 * u[1:-1, :-2])
        following = expected.copy()
        following[1:-1, 1:-1] = expected[2:, 1:-1] + np.float32(0.5) * expected[1:-1, :-2]
        expected = following
    np.testing.assert_array_equal(u.numpy(), expected)


@pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
def test_memory_behind_views_is_freed_with_the_last_of_them(device):
    """Each product reads its factor through views: what these look into is gone before the next one."""
    size, count = 256, 6
    values = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    leaves = [tfr.asarray(values * n, device=device) for n in range(count + 1)]

    def chain():
        result, *factors = leaves
        for factor in factors:
            made = tfr.cumulative_sum(factor, axis=1)  # a step of its own
            result = result @ tfr.reshape(made, (4, size // 4, size)).mT.reshape((size, size))[::-1]
        return result

    nbytes = size * size * 4
    plan = tfr.explain(chain())
    assert any(step.is_view for step in plan.steps)
    freed = [slot for step in plan.steps for slot in step.frees]
    made = {slot for step in plan.steps for slot in step.outputs} - set(plan.outputs)
    assert sorted(freed) == sorted(made)
    assert len(plan.steps[-1].frees) <= 6  # and not what the first product read
    tfr.compute(*leaves)
    tfr.memory.reset_peak()
    before = tfr.memory.stats()[device if device in FOUND else "cpu"].in_use
    chain().compute()
    if device in FOUND:
        assert tfr.memory.stats()[device].peak - before <= 5 * nbytes


@pytest.mark.parametrize("device", FOUND)
def test_elements_of_quantised_matrices_are_made_when_they_are_needed(device):
    """Of many rows: a matrix at a time is there as float32, whatever the size of the others."""
    rows, size = 20, 256
    shapes = [
        (size, size),
        (4 * size, size),
        (size, 4 * size),
        (size, size),
        (size, size),
        (size, size),
    ]
    generator = np.random.default_rng(0)
    matrices = [
        tfr.quantization.quantize(
            tfr.asarray(generator.standard_normal(shape, dtype=np.float32), device=device)
        )
        for shape in shapes
    ]
    x = result = tfr.ones((rows, size), device=device)
    for matrix in matrices:
        result = result @ matrix.mT
    largest = 4 * size * size * 4
    tfr.compute(x, *[part for matrix in matrices for part in (matrix.words, matrix.scales)])
    leaves = x.nbytes + sum(matrix.words.nbytes + matrix.scales.nbytes for matrix in matrices)
    (peak,) = tfr.explain(result).peak.values()
    assert peak - leaves <= 1.5 * largest


@pytest.mark.parametrize("device", ["llvm", *FOUND])
def test_a_long_chain_of_views_of_a_leaf_waits_without_recursion(device):
    x = tfr.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), device=device)
    with tfr.config.override(small_size=0, small_nodes=0):
        y = x
        for _ in range(1500):
            y = tfr.permute_dims(tfr.reshape(y, (4, 3)), (1, 0))
        assert float(tfr.sum(tfr.sort(y, axis=0))) == 66
