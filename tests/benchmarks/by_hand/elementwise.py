"""Elementwise loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, prange

ONE = np.float32(1)
TWO = np.float32(2)


def _expression(a: Any, b: Any) -> Any:
    result = np.empty_like(a)
    for i in prange(a.size):
        x, y = a[i], b[i]
        result[i] = np.exp(-x * x) * np.sin(y) + x / (ONE + y * y)
    return result


expression = njit(parallel=True)(_expression)
# sixteen elements are not worth waking a thread for
small_expression = njit(_expression)


@njit(parallel=True)
def transposed(a: Any, b: Any) -> Any:
    """Written row by row of `a`, and handed out transposed, so that both are read and written in order."""
    rows, columns = a.shape
    result = np.empty_like(a)
    for j in prange(rows):
        for i in range(columns):
            result[j, i] = a[j, i] * TWO + b[i]
    return result.T


@njit(parallel=True)
def black_scholes(price: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
    """Calls and puts in one loop."""
    calls, puts = np.empty_like(price), np.empty_like(price)
    for i in prange(price.size):
        s, k, t, r, v = price[i], strike[i], years[i], rate[i], volatility[i]
        deviation = v * math.sqrt(t)
        d1 = (math.log(s / k) + (r + v * v / 2) * t) / deviation
        d2 = d1 - deviation
        discounted = k * math.exp(-r * t)
        below1 = 0.5 + 0.5 * math.erf(d1 * 0.5**0.5)
        below2 = 0.5 + 0.5 * math.erf(d2 * 0.5**0.5)
        calls[i] = s * below1 - discounted * below2
        puts[i] = calls[i] - s + discounted
    return calls, puts
