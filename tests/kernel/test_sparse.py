"""Kernels of sparse products, interpreted: dense results, marks for wrong indices, no load outside the operands."""

import numpy as np
import pytest

from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.forms import sparse_pieces as of_threads
from tensorframe.kernel.forms.sparse import build_sparse as build_pieces
from tensorframe.kernel.groups.algorithms.sparse import build_sparse as build_groups
from tensorframe.kernel.groups.target import Target
from tensorframe.ops.sparse import (
    ROW_NUMBERS,
    SAMPLED_MATMUL,
    SPARSE_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
)
from tests.kernel.interpreted import run_built

TARGET = Target(4, np.dtype(np.float64), np.dtype(np.uint32))
# four rows, the second of which is empty: unsorted, with a duplicate
DATA = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
INDICES = np.array([2, 0, 2, 1, 0, 1], np.int32)
INDPTR = np.array([0, 3, 3, 5, 6], np.int32)
DENSE = np.array([[2.0, 0, 5], [0, 0, 0], [16, 8, 0], [0, 32, 0]])
ROWS = np.array([0, 0, 0, 2, 2, 3])


in_both_forms = pytest.mark.parametrize(
    "build", [build_pieces, build_groups], ids=["threads", "work-groups"]
)
whether_checked = pytest.mark.parametrize("checked", [False, True])


def run(build, op, attrs, *inputs):
    """Return what the kernels of an op give for these operands, and whether they have marked one as wrong."""
    shapes = tuple(array.shape for array in inputs)
    shape = op.shape(shapes, *attrs)
    region = Region(
        tuple((array.shape, array.dtype) for array in inputs),
        (RegionOp(op, attrs, tuple(range(len(inputs))), shape, inputs[0].dtype),),
        (len(inputs),),
    )
    strides = [tuple(step // array.itemsize for step in array.strides) for array in inputs]
    # the parts of a complex number are an axis of their own
    strides = [
        (*steps, 1) if array.dtype.kind == "c" else steps
        for steps, array in zip(strides, inputs, strict=True)
    ]
    built = build(region, strides) if build is build_pieces else build(region, strides, TARGET)
    result = np.zeros(shape, inputs[0].dtype)
    buffers = {f"x{number}": array for number, array in enumerate(inputs)}
    return result, bool(run_built(built, {**buffers, "y0": result}))


@pytest.fixture(params=["pieces", "long rows", "several results"])
def cuts(request, monkeypatch):
    """Sizes so small that a handful of elements is a matrix of many pieces."""
    monkeypatch.setattr(of_threads, "_PIECE", 3 if request.param != "long rows" else 1 << 14)
    monkeypatch.setattr(of_threads, "_LONG", 0 if request.param == "long rows" else 100)
    monkeypatch.setattr(of_threads, "_REUSED", 0.1 if request.param == "several results" else 4)


@whether_checked
@in_both_forms
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 1), (3, 5), (3, 17), (3, 70)])
def test_products(cuts, build, shape, checked):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1
    result, wrong = run(build, SPARSE_MATMUL, (checked,), DATA, INDICES, INDPTR, x)
    np.testing.assert_array_equal(result, DENSE @ x)
    assert not wrong


@whether_checked
@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_transposed_products(cuts, shape, checked):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape) + 1
    result, wrong = run(
        build_pieces, TRANSPOSED_SPARSE_MATMUL, (3, False, checked), DATA, INDICES, INDPTR, x
    )
    np.testing.assert_array_equal(result, DENSE.T @ x)
    assert not wrong


def test_products_in_the_order_of_rows_have_one_result():
    (launch,) = of_a_million_elements(TRANSPOSED_SPARSE_MATMUL, 10_000, ordered=True)
    assert launch.total == 1


@whether_checked
@in_both_forms
@pytest.mark.parametrize("width", [(), (1,), (40,)])
def test_sampled_products(cuts, build, width, checked):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, *width)), rng.standard_normal((3, *width))
    result, wrong = run(build, SAMPLED_MATMUL, (checked,), x, y, INDICES, INDPTR)
    whole = x.reshape(4, -1) @ y.reshape(3, -1).T
    np.testing.assert_allclose(result, whole[ROWS, INDICES], atol=1e-12)
    assert not wrong


@in_both_forms
def test_numbers_of_rows(cuts, build):
    result, wrong = run(build, ROW_NUMBERS, (6,), INDPTR)
    np.testing.assert_array_equal(result, ROWS)
    assert not wrong


@in_both_forms
@pytest.mark.parametrize(
    ("indices", "indptr"),
    [
        ([2, 0, 3, 1, 0, 1], INDPTR),
        ([2, 0, -1, 1, 0, 1], INDPTR),
        (INDICES, [0, 3, 2, 5, 6]),
        (INDICES, [0, 900, 2, 5, 6]),
        (INDICES, [0, -5, 2, 5, 6]),
        (INDICES, [1, 3, 3, 5, 6]),
        (INDICES, [0, 3, 3, 5, 7]),
        (INDICES, [0, 3, 3, 5, 5]),
    ],
)
def test_wrong_indices_are_marked_and_not_followed(cuts, build, indices, indptr):
    arrays = (DATA, np.array(indices, np.int32), np.array(indptr, np.int32))
    for x in (np.ones(3), np.ones((3, 2))):
        assert run(build, SPARSE_MATMUL, (False,), *arrays, x)[1]
    if build is build_pieces:
        assert run(build, TRANSPOSED_SPARSE_MATMUL, (3, False, False), *arrays, np.ones(4))[1]


def of_a_million_elements(op, rows, *, ordered=False):
    """The launches of a product of a square matrix with a million elements and a vector."""
    attrs = (rows, ordered, True) if op is TRANSPOSED_SPARSE_MATMUL else (True,)
    shapes = [(1_000_000,), (1_000_000,), (rows + 1,), (rows,)]
    dtypes = [np.dtype(own) for own in ("f4", "i4", "i4", "f4")]
    operation = RegionOp(op, attrs, (0, 1, 2, 3), (rows,), dtypes[0])
    region = Region(tuple(zip(shapes, dtypes, strict=True)), (operation,), (4,))
    return build_pieces(region, [(1,)] * 4).launches


@pytest.mark.parametrize(
    ("op", "rows"),
    [
        *[(SPARSE_MATMUL, rows) for rows in (2_000, 10_000, 100_000)],
        *[(TRANSPOSED_SPARSE_MATMUL, rows) for rows in (2_000, 10_000, 100_000)],
    ],
)
def test_a_million_elements_are_shared_by_two_threads(op, rows):
    first = of_a_million_elements(op, rows)[0]
    pieces = -(-first.total // first.grain)
    # who takes one more takes 1 / 1.8 of them at most
    assert -(-pieces // 2) / pieces <= 1 / 1.8


def test_few_elements_for_each_of_a_result_make_no_second_result():
    """Clearing another, and adding it up, takes a quarter of the time of ten elements for each of the result."""
    (only,) = of_a_million_elements(TRANSPOSED_SPARSE_MATMUL, 200_000)
    assert only.total == only.grain == 1


@whether_checked
@pytest.mark.parametrize("long", [0, 100], ids=["accumulators", "one after the other"])
@pytest.mark.parametrize("length", [3, 4, 11, 16])
def test_unrolled_loops_over_elements(monkeypatch, length, long, checked):
    """Four in an iteration, and the rest: rows of other lengths before and after, and their bits those of one order."""
    monkeypatch.setattr(of_threads, "_LONG", long)
    monkeypatch.setattr(of_threads, "UNROLLED", 1)
    rng = np.random.default_rng(length)
    lengths = np.array([length, 0, 5, length + 1])
    indptr = np.r_[0, lengths.cumsum()].astype(np.int32)
    indices = rng.integers(0, 9, indptr[-1], np.int32)
    data = rng.integers(-9, 10, indptr[-1]).astype(float)
    dense = np.zeros((4, 9))
    np.add.at(dense, (np.arange(4).repeat(lengths), indices), data)
    for op, attrs, x, expected in (
        (SPARSE_MATMUL, (checked,), np.arange(9.0), dense @ np.arange(9.0)),
        (TRANSPOSED_SPARSE_MATMUL, (9, False, checked), np.arange(4.0), dense.T @ np.arange(4.0)),
    ):
        result, wrong = run(build_pieces, op, attrs, data, indices, indptr, x)
        np.testing.assert_array_equal(result, expected)
        assert not wrong


@pytest.mark.parametrize("op", [SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL])
@pytest.mark.parametrize(("rows", "lines"), [(10_000, 2), (500_000, 0)])
def test_elements_and_columns_of_rows_with_several_are_prefetched(op, rows, lines):
    (first, *_) = of_a_million_elements(op, rows)
    assert str(first.kernel.body).count("Prefetch(") == lines


@pytest.mark.parametrize("width", [2, 3, 4, 7, 8, 9, 16, 17, 31, 40])
def test_columns_of_transposed_products_are_added_once(width):
    x = np.arange(4.0 * width).reshape(4, width) + 1
    for checked in (True, False):
        result, wrong = run(
            build_pieces, TRANSPOSED_SPARSE_MATMUL, (3, False, checked), DATA, INDICES, INDPTR, x
        )
        np.testing.assert_array_equal(result, DENSE.T @ x)
        assert not wrong


def test_columns_that_nobody_reads_are_not_prefetched():
    """A vector of one number everywhere is read in its only place."""
    operation = RegionOp(SPARSE_MATMUL, (True,), (0, 1, 2, 3), (100,), np.dtype(float))
    shapes = [(1000,), (1000,), (101,), (100,)]
    dtypes = [np.dtype(own) for own in ("f8", "i4", "i4", "f8")]
    region = Region(tuple(zip(shapes, dtypes, strict=True)), (operation,), (4,))
    (launch,) = build_pieces(region, [(1,), (1,), (1,), (0,)]).launches
    assert str(launch.kernel.body).count("Prefetch(") == 1
    assert [buffer.name for buffer in launch.kernel.inputs] == ["x0", "x2", "x3"]
