"""Roofline: the shortest time that a device's measured limits allow for a step.

S. Williams, A. Waterman and D. Patterson, Roofline: an insightful visual performance model, CACM 52 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorframe.backends.limits import Limits, limits_of
from tensorframe.schedule.plan import Step, StepKind


@dataclass(frozen=True, slots=True)
class Prediction:
    """The time that a step cannot do without, and what it waits for meanwhile."""

    seconds: float
    memory_bound: bool


def predict(step: Step) -> Prediction | None:
    """Return the time that a step takes at best: `max(bytes / bandwidth, flops / peak)`.

    Bytes are those read and written, each at its bandwidth; flops are counted by the cost that each row states.
    Bandwidths and peak are what `tfr.calibrate()` measured on the step's device. Nothing else is in it: neither the
    cost of a call nor caches, which make small steps slower, or faster, than this. None where the device was not
    measured, and for transfers and views, which these figures say nothing about.
    """
    limits = _limits(step)
    if limits is None:
        return None
    moving = limits.seconds_of_bytes(step.bytes_read, step.bytes_written)
    computing = step.flops / limits.flops
    return Prediction(max(moving, computing), moving >= computing)


def share_of_limit(step: Step) -> float | None:
    """Return the predicted time by the measured one: 1 is a step as fast as its device can be."""
    prediction = predict(step)
    if prediction is None or not step.seconds:
        return None
    return prediction.seconds / step.seconds


def _limits(step: Step) -> Limits | None:
    if step.kind is StepKind.TRANSFER or step.is_view:
        return None
    return limits_of(step.device)
