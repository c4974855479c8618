"""Softmax and layer norm: one loop over the rows, each row staying in the cache between its passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

# sums may be taken in any order, so that they vectorise
REORDERED = {"reassoc", "contract", "nsz"}
# and a maximum only vectorises where NaN need not be carried
NO_NAN = REORDERED | {"nnan"}

ZERO = np.float32(0)
ONE = np.float32(1)
EPSILON = np.float32(1e-5)


@njit(fastmath=NO_NAN)
def _largest(row: Any) -> Any:
    largest = row[0]
    for i in range(row.size):
        largest = max(largest, row[i])
    return largest


@njit(fastmath=REORDERED)
def _sum(row: Any) -> Any:
    total = ZERO
    for i in range(row.size):
        total += row[i]
    return total


@njit(fastmath=REORDERED)
def _squares(row: Any, mean: Any) -> Any:
    total = ZERO
    for i in range(row.size):
        centred = row[i] - mean
        total += centred * centred
    return total


@njit(parallel=True)
def softmax(x: Any) -> Any:
    """Maximum, exponentials and their sum, scaling."""
    result = np.empty_like(x)
    for j in prange(x.shape[0]):
        row, target = x[j], result[j]
        largest = _largest(row)
        for i in range(row.size):
            target[i] = np.exp(row[i] - largest)
        scale = ONE / _sum(target)
        for i in range(row.size):
            target[i] *= scale
    return result


@njit(parallel=True)
def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    """Mean, variance, scaling and shift."""
    result = np.empty_like(x)
    size = np.float32(x.shape[1])
    for j in prange(x.shape[0]):
        row, target = x[j], result[j]
        mean = _sum(row) / size
        factor = ONE / np.sqrt(_squares(row, mean) / size + EPSILON)
        for i in range(row.size):
            target[i] = (row[i] - mean) * factor * scale[i] + shift[i]
    return result
