"""Computes under way: how far a plan is, what it has moved, what memory it takes, and how long it may go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from threading import Lock
from time import perf_counter
from typing import Any, TypeVar

from tensorframe.backends.registry import info_of
from tensorframe.graph.device import Device
from tensorframe.schedule.plan import Plan, Step

Item = TypeVar("Item")

# Floating-point operations that take about as long as moving a byte.
_FLOPS_PER_BYTE = 8
# Share of the work after which its pace says when the rest is done.
_TELLING = 0.02


def effort(step: Step) -> float:
    """Return what a step takes beside others, in bytes that could be moved meanwhile."""
    return step.bytes_read + step.bytes_written + step.flops / _FLOPS_PER_BYTE


@dataclass(frozen=True, slots=True)
class State:
    """How far a compute is; `left` and `share` are None while nothing can be said about the rest."""

    done: int
    steps: int
    step: str
    device: Device
    moved: int
    bytes: int
    memory: int  # that lives on the device now
    limit: int | None
    elapsed: float
    left: float | None
    share: float | None


class Compute:
    """One run of a plan, seen by the thread that runs it, which counts steps, and by one that shows how far it is."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.began = self._step_began = perf_counter()
        self._done = 0
        # what is shown belongs to whoever asked: to a cell of a notebook, and to options that hold there
        self.context = copy_context()
        self.lock = (
            Lock()
        )  # held while something is drawn, so that nothing is drawn of what is over
        self.display: Any = None
        self.over = False

    def counted(self, steps: Iterable[Item]) -> Iterator[Item]:
        """Yield what is given, counting."""
        for done, step in enumerate(steps):
            self._step_began = perf_counter()
            self._done = done
            yield step

    def state(self) -> State:
        """Return how far the compute is now."""
        done, now = self._done, perf_counter()
        step = self.plan.steps[done]
        elapsed = now - self.began
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
        """Return the seconds that are left, and the share of the work that is done, if steps before tell."""
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
    def _moved(self) -> list[int]:
        sizes = [step.bytes_read + step.bytes_written for step in self.plan.steps]
        return list(accumulate(sizes, initial=0))

    @cached_property
    def _live(self) -> list[dict[Device, int]]:
        """The bytes on each device while each step runs."""
        from tensorframe.schedule.peak import live_bytes  # planning is loaded by the first plan

        return [dict(live) for live in live_bytes(self.plan)][1:]
