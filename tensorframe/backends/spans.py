"""Spans: work with its times, reported to collectors, such as profiles.

Steps of plans are many and short, so they are told in bulk, by `runtime/execution/events.py`. What is told one by one
is here: opening devices, planning, making kernels, copies that no plan knows of. All times are those of
`time.perf_counter_ns`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from time import perf_counter_ns
from typing import Any

from tensorframe.backends.interruptible import caller
from tensorframe.forks import new_lock
from tensorframe.quick_dataclasses import dataclass


class Work(Enum):
    """What a span was spent on."""

    OPEN = "open"  # drivers say which devices there are, or get one ready, its trials included
    PLAN = "plan"  # passes make a plan
    PREPARE = "prepare"  # backends look at a plan's regions
    LAYOUT = "layout"  # the loops and the text of kernels, for operands of one layout
    COMPILE = "compile"  # or waiting for who compiles it ahead
    AHEAD = (
        "ahead"  # a kernel compiled before its step needs it, by a thread that does nothing else
    )
    LOAD = "load"  # a kernel that was compiled before, from disk
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work in one thread; spans of a thread nest. `where` is a device, a compiler, or `a -> b`."""

    work: Work
    name: str
    where: str
    began: int
    ended: int
    thread: int
    nbytes: int = 0


# Those who collect (see `runtime/execution/events.py`); whoever times something asks first whether there are any. Never
# changed but replaced, since any thread may be telling them something.
collectors: tuple[Any, ...] = ()
# Collectors, and listeners of events: where there is none, what is computed need not be reported.
onlookers: list[Any] = []
_changing = new_lock()

# What makes a program wait before anything runs.
_MAKING = frozenset({Work.LAYOUT, Work.COMPILE, Work.LOAD})
# The threads, as their callers know them, that make kernels now; how far a compute is depends on it.
making: set[int] = set()
# The threads that open a device now: kernels that it tries are part of that.
opening: set[int] = set()
# What goes around the opening of a device of this name: `runtime/progress/monitor.py` shows there that a caller waits.
around_opening: list[Callable[[str], AbstractContextManager[Any]]] = []


def tell_span(work: Work, name: str, where: str, began: int, nbytes: int = 0) -> None:
    """Tell of work that began at `began`, in nanoseconds, and ends now; one test where there is no collector."""
    if collectors and not (opening and caller() in opening):
        span = Span(work, name, where, began, perf_counter_ns(), caller(), nbytes)
        for collector in collectors:
            collector.span(span)


def log(message: str, *arguments: object, detail: bool = False) -> None:
    """Tell the logger "tensorframe" what happens, as INFO, what happens often as DEBUG.

    Who wants to hear it has imported `logging`: until then this is one look-up, and it is done for rare events only.
    """
    logging = sys.modules.get("logging")
    if logging is None or not hasattr(logging, "NullHandler"):  # half imported
        return
    logger = logging.getLogger("tensorframe")
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())
    level = logging.DEBUG if detail else logging.INFO
    if logger.isEnabledFor(level):
        logger.log(level, message, *arguments)


@contextmanager
def spanned(work: Work, name: str, where: str) -> Iterator[None]:
    """Tell of what the `with` block does, whether or not it succeeds."""
    began, thread = perf_counter_ns(), caller()
    # kernels are compiled while loops are laid out
    outermost = work in _MAKING and thread not in making
    if outermost:
        making.add(thread)
    try:
        yield
    finally:
        if outermost:
            making.discard(thread)
        tell_span(work, name, where, began)
        if work is Work.COMPILE:
            log(
                "compiled %s for %s in %.1f ms",
                name,
                where,
                (perf_counter_ns() - began) * 1e-6,
                detail=True,
            )


@contextmanager
def opened(name: str, what: str) -> Iterator[None]:
    """Tell that the `with` block opens a device, or finds those of a backend, and show it to callers that wait."""
    thread = caller()
    if thread in opening:  # part of another opening
        yield
        return
    with ExitStack() as stack:
        for around in around_opening:
            stack.enter_context(around(name))
        began = perf_counter_ns()
        opening.add(thread)
        try:
            yield
        finally:
            opening.discard(thread)
            tell_span(Work.OPEN, what, name, began)
            log("%s took %.0f ms", what, (perf_counter_ns() - began) * 1e-6)


def join(collector: Any) -> None:
    """Have `collector` told of the work of every thread from now on."""
    global collectors  # noqa: PLW0603 - this module's one piece of state
    with _changing:
        collectors = (*collectors, collector)
        onlookers.append(collector)


def leave(collector: Any) -> None:
    """Tell `collector` nothing any more."""
    global collectors  # noqa: PLW0603 - as above
    with _changing:
        collectors = tuple([other for other in collectors if other is not collector])
        if collector in onlookers:
            onlookers.remove(collector)
