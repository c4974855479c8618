"""The heat equation: a thousand small steps, each the same few slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.goals import UNDER_JIT, within
from tests.benchmarks.workload import Case, Loop, Workload, Yardstick, by
from tests.benchmarks.workloads.elementwise import normal

STEPS = 1000
LOOP_BY_HAND = "the hand-written loop on one thread"


def flow(u: Any, rate: Any = 0.1) -> Any:
    """What each inner point gains in a step: forward in time, centred in space."""
    neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return rate * (neighbours - 4 * u[1:-1, 1:-1])


def step_in_place(_: Any, u: Any) -> Any:
    """A step that changes the array."""
    u[1:-1, 1:-1] += flow(u)
    return u


def step_computed(_: Any, u: Any) -> Any:
    """The same, computed when it is recorded."""
    u[1:-1, 1:-1] += flow(u)
    return u.compute()


def step_padded(_: Any, u: Any) -> Any:
    """A step that makes a new array, by adding nothing at the border."""
    return u + flow(u).pad(((1, 1), (1, 1)))


def step_of_pytensor(tensor: Any, u: Any) -> Any:
    """A step that makes a new array; PyTensor takes a number of Python's for a float64."""
    return tensor.inc_subtensor(u[1:-1, 1:-1], flow(u, np.float32(0.1)))


def heat_of_jax(_: Any, start: Any) -> Any:
    """All steps in one loop of XLA."""
    from jax.lax import fori_loop

    def step(_: Any, u: Any) -> Any:
        return u.at[1:-1, 1:-1].add(flow(u))

    return fori_loop(0, STEPS, step, start)


HEAT = Workload(
    "W10",
    "Heat equation on 512x512 float32, 1000 steps with slices: a plan that is found again a thousand times. The "
    "hand-written loop that the goal compares with runs on one thread; Numba's column has it on every core.",
    (
        Case(
            "heat, 512x512, 1000 steps",
            by(
                "NumPy",
                Loop(step_in_place, STEPS, lambda _, start: start.copy()),
            )
            | by(
                "torch, torch.compile",
                Loop(step_in_place, STEPS, lambda _, start: start.clone()),
            )
            | by(
                "tensorframe",
                Loop(step_computed, STEPS, lambda xp, start: xp.asarray(start, copy=True)),
            )
            | by("tfr.jit", Loop(step_in_place, STEPS))
            | by("JAX", heat_of_jax)
            | by("tinygrad", Loop(step_padded, STEPS))
            | by("PyTensor", Loop(step_of_pytensor, STEPS))
            | by("Numba", lambda functions, start: functions.heat(start, STEPS)),
            (within(1.2, of=LOOP_BY_HAND, by=UNDER_JIT),),
            (
                Yardstick(
                    LOOP_BY_HAND,
                    "Numba",
                    lambda functions, start: functions.heat_on_one_thread(start, STEPS),
                    same_result=True,
                ),
            ),
        ),
    ),
    lambda: (normal(512, 512),),
)
