"""Products with sparse matrices on devices: one kernel each, whose threads follow row pointers."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.queue import Queue
from tensorframe.graph.region import Region
from tensorframe.kernel.groups.algorithms.sparse import build_sparse
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts


def sparse_program(region: Region, make: Make) -> Program:
    """Return the program of a product with sparse matrices, or of the rows of stored elements."""
    return make(region, _SparseLowering)


class _SparseLowering(Lowering):
    """Elements by rows, and dense operands in any layout."""

    def __init__(self, original: Region) -> None:
        self.original = self.region = original
        self.parts = Parts(original, {}, ())

    def built(
        self, queue: Queue, strides: Sequence[tuple[int, ...]], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides, in real elements."""
        assert into is None
        return build_sparse(self.region, strides, self.target(queue, strides))
