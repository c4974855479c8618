"""Tiers: a region runs in NumPy until the time it takes there would have paid for compiling it.

Compiling as soon as as much has been spent as compiling costs is never more than twice as slow as knowing the future
(the ski rental problem: Karlin, Manasse, Rudolph and Sleator, Algorithmica 3, 1988).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.backends.spans import Work, spanned
from tensorframe.cached import cached_property
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

# Seconds: what compiling a kernel takes, the first time with importing the compiler.
_COMPILE, _COMPILE_FIRST = 0.03, 0.2
# Seconds: what finding and loading one from disk takes, the first time with importing LLVM.
_LOAD, _LOAD_FIRST = 0.01, 0.1
# Seconds per operation in NumPy, for an estimate before the first run.
_PER_OPERATION = 3e-10


class Kernels(Protocol):
    """A program of compiled kernels."""

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""

    def is_kept(self, inputs: Sequence[Any]) -> bool:
        """Whether the kernels for operands of these layouts were compiled before."""


class TieredProgram:
    """NumPy's program of loops, then one of compiled kernels; `compiled` returns this one, or None if there is none."""

    quiet = True  # NumPy's warnings are silenced here: kernels give none

    def __init__(
        self,
        loops: Region,
        numpy_program: Program,
        compiled: Callable[[], Any],
        *,
        measured: bool = True,
    ) -> None:
        """`measured` says that the loops are all that NumPy's program does; else their time is estimated."""
        self._loops = loops
        self._numpy = numpy_program
        self._compiled = compiled
        self._measured = measured
        self._kernel: Kernels | None = None
        self._candidate: Kernels | None = None  # looked for on disk, and not found
        self._spent = 0.0
        self._hopeless = False

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        kernel = self._kernel or self._worth_it(inputs)
        if kernel is not None:
            return kernel(inputs, buffers)
        begin = perf_counter()
        with np.errstate(all="ignore"):
            results = self._numpy(inputs, buffers)
        self._spent += perf_counter() - begin if self._measured else self._expected
        return results

    def _worth_it(self, inputs: Sequence[Any]) -> Kernels | None:
        """Return the compiled kernels if they pay by now, or if they are on disk; they run from now on."""
        cost = max(self._spent, self._expected)
        if self._hopeless or cost < (_LOAD if "llvmlite" in sys.modules else _LOAD_FIRST):
            return None
        if self._candidate is None:
            with spanned(Work.LAYOUT, "looking for kernels on disk", "llvm"):
                self._candidate = self._compiled()
                self._hopeless = self._candidate is None
                if self._candidate is not None and self._candidate.is_kept(inputs):
                    self._kernel = self._candidate
        if cost > (_COMPILE if "llvmlite" in sys.modules else _COMPILE_FIRST):
            self._kernel = self._candidate
        return self._kernel

    @cached_property
    def _expected(self) -> float:
        """Return the seconds that NumPy is expected to take for one run."""
        operations = 0.0
        for one in self._loops.ops:
            read = one.op.kind is Kind.REDUCE
            shape = self._loops.shape_of(one.inputs[0]) if read else one.shape
            operations += max(one.op.cost, 1.0) * prod(shape)
        return operations * _PER_OPERATION
