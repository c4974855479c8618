"""The smoke test: one small fused expression on a device, compared with NumPy's result and timed."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from tensorframe import config
from tensorframe.backends.registry import use_backend
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.diagnostics.plans import explain
from tensorframe.frontend.elementwise.functions import exp, sin
from tensorframe.frontend.reductions.elementary import sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.schedule.plan import Plan

ROWS, COLUMNS = 64, 500  # no multiples of what work-groups have
TOLERANCE = 1e-4  # of float32 functions, summed: far below what a wrong kernel gives


@dataclass(frozen=True, slots=True)
class Trial:
    """How a device did."""

    device: Device
    right: bool
    said: str

    def __str__(self) -> str:
        return self.said


def attempt(device: Device) -> Trial:
    """Return how the expression did on a device; nothing raises."""
    try:
        with (
            warnings.catch_warnings(),
            use_backend(device),
            config.override(small_size=0),  # or NumPy would run it
        ):
            warnings.simplefilter("ignore")
            return _measured(device)
    except Exception as error:
        said = str(error).partition("\n")[0]
        return Trial(device, False, f"fails: {type(error).__name__}: {said}")


def _measured(device: Device) -> Trial:
    values = np.linspace(-4, 4, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    x = asarray(values)
    plan = explain(_expression(x))
    result = _expression(x).numpy()
    start = time.perf_counter()
    _expression(x).numpy()
    took = (time.perf_counter() - start) * 1e3
    exact = values.astype(np.float64)
    wanted = (np.sin(exact) * exact + np.exp(-exact * exact)).sum(axis=1)
    worst = float(np.max(np.abs(result - wanted) / np.maximum(np.abs(wanted), 1)))
    if not worst <= TOLERANCE:  # NaN is wrong too
        return Trial(device, False, f"wrong: off by {worst:.1e} of the result")
    return Trial(device, True, f"right, {took:.2f} ms{_elsewhere(plan, device)}")


def _expression(x: Tensor) -> Tensor:
    return sum(sin(x) * x + exp(-x * x), axis=1)


def _elsewhere(plan: Plan | str, device: Device) -> str:
    """Return what to add if parts ran on other devices."""
    steps = plan.steps if isinstance(plan, Plan) else []
    others = sorted({str(step.device) for step in steps} - {str(device)})
    return f", in part on {', '.join(others)}" if others else ""
