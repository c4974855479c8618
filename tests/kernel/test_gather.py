"""Elements selected by index tensors, in the loops of what computes with them."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.codegen.python import print_kernel
from tensorframe.errors import IndexingError
from tests.kernel.interpreted import interpreted, kernels_of

INDICES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def on_llvm(values):
    return tfr.asarray(values, device="llvm")


def table(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).standard_normal(shape) * 50
    return (values > 0) if dtype == "bool" else values.astype(dtype)


def indices(size, *shape, dtype="int64", seed=1):
    low = -size if np.dtype(dtype).kind == "i" else 0
    return np.random.default_rng(seed).integers(low, size, shape).astype(dtype)


def check(tensor, expected):
    """One kernel gives these values, interpreted and compiled."""
    plan = tfr.explain(tensor)
    assert plan.kernels == 1, plan
    (found,) = interpreted(tensor)
    for got in (found, tensor.numpy()):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", INDICES)
def test_rows_by_indices_of_every_dtype(dtype):
    x, at = table(40, 5), indices(40, 3, 4, dtype=dtype)
    check(tfr.take(on_llvm(x), on_llvm(at), axis=0) * 2, x[at] * 2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float64"])
def test_elements_of_every_dtype(dtype):
    x, at = table(40, dtype=dtype), indices(40, 7)
    check(tfr.take(on_llvm(x), on_llvm(at), axis=0), x[at])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_selecting_on_each_axis(axis):
    x = table(4, 5, 6)
    at = indices(x.shape[axis], 3, 2)
    check(tfr.take(on_llvm(x), on_llvm(at), axis=axis) + 1, np.take(x, at, axis) + 1)


def test_indices_for_several_axes():
    x, i, j = table(4, 5, 6), indices(4, 3, 1), indices(6, 2)
    check(on_llvm(x)[on_llvm(i), :, on_llvm(j)] + 1, x[i, :, j] + 1)
    check(
        on_llvm(x)[:, on_llvm(indices(5, 3)), on_llvm(indices(6, 3))] + 1,
        x[:, indices(5, 3), indices(6, 3)] + 1,
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_taking_along_an_axis(axis):
    x = table(6, 7)
    index = np.argsort(x, axis)[:3] if axis == 0 else np.argsort(x, axis)[:, :3]
    check(
        tfr.take_along_axis(on_llvm(x), on_llvm(index), axis=axis) * 2,
        np.take_along_axis(x, index, axis) * 2,
    )


def test_taking_along_an_axis_broadcasts():
    x, at = table(6, 1, 4), indices(4, 1, 5, 2)
    got = tfr.take_along_axis(on_llvm(x), on_llvm(at), axis=2) * 2
    check(
        got,
        np.take_along_axis(np.broadcast_to(x, (6, 5, 4)), np.broadcast_to(at, (6, 5, 2)), 2) * 2,
    )


def test_indices_that_are_computed_in_the_loops():
    x, at = table(40, 3), indices(20, 6)
    check(tfr.take(on_llvm(x), on_llvm(at) * 2 + 1, axis=0) * 2, x[at * 2 + 1] * 2)


def test_positions_that_another_gather_gives():
    x, first, second = table(9), indices(9, 5), indices(5, 6)
    got = tfr.take(on_llvm(x), tfr.take(on_llvm(first), on_llvm(second), axis=0), axis=0)
    check(got + 1, x[first[second]] + 1)


def test_tables_of_any_layout():
    x, at = table(6, 40), indices(40, 5)
    check(tfr.take(on_llvm(x).T, on_llvm(at), axis=0) * 2, x.T[at] * 2)
    check(
        tfr.take(on_llvm(x)[::-1, ::2], on_llvm(at // 2), axis=1) * 2,
        x[::-1, ::2][:, at // 2] * 2,
    )


def test_a_reduction_of_selected_rows():
    x, at = table(40, 5).round(), indices(40, 6, 3)
    check(tfr.sum(tfr.take(on_llvm(x), on_llvm(at), axis=0), axis=1), x[at].sum(1))


def test_a_selection_as_one_piece():
    x, at, y = table(40, 3), indices(40, 5), table(2, 3, seed=2)
    got = tfr.concat([on_llvm(y) * 2, tfr.take(on_llvm(x), on_llvm(at), axis=0)])
    check(got, np.concatenate([y * 2, x[at]]))


@pytest.mark.parametrize("bad", [40, -41, 2**40, -(2**63)])
@pytest.mark.parametrize("place", [0, 3, -1])
def test_an_index_out_of_bounds_raises(bad, place):
    at = indices(40, 300)
    at[place] = bad
    computed = on_llvm(at ^ 1) ^ 1  # bounds of indices that are there already are checked at once
    for x in (table(40), table(40, 3)):
        with pytest.raises(IndexingError, match="out of bounds"):
            (tfr.take(on_llvm(x), computed, axis=0) * 2).compute()


def test_an_index_into_nothing_raises():
    at = on_llvm(np.zeros(3, np.int64)) * 1
    with pytest.raises(IndexingError, match="empty"):
        (tfr.take(on_llvm(table(0)), at, axis=0) * 2).compute()


def test_without_indices_nothing_is_selected():
    at = on_llvm(np.zeros(0, np.int64)) * 1
    assert (tfr.take(on_llvm(table(4, 3)), at, axis=0) * 2).numpy().shape == (0, 3)


def test_a_table_that_is_computed_is_computed_once():
    x, at = table(400, 30), indices(400, 500)
    selected = tfr.take(tfr.exp(on_llvm(x) / 50), on_llvm(at), axis=0) * 2
    plan = tfr.explain(selected)
    assert plan.kernels == 2
    assert "what is selected from is read anywhere" in str(plan)
    np.testing.assert_allclose(selected.numpy(), np.exp(x / 50)[at] * 2, rtol=1e-5)


def test_rows_are_found_outside_the_loop_along_them():
    (kernel,) = kernels_of(tfr.take(on_llvm(table(40, 5)), on_llvm(indices(40, 6)), axis=0) * 2)
    lines = print_kernel(kernel).source.splitlines()
    (inner,) = [index for index, line in enumerate(lines) if line.startswith("        for")]
    assert any("missed | " in line for line in lines[:inner])
    assert not any("missed" in line for line in lines[inner + 1 : inner + 2])


def test_other_lengths_take_the_same_kernel():
    def text(size, width, count):
        got = tfr.take(on_llvm(table(size, width)), on_llvm(indices(size, count)), axis=0) * 2
        return [print_kernel(one).source for one in kernels_of(got)]

    assert text(40, 5, 6) == text(70, 9, 8)
