"""Kernels of scatters, interpreted, which refuses whatever is out of an array's bounds."""

import numpy as np
import pytest

from tensorframe.kernel.groups.algorithms import scatter
from tensorframe.kernel.groups.algorithms.scatter import (
    Pointing,
    Replacing,
    build_combined,
    build_ends,
    build_stores,
    build_targets,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.ops.indexing import SCATTER_ADD, SCATTER_MAX, SCATTER_PROD
from tests.kernel.interpreted import run_built

TARGET = Target(4, np.dtype(np.float64), np.dtype(np.uint32))


def targets(sizes, *indices):
    """The numbers of the elements that indices point to, and whether one was out of bounds."""
    indices = np.broadcast_arrays(*indices)
    steps = [tuple(step // index.itemsize for step in index.strides) for index in indices]
    dtypes = tuple(index.dtype for index in indices)
    pointing = Pointing(sizes, indices[0].shape, dtypes, tuple(steps))
    found = np.zeros(indices[0].size, np.uint32)
    operands = {f"x{index}": one for index, one in enumerate(indices, start=1)}
    missed = run_built(build_targets(pointing, TARGET), operands | {"y0": found})
    return found, missed


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64"])
def test_targets_are_numbered_in_c_order(dtype):
    rows, columns = np.array([[0], [3]], dtype), np.array([1, 4, 0], dtype)
    found, missed = targets((4, 5), rows, columns)
    assert not missed
    np.testing.assert_array_equal(found, (rows * 5 + columns).ravel())


def test_targets_from_the_end():
    found, missed = targets((200,), np.array([-1, 0, -128], np.int8))
    assert not missed
    assert found.tolist() == [199, 0, 72]


@pytest.mark.parametrize("wrong", [4, -5, 2**32, -(2**32), 2**63 - 1, -(2**63)])
def test_targets_out_of_bounds_are_marked(wrong):
    assert targets((4,), np.array([1, wrong], np.int64))[1]


def test_the_last_of_equal_targets_is_stored():
    x, values = np.zeros((2, 3, 2)), np.arange(16.0).reshape(2, 4, 2)
    replacing = Replacing(
        *[x.dtype, (3,), (2,), (4,), (2,)], ((2,), (8,), (6,)), ((2,), (1,), (1,)), 0
    )
    operands = {"x0": np.array([0, 2, 2, 2], np.uint32), "x1": np.array([1, 0, 2, 3], np.uint32)}
    run_built(build_stores(replacing, TARGET), operands | {"x2": values, "y0": x})
    expected = np.zeros((2, 3, 2))
    expected[:, 0], expected[:, 2] = values[:, 1], values[:, 3]
    np.testing.assert_array_equal(x, expected)


def test_ends_of_equal_targets():
    found = np.zeros(6, np.uint32)
    operands = {"x0": np.array([0, 2, 2, 2, 5, 5], np.uint32), "y0": found}
    run_built(build_ends(6, np.dtype(np.uint32), TARGET), operands)
    assert found.tolist() == [1, 4, 4, 4, 6, 6]


def test_values_of_equal_targets_join_their_element_in_order():
    x, values = np.ones((2, 3, 2)), np.arange(16.0).reshape(2, 4, 2)
    replacing = Replacing(
        *[x.dtype, (3,), (2,), (4,), (2,)], ((2,), (8,), (6,)), ((2,), (1,), (1,)), 0
    )
    operands = {"x0": np.array([0, 2, 2, 2], np.uint32), "x1": np.array([1, 0, 2, 3], np.uint32)}
    operands |= {"x2": values, "x3": np.array([1, 4, 4, 4], np.uint32), "y0": x}
    run_built(build_combined(replacing, SCATTER_ADD, TARGET), operands)
    expected = np.ones((2, 3, 2))
    expected[:, 0] += values[:, 1]
    expected[:, 2] += values[:, 0] + values[:, 2] + values[:, 3]
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("op", [SCATTER_ADD, SCATTER_PROD, SCATTER_MAX], ids=str)
@pytest.mark.parametrize("shared", [(), (2,)], ids=str)
def test_many_values_of_one_element_are_joined_in_pieces(op, shared, monkeypatch):
    monkeypatch.setattr(scatter, "_PIECE", 3)
    targets = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4], np.uint32)
    ends = np.searchsorted(targets, targets, "right").astype(np.uint32)
    order = np.random.default_rng(0).permutation(12).astype(np.uint32)
    width = int(np.prod(shared, dtype=int))
    x, values = np.arange(5.0 * width) + 1, np.arange(12.0 * width) - 4
    behind = (shared, (1,) * len(shared), (1,) * len(shared))
    replacing = Replacing(x.dtype, (5,), (width,), (12,), (width,), ((), (), ()), behind, 0)
    built = build_combined(replacing, op, TARGET)
    assert len(built.launches) == 2
    expected = x.reshape(5, width).copy()
    ufunc = {SCATTER_ADD: np.add, SCATTER_PROD: np.multiply, SCATTER_MAX: np.maximum}[op]
    ufunc.at(expected, targets, values.reshape(12, width)[order])
    run_built(built, {"x0": targets, "x1": order, "x2": values, "x3": ends, "y0": x})
    np.testing.assert_allclose(x.reshape(5, width), expected, rtol=1e-14)
