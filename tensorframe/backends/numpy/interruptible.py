"""Calls of NumPy that Ctrl-C does not have to wait for: a sort of millions, the singular values of a large matrix.

A call that takes long is made in another thread. One that was interrupted reads values that never change, and what it
writes nobody else refers to, so it may go on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.graph.region import Region

# Elements of all operands below which a call is short, whatever it does; a matrix of 256 x 256 has as many.
_FEW = 1 << 16
# Seconds that the call took the last time from which it is worth a thread, which takes a ten-thousandth.
_LONG = 0.02


def interruptible(program: Program, region: Region) -> Program:
    """Return a program that does the same, interruptibly where it takes long or nobody knows yet."""
    elements = sum(math.prod(shape) for shape, _ in region.inputs)
    return program if elements < _FEW else _Apart(program)


class _Apart:
    """A program that remembers how long it took."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seconds = math.inf

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        began = perf_counter()
        if self._seconds > _LONG and is_interrupted_here():
            results = run_interruptibly(partial(self._program, inputs, buffers))
        else:
            results = self._program(inputs, buffers)
        self._seconds = perf_counter() - began
        return results
