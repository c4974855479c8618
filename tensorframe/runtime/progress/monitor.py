"""Progress: whatever takes over half a second says how far it is, in a notebook or a terminal.

What can take long is listed while it is under way: making a plan, having its steps prepared, running it for the first
time, when kernels are compiled, and running it at all if it is large or listeners are registered. A thread polls the
list ten times a second and draws; it is started where there is a display, and ends after some idle time. Short plans
that ran before skip all of this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from time import perf_counter, sleep
from typing import Protocol, TextIO, TypeVar

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.backends.interruptible import caller
from tensorframe.cells import shell
from tensorframe.forks import in_forked_processes, new_lock
from tensorframe.ops.sparse import SPARSE
from tensorframe.runtime.progress.phases import Opening, Part, State, Wait, effort
from tensorframe.schedule.plan import Plan, Step, StepKind

_PATIENCE = 0.5  # seconds of a compute before it is shown
_LOOK = 0.1  # seconds between two polls
_IDLE = 50  # idle polls after which the thread ends
# What a plan takes, in bytes, from which it can take half a second on some device; and its steps.
_MUCH = 1 << 24
_MANY = 1000
# Bytes of a library call from which it can: how long one takes is not known beforehand.
_MUCH_OF_A_CALL = 1 << 20


Under = TypeVar("Under", bound=Part)


class Display(Protocol):
    """What shows how far a compute is; it is called in several threads, never in two at once."""

    def show(self, state: State) -> None:
        """Draw a state, over the one before."""

    def close(self) -> None:
        """Remove it."""


# Factories, each of which returns a display if it can show one here; the first display is used.
displays: list[Callable[[], Display | None]] = []


class _Watch:
    """What is under way, and the thread that polls it."""

    computes: list[Wait] = []  # noqa: RUF012 - of the process
    thread: Thread | None = None
    lock = new_lock()
    terminal: tuple[TextIO | None, bool] = (None, False)
    """A stream, and whether it is a terminal."""


def can_take_long(plan: Plan) -> bool:
    """Whether a plan may run for half a second."""
    return (
        len(plan.steps) >= _MANY
        or sum(map(effort, plan.steps)) > _MUCH
        or any(
            step.bytes_read + step.bytes_written > _MUCH_OF_A_CALL
            for step in plan.steps
            if step.kind is StepKind.LIBRARY and not _is_estimated(step)
        )
    )


def _is_estimated(step: Step) -> bool:
    """Whether a library call takes what its bytes and operations say: products with sparse matrices are loops."""
    return all(of_region.op in SPARSE for of_region in step.region.ops)


@contextmanager
def under_way(part: Under) -> Iterator[Under]:
    """Have what the `with` block does shown, if it takes long: by itself, or as a part of what the thread waits for."""
    thread = caller()
    for wait in tuple(_Watch.computes):
        if wait.thread == thread:
            if wait.parts and getattr(
                wait.parts[-1], "covers", False
            ):  # it has the totals of all its parts
                yield part
                return
            wait.parts.append(part)
            try:
                yield part
            finally:
                wait.parts.remove(part)
            return
    with _waiting(part):
        yield part


@contextmanager
def _waiting(part: Part) -> Iterator[None]:
    wait = Wait()
    wait.parts.append(part)
    try:
        _Watch.computes.append(wait)
        if _Watch.thread is None and is_displayed():
            _start()
        yield
    finally:
        with suppress(ValueError):  # a process that was forked meanwhile waits for nothing
            _Watch.computes.remove(wait)
        with wait.lock, suppress(Exception):
            wait.over = True
            if wait.display is not None:
                wait.context.run(wait.display.close)


def is_displayed() -> bool:
    """Whether progress is displayed."""
    wanted = config.get().progress
    if wanted == "auto":
        return shell() is not None or _is_terminal(sys.stderr)
    return wanted == "on"


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal: the system is asked once, as it may be about to be before each run."""
    known, is_terminal = _Watch.terminal
    if stream is not known:
        is_terminal = stream is not None and stream.isatty()
        _Watch.terminal = (stream, is_terminal)
    return is_terminal


def _start() -> None:
    with _Watch.lock:
        if _Watch.thread is None:
            thread = Thread(target=_poll, name="tensorframe progress", daemon=True)
            with suppress(RuntimeError):  # the system starts no more threads
                thread.start()
                _Watch.thread = thread


def _poll() -> None:
    idle = 0
    while True:
        sleep(_LOOK)
        waits = tuple(_Watch.computes)
        idle = 0 if waits else idle + 1
        for wait in waits:
            with wait.lock:
                _draw_if_long(wait)
        if idle > _IDLE:
            with _Watch.lock:
                if not _Watch.computes:
                    _Watch.thread = None
                    return


def _draw_if_long(wait: Wait) -> None:
    """Update the state, and draw it if it has been under way for long."""
    if wait.over:
        return
    try:
        wait.parts[-1].look()
        if perf_counter() - wait.began < _PATIENCE:
            return
        if wait.display is None:
            wait.display = wait.context.run(_display)
        wait.context.run(wait.display.show, wait.state())
    except Exception:  # a picture that cannot be drawn is no reason for anything
        wait.display = _Nothing()


def _display() -> Display:
    """Return what shows computes here."""
    wanted = config.get().progress
    if wanted == "off":
        return _Nothing()
    for make_display in displays:
        display = make_display()
        if display is not None:
            return display
    from tensorframe.runtime.progress.terminal import terminal

    return terminal(always=wanted == "on") or _Nothing()


class _Nothing:
    """Shows nothing."""

    def show(self, state: State) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    _Watch.computes, _Watch.thread = [], None
    spans.making.clear()
    spans.opening.clear()


spans.around_opening.append(lambda name: under_way(Opening(name)))


in_forked_processes(_forget)
