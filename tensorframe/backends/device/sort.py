"""Sorting on devices: elements, their places, and the first of them, along any axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.reduction import index_dtype
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, SORT

Strides = tuple[int, ...]


def sort_program(region: Region, make: Make) -> Program:
    """Return the program of `sort` or `argsort`."""
    axis, descending, *_ = region.ops[0].attrs
    return make(region, _lowering(axis, descending))


def partition_program(region: Region, make: Make) -> Program:
    """Return the program of `partition` or `argpartition`: what is sorted is partitioned anywhere."""
    (sort_op,) = region.ops
    _, axis = sort_op.attrs
    op, attrs = (
        (SORT, (axis, False)) if sort_op.op is not ARGPARTITION else (ARGSORT, (axis, False, True))
    )
    return make(
        replace(region, ops=(replace(sort_op, op=op, attrs=attrs),)), _lowering(axis, False)
    )


def top_program(region: Region, make: Make) -> Program:
    """Return the program of `topk`, whose result is a pair."""
    _, axis, largest = region.ops[0].attrs
    return Pair(make(top_region(region), _lowering(axis, largest)))


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
    return Region((((count,), dtype),), (elements, order), (1, 2)), _lowering(0, False)


def select_program(region: Region, make: Make) -> Program:
    """Return the program of `select`: lines are sorted, then elements taken from them."""
    (op,) = region.ops
    lines, places = (region.inputs[source] for source in op.inputs)
    (shape, dtype), axis = lines, len(lines[0]) - 1
    ordered = RegionOp(SORT, (axis, False), (0,), shape, dtype)
    taken = RegionOp(TAKE_ALONG_AXIS, (axis,), (0, 1), op.shape, op.dtype)
    return _Selected(
        op.inputs,
        make(Region((lines,), (ordered,), (1,)), _lowering(axis, False)),
        make(Region((lines, places), (taken,), (2,)), Lowering),
    )


class _Selected:
    """Two programs, the second of which takes from what the first has sorted."""

    quiet = True

    def __init__(self, operands: Sequence[int], sort: Program, take: Program) -> None:
        self._lines, self._places = operands
        self._sort, self._take = sort, take

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        (ordered,) = self._sort([inputs[self._lines]], (None,))
        return self._take([ordered, inputs[self._places]], buffers)

    def source(self) -> str:
        """Return the text of the kernels for operands in C order."""
        return source_of(self._sort) + source_of(self._take)


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


def _lowering(axis: int, descending: bool) -> Any:
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
