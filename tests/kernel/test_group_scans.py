"""Scans by work-groups, interpreted: NumPy's results for rows of every length, in one kernel or in pieces."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import Barrier, If, Loop, ParallelAxis
from tests.kernel.interpreted import in_groups, interpreted, interpreting, kernels_of

pytest.importorskip(
    "llvmlite", reason="the planner groups what kernels compute, where there are any"
)


@pytest.fixture(autouse=True)
def planned():
    with tfr.config.override(small_size=0, small_nodes=0):
        yield


def some(*shape):
    return np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)


def on(x):
    return tfr.asarray(x, device="llvm")


def check(result, expected, lanes=4):
    with in_groups(lanes), interpreting():
        found, *_ = interpreted(result)  # what is held meanwhile is a result too
    np.testing.assert_array_equal(found, expected)


SHAPES = [(2, 3), (2, 5), (7, 9), (2, 17), (2, 40), (1, 131), (3, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lanes", [1, 4])
def test_rows_of_every_length(shape, lanes):
    x = some(*shape)
    check(tfr.cumulative_sum(on(x), axis=1), np.cumsum(x, axis=1), lanes)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns(shape):
    x = some(*shape).T
    check(tfr.cumulative_sum(on(x) * 2, axis=0), np.cumsum(2 * x, axis=0))


def test_products_and_integers():
    x = np.where(some(2, 40) > 2, 2, 1).astype(np.int8)
    expected = np.cumprod(x, axis=1, dtype=np.int64)
    check(tfr.cumulative_prod(on(x), axis=1), expected)


def test_complex_numbers():
    x = (some(2, 37) + 1j * some(2, 37)[::-1]).astype(np.complex64)
    check(tfr.cumulative_sum(on(x), axis=1), np.cumsum(x, axis=1))


def test_scans_of_scans_are_one_kernel():
    x = some(2, 40)
    check(
        tfr.cumulative_sum(tfr.cumulative_sum(on(x), axis=1), axis=1),
        np.cumsum(np.cumsum(x, axis=1), axis=1),
    )


def test_scans_and_what_is_done_to_them():
    x = some(2, 40)
    y = tfr.cumulative_sum(on(x), axis=1)
    check(y - tfr.sum(y, axis=1, keepdims=True), (s := np.cumsum(x, axis=1)) - s.sum(1)[:, None])
    check(tfr.abs(y) + on(x), np.abs(s) + x)


def outer_loops(result):
    with in_groups(), interpreting():
        kernels = kernels_of(result)
    return [
        [statement.over for statement in kernel.body if isinstance(statement, Loop)]
        for kernel in kernels
    ]


def test_the_form_follows_the_shape():
    def scan(*shape, axis=1):
        return outer_loops(tfr.cumulative_sum(on(some(*shape)), axis=axis))

    assert scan(7, 2) == [[ParallelAxis.GRID]]  # short rows: a thread each
    assert scan(7, 40) == [[ParallelAxis.GROUPS]]
    assert scan(2, 40) == [[ParallelAxis.GROUPS]] * 3  # few long rows: in pieces
    assert scan(40, 20, axis=0) == [[ParallelAxis.GRID]]


def barriers(body):
    return sum(
        barriers(statement.body)
        if isinstance(statement, Loop | If)
        else isinstance(statement, Barrier)
        for statement in body
    )


def test_a_tile_waits_twice():
    """For the totals of its classes, and for what comes before each of them."""
    with in_groups(8), interpreting():
        (kernel,) = kernels_of(tfr.cumulative_sum(on(some(7, 40)), axis=1))
    assert barriers(kernel.body) == 2


def test_short_scans_and_their_sums_without_float64():
    x = some(3, 20)
    y = tfr.cumulative_sum(on(x), axis=1)
    total = tfr.sum(y, axis=1)
    with in_groups(64, widest=np.float32), interpreting():
        found = interpreted(total, y)
    np.testing.assert_array_equal(found[0], np.cumsum(x, axis=1).sum(axis=1))
    np.testing.assert_array_equal(found[1], np.cumsum(x, axis=1))
