"""What is under way: how far a plan is made and run, what it has moved, what memory it takes, how long it may go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import copy_context
from dataclasses import replace
from enum import Enum
from itertools import accumulate
from time import perf_counter
from typing import Any, Protocol, TypeVar

from tensorframe.backends import spans
from tensorframe.backends.interruptible import caller
from tensorframe.backends.registry import info_of
from tensorframe.cached import cached_property
from tensorframe.forks import new_lock
from tensorframe.graph.device import Device
from tensorframe.quick_dataclasses import dataclass
from tensorframe.schedule.plan import Plan, Step, StepKind

Item = TypeVar("Item")

# Floating-point operations that take about as long as moving a byte.
_FLOPS_PER_BYTE = 8
# Where passes run.
_PLANNER = Device("cpu")
# Share of the work after which its pace says when the rest is done.
_TELLING = 0.02


def effort(step: Step) -> float:
    """Return what a step takes beside others, in bytes that could be moved meanwhile."""
    return step.bytes_read + step.bytes_written + step.flops / _FLOPS_PER_BYTE


class Phase(Enum):
    """What a caller waits for."""

    OPENING = "opening"  # a device is got ready, or drivers say which there are
    PLANNING = "planning"
    PREPARING = "preparing"  # backends look at the steps
    COMPILING = (
        "compiling"  # steps run for the first time, and most of the time makes their kernels
    )
    RUNNING = "running"
    STREAMING = "streaming"  # tile by tile, since it does not fit into memory


@dataclass(frozen=True, slots=True)
class State:
    """How far a compute is; `left` and `share` are None while nothing can be said about the rest.

    `steps` counts operations while a plan is made, and steps that compute something while these are compiled.
    """

    done: int
    steps: int
    step: str
    device: Device
    elapsed: float
    left: float | None = None
    share: float | None = None
    moved: int = 0
    bytes: int = 0
    memory: int = 0  # that lives on the device now
    limit: int | None = None
    phase: Phase = Phase.RUNNING


class Part(Protocol):
    """One thing after the other that a wait consists of."""

    def look(self) -> None:
        """Take note of what is done now."""

    def state(self) -> State:
        """Return how far it is."""


class Wait:
    """What one thread waits for, in parts within each other; another thread shows how far the innermost is."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.thread = caller()
        self.parts: list[Part] = []
        # what is shown belongs to the caller: to a cell of a notebook, and to options that hold there
        self.context = copy_context()
        self.lock = (
            new_lock()
        )  # held while something is drawn, so that nothing is drawn of what is over
        self.display: Any = None
        self.over = False

    def state(self) -> State:
        """Return how far the innermost part is, after all the time that was waited for any."""
        return replace(self.parts[-1].state(), elapsed=perf_counter() - self.began)


class Opening:
    """A device is opened, or a backend's devices are found: how long is not known."""

    def __init__(self, name: str) -> None:
        self._device = Device(name)
        self._began = perf_counter()

    def look(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """Return which device it is."""
        return State(0, 0, "", self._device, perf_counter() - self._began, phase=Phase.OPENING)


class Planning:
    """Passes make a plan: how long is not known."""

    def __init__(self, operations: int) -> None:
        self._operations = operations
        self._began = perf_counter()

    def look(self) -> None:
        """Do nothing."""

    def state(self) -> State:
        """Return how much there is to plan."""
        elapsed = perf_counter() - self._began
        return State(0, self._operations, "", _PLANNER, elapsed, phase=Phase.PLANNING)


class Preparing:
    """Backends look at each step of a plan before the first runs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._began = perf_counter()
        self._done = 0

    def look(self) -> None:
        """Do nothing."""

    def counted(self, steps: Iterable[Item]) -> Iterator[Item]:
        """Yield what is given, counting."""
        for self._done, step in enumerate(steps):
            yield step

    def state(self) -> State:
        """Return how many steps are prepared."""
        done, step = self._done, self._plan.steps[self._done]
        return _by_count(
            done,
            len(self._plan.steps),
            step,
            perf_counter() - self._began,
            Phase.PREPARING,
        )


def _by_count(done: int, steps: int, step: Step, elapsed: float, phase: Phase) -> State:
    """Return a state where each step is expected to take as long as any other."""
    share = done / steps if done else None
    # the first step of all loads compilers, and says little of the others
    left = elapsed / share - elapsed if share and done > 1 else None
    return State(done, steps, step.name, step.device, elapsed, left, share, phase=phase)


class Compute:
    """One run of a plan, seen by the thread that runs it, which counts steps, and by one that shows how far it is."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._began = self._step_began = perf_counter()
        self._thread = caller()
        self._done = 0
        self._looks = self._making = 0

    def counted(self, steps: Iterable[Item]) -> Iterator[Item]:
        """Yield what is given, counting."""
        for done, step in enumerate(steps):
            self.reach(done)
            yield step

    def reach(self, step: int) -> None:
        """Take note of the step that runs now."""
        self._step_began = perf_counter()
        self._done = step

    def look(self) -> None:
        """Take note of whether a kernel is made now."""
        self._looks += 1
        self._making += self._thread in spans.making

    def state(self) -> State:
        """Return how far the compute is now."""
        done, now = self._done, perf_counter()
        step = self.plan.steps[done]
        elapsed = now - self._began
        if self._making and 2 * self._making >= self._looks:
            every = self._computing
            return _by_count(every[done], every[-1], step, elapsed, Phase.COMPILING)
        left, share = self._rest(done, elapsed, now - self._step_began)
        return State(
            done=done,
            steps=len(self.plan.steps),
            step=step.name,
            device=step.device,
            moved=self._moved[done],
            bytes=self._moved[-1],
            memory=self._live[done].get(step.device, 0),
            limit=info_of(step.device).total_memory,
            elapsed=elapsed,
            left=left,
            share=share,
        )

    def _rest(self, done: int, elapsed: float, in_step: float) -> tuple[float | None, float | None]:
        """Return the seconds that are left, and the share of the work that is done, if earlier steps show it."""
        efforts = self._efforts
        total = efforts[-1]
        if not total or efforts[done] < _TELLING * total or elapsed <= in_step:
            return None, None
        pace = efforts[done] / (elapsed - in_step)
        # a step that takes longer than expected is as good as done
        so_far = min(efforts[done] + pace * in_step, efforts[done + 1])
        return (total - so_far) / pace, so_far / total

    @cached_property
    def _efforts(self) -> list[float]:
        """What the steps before each one take, and at the end all."""
        return list(accumulate(map(effort, self.plan.steps), initial=0.0))

    @cached_property
    def _computing(self) -> list[int]:
        """How many steps before each one compute something, and at the end all."""
        known = [
            not step.is_view and step.kind is not StepKind.TRANSFER for step in self.plan.steps
        ]
        return list(accumulate(known, initial=0))

    @cached_property
    def _moved(self) -> list[int]:
        sizes = [step.bytes_read + step.bytes_written for step in self.plan.steps]
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _live(self) -> list[dict[Device, int]]:
        """The bytes on each device while each step runs."""
        from tensorframe.schedule.peak import live_bytes  # planning is loaded by the first plan

        return [dict(live) for live in live_bytes(self.plan)][1:]
