"""Progress: whatever takes over half a second says how far it is, in a notebook or a terminal.

Plans that can take long are listed while they run. A thread looks at the list ten times a second and draws; it is
started by the first such plan and ends when there have been none for a while. Short plans do not know of all this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Protocol

from tensorframe import config

if TYPE_CHECKING:  # planning is loaded by the first plan
    from tensorframe.runtime.under_way import Compute, State
    from tensorframe.schedule.plan import Plan

_PATIENCE = 0.5  # seconds of a compute before it is shown
_LOOK = 0.1  # seconds between two looks
_IDLE = 50  # looks at nothing after which the thread ends
# What a plan takes, in bytes, from which it can take half a second on some device; and its steps.
_MUCH = 1 << 24
_MANY = 1000
# Bytes of a library call from which it can: what it does with them nobody knows beforehand.
_MUCH_OF_A_CALL = 1 << 20


class Display(Protocol):
    """What shows how far a compute is; it is called in several threads, never in two at once."""

    def show(self, state: State) -> None:
        """Draw a state, over the one before."""

    def close(self) -> None:
        """Leave nothing of it."""


# Ask each whether it has a display for who is looking; the first that has one is taken.
displays: list[Callable[[], Display | None]] = []


class _Watch:
    """What is under way, and the thread that looks."""

    computes: list[Compute] = []  # noqa: RUF012 - of the process
    thread: Thread | None = None
    lock = Lock()


def can_take_long(plan: Plan) -> bool:
    """Whether a plan may run for half a second."""
    from tensorframe.runtime.under_way import effort
    from tensorframe.schedule.plan import StepKind

    return (
        len(plan.steps) >= _MANY
        or sum(map(effort, plan.steps)) > _MUCH
        or any(
            step.kind is StepKind.LIBRARY and step.bytes_read + step.bytes_written > _MUCH_OF_A_CALL
            for step in plan.steps
        )
    )


@contextmanager
def under_way(plan: Plan) -> Iterator[Compute]:
    """Have a run of a plan shown, if it takes long, while the `with` block runs."""
    from tensorframe.runtime.under_way import Compute

    compute = Compute(plan)
    _Watch.computes.append(compute)
    try:
        if _Watch.thread is None and config.get().progress != "off":
            _start()
        yield compute
    finally:
        _Watch.computes.remove(compute)
        with compute.lock, suppress(Exception):
            compute.over = True
            if compute.display is not None:
                compute.context.run(compute.display.close)


def _start() -> None:
    with _Watch.lock:
        if _Watch.thread is None:
            thread = Thread(target=_look, name="tensorframe progress", daemon=True)
            with suppress(RuntimeError):  # the system gives no more threads
                thread.start()
                _Watch.thread = thread


def _look() -> None:
    idle = 0
    while True:
        sleep(_LOOK)
        computes = tuple(_Watch.computes)
        idle = 0 if computes else idle + 1
        for compute in computes:
            if perf_counter() - compute.began >= _PATIENCE:
                with compute.lock:
                    _draw(compute)
        if idle > _IDLE:
            with _Watch.lock:
                if not _Watch.computes:
                    _Watch.thread = None
                    return


def _draw(compute: Compute) -> None:
    if compute.over:
        return
    try:
        if compute.display is None:
            compute.display = compute.context.run(_display)
        compute.context.run(compute.display.show, compute.state())
    except Exception:  # a picture that cannot be drawn is no reason for anything
        compute.display = _Nothing()


def _display() -> Display:
    """Return what shows computes here."""
    wanted = config.get().progress
    if wanted == "off":
        return _Nothing()
    for found in displays:
        display = found()
        if display is not None:
            return display
    from tensorframe.runtime.terminal import terminal

    return terminal(always=wanted == "on") or _Nothing()


class _Nothing:
    """Shows nothing."""

    def show(self, state: State) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    _Watch.computes, _Watch.thread, _Watch.lock = [], None, Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
