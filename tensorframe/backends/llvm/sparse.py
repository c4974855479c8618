"""Products with sparse matrices, compiled: kernels of their own, for each layout of the operands."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.llvm.lowering import sparse_of
from tensorframe.backends.llvm.program import KernelProgram
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts


class SparseProgram(KernelProgram):
    """Runs one of the rows of `ops/sparse.py`; NumPy runs it where an index is out of bounds, and raises."""

    def _lowered(self, region: Region) -> Parts:
        return Parts(region, {}, ())

    def _build(self, strides: Sequence[Shape]) -> Built:
        return sparse_of(self._original, tuple(strides))
