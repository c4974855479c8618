"""Sorting on devices: elements, their places, and the first of them, along any axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make, source_of
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import DType
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.merge_sort import Sorting, build_sort
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.ops.reduction import index_dtype
from tensorframe.ops.sorting import ARGSORT, SORT

Strides = tuple[int, ...]


def sort_program(region: Region, make: Make) -> Program:
    """Return the program of `sort` or `argsort`."""
    axis, descending, *_ = region.ops[0].attrs
    return make(region, sort_lowering(axis, descending))


def top_program(region: Region, make: Make) -> Program:
    """Return the program of `topk`, whose result is a pair."""
    _, axis, largest = region.ops[0].attrs
    return Pair(make(top_region(region), sort_lowering(axis, largest)))


def top_region(region: Region) -> Region:
    """Return a region whose two outputs are the pair that `topk` gives."""
    (op,) = region.ops
    _, axis, largest = op.attrs
    values = RegionOp(SORT, (axis, largest), (0,), op.shape, op.dtype)
    places = RegionOp(ARGSORT, (axis, largest, True), (0,), op.shape, index_dtype())
    return Region(region.inputs, (values, places), (1, 2))


def sorted_with_places(count: int, dtype: DType, places: DType) -> tuple[Region, Any]:
    """Return region and lowering of a sorted vector and the places of its elements, equal ones in their order."""
    elements = RegionOp(SORT, (0, False), (0,), (count,), dtype)
    order = RegionOp(ARGSORT, (0, False, True), (0,), (count,), places)
    return Region((((count,), dtype),), (elements, order), (1, 2)), sort_lowering(0, False)


class Pair:
    """A program whose outputs are one value: a tuple."""

    quiet = True

    def __init__(self, program: Program) -> None:
        self._program = program

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the tuple."""
        return (tuple(self._program(inputs, buffers)),)

    def source(self) -> str:
        """Return the text of the kernels for an operand in C order."""
        return source_of(self._program)


def sort_lowering(axis: int, descending: bool) -> Any:
    """Return what makes the kernels of a region whose ops sort along an axis."""
    return lambda region: _SortLowering(region, axis, descending)


class _SortLowering(Lowering):
    """An array that is sorted; each op of the region is an output."""

    def __init__(self, original: Region, axis: int, descending: bool) -> None:
        self.original = self.region = original
        self.parts = in_parts(original)
        self._axis, self._descending = axis, descending

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for an operand with these strides."""
        assert into is None
        ((shape, dtype),) = self.region.inputs
        count = self.region.ops[0].shape[self._axis]
        outputs = tuple([op.op is SORT for op in self.region.ops])
        places = self.region.ops[-1].dtype  # of no use if there are elements alone
        sorting = Sorting(
            shape, dtype, strides[0], self._axis, self._descending, count, outputs, places
        )
        return build_sort(sorting, self.target(queue, strides))
