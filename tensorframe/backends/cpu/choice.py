"""Which engine runs a region: a function of the region, and, where both give the same bits, of how often it ran.

Never of time, or of what is on disk: a program's results are the same bits the first and the thousandth time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.silence import silenced
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region

# Operations on elements that NumPy does before a kernel of exact ops is compiled: it takes some 20 ms for them, LLVM as
# long for the kernel, and three times as long to be loaded.
ENOUGH = 1 << 26
# An addition of values one by one takes NumPy so much longer than one of arrays.
_COMBINED = 8.0


class CountingProgram:
    """NumPy's program of exact ops, until so much has been done that compiling pays; then that of kernels."""

    quiet = True  # NumPy's warnings are silenced here: kernels give none

    def __init__(
        self, loops: Region, numpy_program: Program, compiled: Callable[[], Program]
    ) -> None:
        """`loops` are what kernels would run; `compiled` returns these, or NumPy's program where LLVM does not load."""
        self._numpy = silenced(numpy_program)
        self._compiled = compiled
        self._work = operations(loops)
        self._done = 0
        self._kernels: Program | None = None

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the outputs for these inputs."""
        if self._kernels is None:
            self._done += self._work
            if self._done <= ENOUGH:
                return self._numpy(inputs, buffers)
            self._kernels = self._compiled()
        return self._kernels(inputs, buffers)

    def foresee(self, operands: Sequence[Any], stand_ins: StandIns) -> Sequence[Any] | None:
        """Have the kernels made if the next call runs them."""
        if self._kernels is None:
            if self._done + self._work <= ENOUGH:
                return None
            self._kernels = self._compiled()
        return foresee(self._kernels, operands, stand_ins)


def operations(region: Region) -> int:
    """Return how many operations on elements a region is.

    A reduction reads all of its operand, a scatter combines all of its values.
    """
    total = 0.0
    for entry in region.ops:
        shape, cost = entry.shape, max(entry.op.cost, 1.0)
        if entry.op.kind is Kind.REDUCE:
            shape = region.shape_of(entry.inputs[0])
        elif entry.op.kind is Kind.SCATTER and entry.op.combination is not None:
            shape, cost = region.shape_of(entry.inputs[1]), _COMBINED
        total += cost * prod(shape)
    return int(total)
