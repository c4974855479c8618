"""The heat equation: a thousand small steps, each the same few slices."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.workload import Case, Workload, by
from tests.benchmarks.workloads.elementwise import normal

STEPS = 1000


def flow(u: Any) -> Any:
    """What each inner point gains in a step: forward in time, centred in space."""
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return 0.1 * (neighbours - 4 * u[1:-1, 1:-1])


def heat(xp: Any, start: Any) -> Any:
    """Steps that change the array in place."""
    u = xp.asarray(start, copy=True)
    for _ in range(STEPS):
        u[1:-1, 1:-1] += flow(u)
    return u


def heat_step_by_step(tensorframe: Any, start: Any) -> Any:
    """The same, every step computed when it is recorded."""
    u = tensorframe.asarray(start, copy=True)
    for _ in range(STEPS):
        u[1:-1, 1:-1] += flow(u)
        u.compute()
    return u


HEAT = Workload(
    "W10",
    "Heat equation on 512x512 float32, 1000 steps with slices: a plan that is found again a thousand times.",
    (
        Case(
            "heat, 512x512, 1000 steps",
            by("NumPy, torch", heat) | by("tensorframe", heat_step_by_step),
        ),
    ),
    lambda: (normal(512, 512),),
)
