"""Random walks and the price of an option: one pass, a path at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from tests.benchmarks.workloads.simulation import (
    DEVIATION,
    DRIFT,
    PATHS,
    RATE,
    SPOT,
    STEPS,
    STRIKE,
    YEARS,
)

# Numba compiles NumPy's old functions to code that draws in each thread, and passes generators around as objects
draw = np.random.standard_normal


@njit(parallel=True)
def random_walks(_: Any) -> Any:
    """Return the walks."""
    result = np.empty((PATHS, STEPS), np.float32)
    for path in prange(PATHS):
        place = np.float32(0)
        for step in range(STEPS):
            place += np.float32(draw())
            result[path, step] = place
    return result


@njit(parallel=True)
def _mean_payoff() -> Any:
    total = 0.0
    for _path in prange(PATHS):
        place, mean = np.float32(0), np.float32(0)
        for _step in range(STEPS):
            place += np.float32(draw() * DEVIATION + DRIFT)
            mean += np.exp(place)
        total += max(SPOT * float(mean) / STEPS - STRIKE, 0.0)
    return total / PATHS * np.exp(-RATE * YEARS)


def asian_call(_: Any) -> Any:
    """Return the price."""
    return np.float32(_mean_payoff())
