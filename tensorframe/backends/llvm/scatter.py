"""Scatters that combine, compiled: a copy of the tensor, or memory that is given up, which takes values in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.foreseeing import StandIns, foresee
from tensorframe.backends.llvm.lowering import scatters_of
from tensorframe.backends.llvm.program import KernelProgram
from tensorframe.backends.numpy.interruptible import interruptible
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel.forms.scatter import scratch_bytes
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts
from tensorframe.ops.elementwise import POSITIVE

# Bytes for accumulators beyond which NumPy combines: it gives the same bits, and raises errors where memory ends.
_MOST_SCRATCH = 1 << 28


class ScatterProgram:
    """Runs a scatter whose row says how values are combined with elements."""

    quiet = True

    def __init__(self, region: Region, *fallback: Program) -> None:
        (op,) = region.ops
        self._whole = op.inputs[0]
        dtype = region.dtype_of(self._whole)
        copy = RegionOp(POSITIVE, (), (0,), op.shape, dtype)
        self._strides = tuple([step * dtype.itemsize for step in strides_of(op.shape)])
        self._copy = KernelProgram(Region(((op.shape, dtype),), (copy,), (1,)))
        self._kernel = _CombineProgram(region, *fallback)
        # of short rows one thread takes in all values
        self._combine = interruptible(self._kernel, region)
        if fallback and scratch_bytes(region) > _MOST_SCRATCH:
            self._combine = fallback[0]

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the tensor with values taken in."""
        (result,) = buffers
        if result is None or result.strides != self._strides:
            (result,) = self._copy((inputs[self._whole],), (None,))
        if result.strides != self._strides:  # the copy has the tensor's order of axes
            ordered = host_pool.empty(result.shape, result.dtype)
            ordered[...] = result
            result = ordered
        return self._combine(inputs, (result,))

    def foresee(self, operands: Sequence[Any], stand_ins: StandIns) -> Sequence[Any] | None:
        """Have both kernels made by other threads; return the result as it will lie."""
        foresee(self._copy, (operands[self._whole],), stand_ins)
        return foresee(self._kernel, operands, stand_ins)

    def source(self) -> str:
        """Return the text of the kernel that combines, for operands that are contiguous in C order."""
        return self._kernel.source()


class _CombineProgram(KernelProgram):
    """The kernel of a scatter whose output holds the tensor's elements already."""

    def _lowered(self, region: Region) -> Parts:
        return Parts(region, {}, ())

    def _build(self, strides: Sequence[Shape]) -> Built:
        return scatters_of(self._original, tuple(strides))
