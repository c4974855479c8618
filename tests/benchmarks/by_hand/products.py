"""A matrix product by BLAS, and bias and gelu in the loop after it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, prange

HALF = np.float32(0.5)
ONE = np.float32(1)
ROOT_HALF = np.float32(0.5**0.5)


@njit
def product(x: Any, weight: Any, _bias: Any) -> Any:
    """The product alone."""
    return np.dot(x, weight)


@njit(parallel=True)
def dense(x: Any, weight: Any, bias: Any) -> Any:
    """Bias and gelu over the product, in its place."""
    result = np.dot(x, weight)
    for j in prange(result.shape[0]):
        row = result[j]
        for i in range(row.size):
            y = row[i] + bias[i]
            row[i] = y * HALF * (ONE + math.erf(y * ROOT_HALF))
    return result
