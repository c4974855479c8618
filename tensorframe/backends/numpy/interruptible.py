"""Calls of NumPy that Ctrl-C does not have to wait for: a sort of millions, the singular values of a large matrix.

Python hears of an interrupt between two of its instructions only, and one call may take minutes. So a call that takes
long runs in a thread of its own while the caller waits, which an interrupt ends. What was called then goes on until it
is done, for nobody: it reads values that never change, and what it writes nobody else refers to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import copy_context
from threading import Lock, Thread, current_thread, main_thread
from time import perf_counter
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.graph.region import Region

# Elements of all operands below which a call is short, whatever it does; a matrix of 256 x 256 has as many.
_FEW = 1 << 16
# Seconds that the call took the last time from which it is worth a thread, which takes a ten-thousandth.
_LONG = 0.02
# Seconds after which a wait is begun anew: Windows tells of an interrupt only then.
_LOOK = 0.1


def interruptible(program: Program, region: Region) -> Program:
    """Return a program that does the same, in a thread of its own where it takes long or nobody knows yet."""
    elements = sum(math.prod(shape) for shape, _ in region.inputs)
    return program if elements < _FEW else _Apart(program)


class _Apart:
    """A program that remembers how long it took."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seconds = math.inf

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        began = perf_counter()
        # only the main thread is ever interrupted
        apart = self._seconds > _LONG and current_thread() is main_thread()
        results = (
            _elsewhere(self._program, inputs, buffers) if apart else self._program(inputs, buffers)
        )
        self._seconds = perf_counter() - began
        return results


def _elsewhere(
    program: Program, inputs: Sequence[Any], buffers: Sequence[Any | None]
) -> Sequence[Any]:
    operands = [(inputs, buffers)]
    results: list[Sequence[Any]] = []
    failures: list[BaseException] = []
    running = Lock()
    running.acquire()

    def work() -> None:
        try:
            # off the list: memory that this thread still referred to could not be taken over by the next step
            results.append(program(*operands.pop()))
        except BaseException as error:
            failures.append(error)
        finally:
            running.release()

    # options and NumPy's own settings are those of the caller
    Thread(target=copy_context().run, args=(work,), name="tensorframe call", daemon=True).start()
    while not running.acquire(timeout=_LOOK):
        pass
    if failures:
        raise failures.pop()
    return results.pop()
