"""Tiers: a region runs in NumPy until the time it takes there would have paid for compiling it.

Compiling as soon as as much has been spent as compiling costs is never more than twice as slow as knowing the future
(the ski rental problem: Karlin, Manasse, Rudolph and Sleator, Algorithmica 3, 1988).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends.base import Program
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

if TYPE_CHECKING:
    from tensorframe.backends.numba.program import KernelProgram

# Seconds: what compiling a kernel takes, the first time with importing the compiler.
_COMPILE, _COMPILE_FIRST = 0.1, 0.5
# Seconds per operation in NumPy, for an estimate before the first run.
_PER_OPERATION = 3e-10


class TieredProgram:
    """NumPy's program of a region, then its compiled kernels."""

    quiet = True  # NumPy's warnings are silenced here: kernels give none

    def __init__(self, region: Region, numpy_program: Program) -> None:
        self.region = region
        self._numpy = numpy_program
        self._kernel: KernelProgram | None = None
        self._spent = 0.0

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        kernel = self._kernel
        if kernel is not None:
            return kernel(inputs, buffers)
        if max(self._spent, self._expected()) > self._price():
            return self.compiled()(inputs, buffers)
        begin = perf_counter()
        with np.errstate(all="ignore"):
            results = self._numpy(inputs, buffers)
        self._spent += perf_counter() - begin
        return results

    def compiled(self) -> KernelProgram:
        """Return the program of compiled kernels, which runs from now on."""
        from tensorframe.backends.numba.program import KernelProgram  # imports LLVM

        if self._kernel is None:
            self._kernel = KernelProgram(self.region)
        return self._kernel

    def _expected(self) -> float:
        """Return the seconds that NumPy is expected to take for one run."""
        operations = 0.0
        for one in self.region.ops:
            read = one.op.kind is Kind.REDUCE
            shape = self.region.shape_of(one.inputs[0]) if read else one.shape
            operations += max(one.op.cost, 1.0) * prod(shape)
        return operations * _PER_OPERATION

    def _price(self) -> float:
        return _COMPILE if "numba" in sys.modules else _COMPILE_FIRST
