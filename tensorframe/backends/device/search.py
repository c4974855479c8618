"""Searching on devices: where values belong in a sorted vector."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.kernel.groups.algorithms.binary_search import Searching, build_search
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.ops.reduction import index_dtype


def can_search(operands: Sequence[DType]) -> bool:
    """Whether a kernel searches: a vector and values of one dtype, and positions that sort the vector, if any."""
    vector, *others = operands
    values, sorter = others[:1], others[1:]
    return values == [vector] and all(dtype == index_dtype() for dtype in sorter)


def search_program(region: Region, make: Make) -> Program:
    """Return the program of `searchsorted`."""
    return make(region, _SearchLowering)


class _SearchLowering(Lowering):
    """A sorted vector and values, or a vector, values, and the positions that sort it."""

    def __init__(self, original: Region) -> None:
        self.original = self.region = original
        self.parts = in_parts(original)

    def built(
        self, queue: Queue, strides: Sequence[tuple[int, ...]], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for operands with these strides."""
        assert into is None
        *_, op = self.region.ops
        vector, values, *sorter = op.inputs
        if values >= len(self.region.inputs):  # without axes, but in memory
            (values,) = self.region.ops[0].inputs
        (length,), dtype = self.region.inputs[vector]
        shape, _ = self.region.inputs[values]
        held = strides[values] if shape else None
        right = op.attrs == ("right",)
        step = strides[vector][0]
        order = (sorter[0], strides[sorter[0]][0]) if sorter else None
        searching = Searching(dtype, vector, length, step, values, shape, held, right, order)
        return build_search(searching, len(op.shape), self.target(queue, strides))
