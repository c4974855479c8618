"""The heat equation as a loop over the inner points, from one array to the other and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

FOUR = np.float32(4)
RATE = np.float32(0.1)


def _heat(start: Any, steps: int) -> Any:
    u, following = start.copy(), start.copy()
    rows, columns = u.shape
    for _ in range(steps):
        for i in prange(1, rows - 1):
            for j in range(1, columns - 1):
                neighbours = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1]
                following[i, j] = u[i, j] + RATE * (neighbours - FOUR * u[i, j])
        u, following = following, u
    return u


heat = njit(parallel=True)(_heat)
heat_on_one_thread = njit(_heat)
