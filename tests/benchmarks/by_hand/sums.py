"""Sums and variances of a matrix: over everything, down the columns, along the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from tests.benchmarks.by_hand.rows import REORDERED, ZERO, _squares, _sum

# rows that are summed by one thread at a time: enough to share out, few enough to add up at the end
BLOCK = 256


@njit(parallel=True)
def _sum_rows(x: Any) -> Any:
    result = np.empty(x.shape[0], np.float32)
    for j in prange(x.shape[0]):
        result[j] = _sum(x[j])
    return result


@njit(parallel=True)
def _sum_columns(x: Any) -> Any:
    rows, columns = x.shape
    blocks = (rows + BLOCK - 1) // BLOCK
    partial = np.zeros((blocks, columns), np.float32)
    for block in prange(blocks):
        total = partial[block]
        for j in range(block * BLOCK, min(rows, (block + 1) * BLOCK)):
            for i in range(columns):
                total[i] += x[j, i]
    result = np.zeros(columns, np.float32)
    for block in range(blocks):
        result += partial[block]
    return result


@njit
def _sum_all(x: Any) -> Any:
    return _sum(_sum_rows(x))


@njit(parallel=True)
def _variance_rows(x: Any) -> Any:
    result = np.empty(x.shape[0], np.float32)
    size = np.float32(x.shape[1])
    for j in prange(x.shape[0]):
        row = x[j]
        result[j] = _squares(row, _sum(row) / size) / size
    return result


@njit(parallel=True)
def _variance_columns(x: Any) -> Any:
    rows, columns = x.shape
    mean = _sum_columns(x) / np.float32(rows)
    blocks = (rows + BLOCK - 1) // BLOCK
    partial = np.zeros((blocks, columns), np.float32)
    for block in prange(blocks):
        total = partial[block]
        for j in range(block * BLOCK, min(rows, (block + 1) * BLOCK)):
            for i in range(columns):
                centred = x[j, i] - mean[i]
                total[i] += centred * centred
    result = np.zeros(columns, np.float32)
    for block in range(blocks):
        result += partial[block]
    return result / np.float32(rows)


@njit(parallel=True, fastmath=REORDERED)
def _variance_all(x: Any) -> Any:
    size = np.float32(x.size)
    mean = _sum_all(x) / size
    total = ZERO
    for j in prange(x.shape[0]):
        total += _squares(x[j], mean)
    return total / size


def _as_float32(function: Any) -> Any:
    # Numba hands a number out as Python's
    return lambda x: np.float32(function(x))


# by axis
SUMS = {None: _as_float32(_sum_all), 0: _sum_columns, 1: _sum_rows}
VARIANCES = {None: _as_float32(_variance_all), 0: _variance_columns, 1: _variance_rows}
