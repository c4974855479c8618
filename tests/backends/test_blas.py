"""Stacks of matrices: the same bits for any number of threads, and BLAS left as it was."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tensorframe import config
from tensorframe.backends.numpy import blas


def blas_threads() -> list[int]:
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def operands(*batches: tuple[int, ...], size: int = 96) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random((*batch, size, size), dtype=np.float32) for batch in batches]


@pytest.mark.parametrize(
    ("left", "right"),
    [((12,), (12,)), ((3, 4), (3, 4)), ((1, 9), (2, 1)), ((7,), (5, 7)), ((2,), ()), ((0,), (1,))],
)
@pytest.mark.parametrize("size", [60, 96])
def test_stacks_multiply_as_in_numpy(
    left: tuple[int, ...], right: tuple[int, ...], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "_WORTH_SHARING", 0)
    x, y = operands(left, right, size=size)
    np.testing.assert_allclose(blas.product_of_stacks(x, y), np.matmul(x, y), rtol=1e-5)


def test_the_number_of_threads_does_not_change_the_bits() -> None:
    x, y = operands((11,), (11,))
    results = []
    for threads in (1, 2, 5, 16):
        with config.override(threads=threads):
            results.append(blas.product_of_stacks(x, y))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_blas_gets_its_threads_back() -> None:
    before = blas_threads()
    x, y = operands((16,), (16,))
    callers = [threading.Thread(target=blas.product_of_stacks, args=(x, y)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert blas_threads() == before


def test_transposed_views_need_no_copy() -> None:
    x, y = operands((16,), (16,))
    np.testing.assert_allclose(
        blas.product_of_stacks(x.swapaxes(-1, -2), y.swapaxes(-1, -2)),
        np.matmul(x.swapaxes(-1, -2), y.swapaxes(-1, -2)),
        rtol=1e-5,
    )
