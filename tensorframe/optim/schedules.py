"""Schedules: learning rates as functions of the number of updates done so far, an int32 tensor.

Nothing about them is decided in Python, so a step that `tfr.jit` recorded runs for every rate. Any function of a
tensor is a schedule; those here are values: equal ones share recordings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import tensorframe as tfr
from tensorframe.errors import ArgumentError
from tensorframe.frontend.tensor import Tensor
from tensorframe.optim.optimizer import Schedule

__all__ = ["constant", "cosine", "exponential", "join", "linear", "step", "warm_up"]


@dataclass(frozen=True)
class _Constant:
    value: float

    def __call__(self, count: Tensor) -> Tensor:
        return tfr.full((), self.value, dtype=tfr.float32, device=count.device)


@dataclass(frozen=True)
class _Linear:
    first: float
    last: float
    steps: int

    def __call__(self, count: Tensor) -> Tensor:
        return self.first + (self.last - self.first) * _done(count, self.steps)


@dataclass(frozen=True)
class _Cosine:
    first: float
    last: float
    steps: int

    def __call__(self, count: Tensor) -> Tensor:
        fall = 0.5 * (1 + tfr.cos(math.pi * _done(count, self.steps)))
        return self.last + (self.first - self.last) * fall


@dataclass(frozen=True)
class _Exponential:
    first: float
    factor: float
    every: int
    staircase: bool

    def __call__(self, count: Tensor) -> Tensor:
        times = count // self.every if self.staircase else count
        exponent = times.astype(tfr.float32) / (1 if self.staircase else self.every)
        return self.first * tfr.exp(exponent * math.log(self.factor))


@dataclass(frozen=True)
class _Join:
    schedules: tuple[Schedule, ...]
    boundaries: tuple[int, ...]

    def __call__(self, count: Tensor) -> Tensor:
        first, *rest = self.schedules
        value = first(count)
        for boundary, schedule in zip(self.boundaries, rest, strict=True):
            value = tfr.where(count < boundary, value, schedule(tfr.maximum(count - boundary, 0)))
        return value


def constant(value: float) -> Schedule:
    """Return the schedule that is always `value`.

    For an optimiser's `lr`, or as a part of what `join` makes: the step does not matter.

    >>> tfr.optim.schedules.constant(0.5)(tfr.asarray(7)).item()
    0.5
    """
    return _Constant(_rate("constant", value))


def linear(first: float, last: float, steps: int) -> Schedule:
    """Return the schedule that goes from `first` to `last` in `steps` updates, in a straight line, and stays there.

    >>> rate = tfr.optim.schedules.linear(1.0, 0.0, 4)
    >>> [rate(tfr.asarray(count)).item() for count in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """
    return _Linear(_rate("linear", first), _rate("linear", last), _steps("linear", steps))


def cosine(first: float, steps: int, last: float = 0.0) -> Schedule:
    """Return the schedule that falls from `first` to `last` in `steps` updates, as half a cosine, and stays there.

    Loshchilov and Hutter, "SGDR", arXiv 1608.03983, without restarts.

    >>> rate = tfr.optim.schedules.cosine(1.0, 4)
    >>> [round(rate(tfr.asarray(count)).item(), 4) for count in (0, 1, 2, 4, 9)]
    [1.0, 0.8536, 0.5, 0.0, 0.0]
    """
    return _Cosine(_rate("cosine", first), _rate("cosine", last), _steps("cosine", steps))


def exponential(first: float, factor: float, steps: int = 1) -> Schedule:
    """Return the schedule `first * factor ** (count / steps)`.

    With the default of one step it multiplies the rate by `factor` at each; fractions of `steps`
    count.

    >>> rate = tfr.optim.schedules.exponential(1.0, 0.25, 2)
    >>> [round(rate(tfr.asarray(count)).item(), 4) for count in (0, 1, 2)]
    [1.0, 0.5, 0.25]
    """
    return _exponential("exponential", first, factor, steps, staircase=False)


def step(first: float, factor: float, steps: int) -> Schedule:
    """Return the schedule that is multiplied by `factor` after every `steps` updates.

    >>> rate = tfr.optim.schedules.step(1.0, 0.5, 2)
    >>> [round(rate(tfr.asarray(count)).item(), 4) for count in (0, 1, 2, 5)]
    [1.0, 1.0, 0.5, 0.25]
    """
    return _exponential("step", first, factor, steps, staircase=True)


def warm_up(schedule: float | Schedule, steps: int) -> Schedule:
    """Return the schedule that rises from near 0 in a straight line for `steps` updates, and goes on with another.

    The first update has `1 / (steps + 1)` of the value that `schedule`, a schedule or a number, begins with.

    >>> rate = tfr.optim.schedules.warm_up(1.0, 3)
    >>> [rate(tfr.asarray(count)).item() for count in (0, 1, 2, 3, 9)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    after = schedule if callable(schedule) else constant(schedule)
    return join([_WarmUp(after, _steps("warm_up", steps)), after], [steps])


@dataclass(frozen=True)
class _WarmUp:
    after: Schedule
    steps: int

    def __call__(self, count: Tensor) -> Tensor:
        part = (count + 1).astype(tfr.float32) / (self.steps + 1)
        return part * self.after(tfr.zeros_like(count))


def join(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return the schedule that goes over to the next one at each boundary, a number of updates; each begins at 0.

    >>> s = tfr.optim.schedules
    >>> rate = s.join([s.constant(1.0), s.linear(0.5, 0.0, 2)], [3])
    >>> [rate(tfr.asarray(count)).item() for count in (2, 3, 4, 5)]
    [1.0, 0.5, 0.25, 0.0]
    """
    if len(schedules) != len(boundaries) + 1:
        raise ArgumentError(
            f"join: {len(schedules)} schedules have {len(schedules) - 1} boundaries, got {len(boundaries)}"
        )
    if list(boundaries) != sorted(set(boundaries)):
        raise ArgumentError(f"join: boundaries rise, got {list(boundaries)}")
    return _Join(tuple(schedules), tuple(boundaries))


def _exponential(
    title: str, first: float, factor: float, steps: int, *, staircase: bool
) -> Schedule:
    if factor <= 0:
        raise ArgumentError(f"{title}: factor is above 0, got {factor!r}")
    return _Exponential(_rate(title, first), factor, _steps(title, steps), staircase)


def _done(count: Tensor, steps: int) -> Tensor:
    """Return how much of `steps` is done, from 0 to 1."""
    return tfr.minimum(count, steps).astype(tfr.float32) / steps


def _rate(title: str, value: float) -> float:
    if not value >= 0:
        raise ArgumentError(f"{title}: a rate is at least 0, got {value!r}")
    return float(value)


def _steps(title: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(f"{title}: steps is a positive integer, got {value!r}")
    return value
