"""Graph replays: recorded functions whose launches a device takes all at once, where its driver has such graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.base import LaunchGraph
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import Device
from tensorframe.schedule.plan import Plan, StepKind

# Kernels from which a graph pays, and bytes of arguments and results, which it copies, up to which it does.
_KERNELS = 3
_BYTES = 1 << 26
# Calls before a plan is captured: kernels are compiled by then. And how often it is at most, for other numbers.
_CALLS = 2
_CAPTURES = 4

# hands the plan over for the values of its first slots, and returns its outputs
Perform = Callable[[list[Any]], list[Any]]


def may_be_captured(plan: Plan) -> Device | None:
    """Return the device of a plan whose launches may become a graph: kernels alone, on one device."""
    devices = {step.device for step in plan.steps}
    if len(devices) != 1 or any(step.kind is not StepKind.REGION for step in plan.steps):
        return None
    moved = {*range(plan.leaves), *plan.outputs}
    if plan.kernels < _KERNELS or sum(plan.slots[slot].nbytes for slot in moved) > _BYTES:
        return None
    return devices.pop()


def is_wanted(device: Device) -> bool:
    """Whether plans become graphs on a device: what its setting `graphs` says, else the option `cuda_graphs`."""
    known = sys.modules.get("tensorframe.backends.settings")  # else nothing was set
    said = None if known is None else known.given(device).get("graphs")
    return config.get().cuda_graphs if said is None else bool(said)


class GraphReplay:
    """The graph of a recorded function's plan; numbers are part of it, so others capture it again."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._left, self._captures = _CALLS, 0
        # with the numbers that it was captured for; one assignment, for threads
        self._captured: tuple[LaunchGraph, list[tuple[int, Any]]] | None = None

    def run(self, slots: list[Any], perform: Perform) -> list[Any] | None:
        """Return the outputs for the leaves of a plan; None where it has to run as usual."""
        if self._left:
            self._left -= 1
            return None
        if self._captures > _CAPTURES:
            return None
        if any(isinstance(value, np.ndarray) for value in slots):
            return None
        numbers = [(slot, value) for slot, value in enumerate(slots) if not _is_array(value)]
        arrays = [slot for slot, value in enumerate(slots) if _is_array(value)]
        operands = [slots[slot] for slot in arrays]
        captured = self._captured
        if captured is not None and captured[1] == numbers and captured[0].fits(operands):
            return captured[0].run(operands)
        del captured
        self._captured = None  # its memory serves the next one
        self._captures += 1
        if self._captures > _CAPTURES:
            return None

        def run(own: Sequence[Any]) -> Sequence[Any]:
            values = slots.copy()
            for slot, value in zip(arrays, own, strict=True):
                values[slot] = value
            return perform(values)

        graph = backend_of(self._device).capture(self._device, operands, run)
        if graph is None:
            self._captures = _CAPTURES + 1  # nor will it be next time
            return None
        self._captured = (graph, numbers)
        return graph.run(operands)


def _is_array(value: Any) -> bool:
    return hasattr(value, "block")
