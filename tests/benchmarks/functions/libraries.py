"""Libraries by turns: each in a process of its own, as users run them, or two in one thread of this process.

Of users' processes the clock counts, and all threads run. In NumPy's own one the C library gives freed memory back,
and large results are paged in again and again; beside tensorframe's arrays it keeps it. In one process, processors'
time of one thread counts: it hardly notices who else uses the machine, which is what comparing two versions needs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tests.benchmarks.asking import asked, questions
from tests.benchmarks.functions.calls import (
    ELAPSED,
    PROCESSORS,
    SAMPLES,
    Call,
    call_of,
    timed,
    warmed,
)
from tests.benchmarks.functions.cases import APART, CASES, Case, operands

LIBRARIES = ("tensorframe", "numpy")
# a case, and what our call and NumPy's take
Row = tuple[str, float, float]


class Library:
    """A namespace and its operands."""

    def __init__(self, name: str, device: str, size: int) -> None:
        self.namespace: Any = import_module(name)
        self.given = operands(size)
        if name == "numpy":
            return
        for operand, value in self.given.items():
            if isinstance(value, np.ndarray):
                array = self.namespace.asarray(value, device=device)
                self.given[operand] = array.compute() if hasattr(array, "compute") else array

    def call(self, case: Case) -> Call | None:
        """Return the call of a case that works here, once called."""
        try:
            call = call_of(case, self.namespace, self.given)
            call()
        except Exception as error:
            if type(error).__module__.startswith("tensorframe"):
                return None
            if isinstance(error, AttributeError | TypeError):
                return None
            raise
        return call


def _chosen(only: Sequence[str] | None) -> Iterator[Case]:
    return (case for case in CASES if not only or case.name in only)


def by_turns(device: str, size: int, only: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield each case that both libraries have, with the seconds by the clock, as users run them."""
    for name, (ours, theirs) in _by_turns(list(_chosen(only)), LIBRARIES, device, size):
        yield name, ours, theirs


def taken_apart(device: str, size: int) -> Iterator[tuple[str, Sequence[float]]]:
    """Yield what takes an array apart, with our seconds, NumPy's and, where it is installed, PyTorch's."""
    libraries = (*LIBRARIES, "torch") if find_spec("torch") else LIBRARIES
    yield from _by_turns(APART, libraries, device, size)


def _by_turns(
    cases: Sequence[Case], libraries: Sequence[str], device: str, size: int
) -> Iterator[tuple[str, Sequence[float]]]:
    with ExitStack() as stack:
        asks = [stack.enter_context(asked(answer, name, device, size)) for name in libraries]
        for case in cases:
            if all(ask(("warm", case)) for ask in asks):
                turns = [[ask(("measure", None)) for ask in asks] for _ in range(SAMPLES)]
                yield case.name, list(map(min, zip(*turns, strict=True)))


def answer(name: str, device: str, size: int, connection: Connection) -> None:
    """Measure the calls of a library that somebody asks for."""
    library = Library(name, device, size)
    call: Call | None = None
    seconds = 0.0
    np.seterr(all="ignore")
    for question, case in questions(connection):
        if question == "warm":
            gc.collect()
            call = library.call(case)
            seconds = warmed(call, ELAPSED) if call else 0.0
            connection.send(call is not None)
        else:
            assert call
            call()  # what the other process has taken from the caches comes back
            connection.send(timed(call, seconds, ELAPSED))


def in_one_thread(device: str, size: int, only: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield each case that both libraries have, with the seconds of the processor that one thread takes."""
    import_module("tensorframe").config.configure(threads=1)
    libraries = [Library(name, device, size) for name in LIBRARIES]
    with np.errstate(all="ignore"):
        for case in _chosen(only):
            calls = [call for library in libraries if (call := library.call(case))]
            if len(calls) < len(libraries):
                continue
            gc.collect()
            takes = [warmed(call, PROCESSORS) for call in calls]
            turns = [
                [timed(call, took, PROCESSORS) for call, took in zip(calls, takes, strict=True)]
                for _ in range(SAMPLES)
            ]
            ours, theirs = map(min, zip(*turns, strict=True))
            yield case.name, ours, theirs
