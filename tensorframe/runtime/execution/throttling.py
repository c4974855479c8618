"""Throttling: a device that works on its own is waited for now and then, so that it is never far behind.

Otherwise a plan of minutes is handed over in a moment, and then everything waits for the device: progress would say
that all is done, and an interrupt would come back when it is. How much work is handed over at once follows from how
long it took before: about a tenth of a second's, beside which a wait costs nothing.

Drivers wait without hearing of an interrupt, so where the main thread waits for much work, another thread asks them. If
that is interrupted, the device is not to be had until it has done what it was given, and then works as ever. A thread
takes longer to start than many a kernel to run: the main thread waits by itself for plans that took little before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from math import inf
from time import perf_counter
from typing import TypeVar

from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.registry import backend_of, capabilities, when_changed
from tensorframe.backends.storage import Storage
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.quick_dataclasses import dataclass
from tensorframe.runtime.progress.phases import effort
from tensorframe.schedule.plan import Plan, StepKind

Item = TypeVar("Item")
# What a run of a plan took when it was waited for alone, by device.
Seconds = dict[Device, float]

_FIRST = float(1 << 26)  # bytes handed over before the first wait
_SHORTEST, _LONGEST = 0.05, 0.2  # seconds between two waits
_UNNOTICED = 0.05  # seconds that an interrupt may come late


@dataclass(slots=True, eq=False)
class _Run:
    """One run of a plan: what earlier ones took, and whether devices were given all of it without a wait."""

    seconds: Seconds
    is_over: bool = False
    is_split: bool = False


class _Pace:
    """What a device was given since it was last waited for, and how much that may be."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._given = 0.0
        self._expected = 0.0  # the seconds that it takes
        self._run: _Run | None = None  # the latest of those that all of it is of
        self._is_one = False
        self._most = _FIRST
        self._since = perf_counter()

    def give(self, work: float, run: _Run, *, wait: bool = True) -> None:
        """Note what the device was given by a run; wait for it if that is enough."""
        if not work:
            return
        if not self._given:
            self._since = perf_counter()
        self._given += work
        if self._run is not run:
            self._is_one, self._run = self._run is None, run
            self._expected += run.seconds.get(self._device, inf)
        if self._given < self._most or not wait:
            return
        self.catch_up()
        took = perf_counter() - self._since
        if took < _SHORTEST:
            self._most *= 2
        elif took > _LONGEST:
            self._most /= 2

    def catch_up_with(self, storage: Storage) -> None:
        """Wait for values: if they were handed over, for nothing that was given later."""
        backend = backend_of(self._device)
        if not self._given or not backend.is_read_early(storage):
            self.catch_up(storage)
        elif not backend.is_done(storage):
            _wait(partial(backend.wait_for, storage), self._expected)

    def catch_up(self, storage: Storage | None = None) -> None:
        """Wait until the device has done what it was given; at once if that is little.

        What went wrong with the values in `storage` is theirs from then on: those who wait for the device hear it once.
        """
        if not self._given:
            return
        run, expected = self._run, self._expected
        self._given, self._expected, self._run = 0.0, 0.0, None
        if run is not None and not run.is_over:
            run.is_split = True
        _wait(partial(_finish, self._device, storage), expected)
        if run is not None and self._is_one and not run.is_split:
            run.seconds[self._device] = perf_counter() - self._since


def _finish(device: Device, storage: Storage | None) -> None:
    backend = backend_of(device)
    if storage is not None:
        backend.wait_for(storage)
    backend.synchronize(device)


def _wait(wait: Callable[[], None], expected: float) -> None:
    """Wait for so many seconds, it seems; an interrupt ends that."""
    if expected >= _UNNOTICED and is_interrupted_here():
        run_interruptibly(wait)
    else:
        wait()


# Whether who computes does not want to wait.
handing_over: ContextVar[bool] = ContextVar("handing_over", default=False)

_paces: dict[Device, _Pace | None] = {}
when_changed(_paces.clear)


def catch_up(device: Device) -> None:
    """Wait for a device that was given much, before something waits for it that no interrupt can end."""
    pace = _paces.get(device)
    if pace is not None:
        pace.catch_up()


def catch_up_with(node: Node) -> None:
    """Wait for a computed node's values as `catch_up` waits for a device."""
    pace = _paces.get(node.device)
    if pace is not None:
        pace.catch_up_with(node.storage)


def paced(steps: Iterable[Item], plan: Plan, seconds: Seconds) -> Iterator[Item]:
    """Yield what is given for each step of a plan, waiting for its device after it where there is much to do.

    `seconds` are what the plan took before, which is measured here.
    """
    run = _Run(seconds)
    for item, step in zip(steps, plan.steps, strict=True):
        if step.kind is StepKind.TRANSFER:
            catch_up(plan.slots[step.inputs[0]].device)
        yield item
        pace = _pace_of(step.device)
        if pace is not None:
            pace.give(effort(step), run, wait=not handing_over.get())
    run.is_over = True


def _pace_of(device: Device) -> _Pace | None:
    """Return the pace of a device; those of host memory work while they are called."""
    if device not in _paces:
        _paces[device] = None if capabilities(device).host_memory else _Pace(device)
    return _paces[device]
