"""Selection on devices: elements that sorting would put at places of lines, and lines in parts before and behind them.

Short lines are sorted for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make, source_of
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.sort import sort_lowering
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.partition import MOST_PLACES, build_partition
from tensorframe.kernel.groups.algorithms.selection import Selecting, build_selection
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.rules.ordering import is_selected
from tensorframe.ops.sorting import ARGPARTITION, ARGSORT, SORT


def select_program(region: Region, make: Make) -> Program:
    """Return the program of `select`."""
    (op,) = region.ops
    lines, places = (region.inputs[source] for source in op.inputs)
    (shape, dtype), axis = lines, len(lines[0]) - 1
    if is_selected(shape[axis], op.shape[axis]):
        return make(region, _SelectLowering)
    ordered = RegionOp(SORT, (axis, False), (0,), shape, dtype)
    taken = RegionOp(TAKE_ALONG_AXIS, (axis,), (0, 1), op.shape, op.dtype)
    return _Sorted(
        op.inputs,
        make(Region((lines,), (ordered,), (1,)), sort_lowering(axis, False)),
        make(Region((lines, places), (taken,), (2,)), Lowering),
    )


class _LinesLowering(Lowering):
    """A region that is one op on lines, which nothing is fused with."""

    def __init__(self, original: Region) -> None:
        self.original = self.region = original
        self.parts = in_parts(original)


class _SelectLowering(_LinesLowering):
    """Lines, and places in them."""

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for operands with these strides."""
        assert into is None
        (op,) = self.region.ops
        lines, places = op.inputs
        shape, dtype = self.region.inputs[lines]
        selecting = Selecting(
            shape,
            dtype,
            strides[lines],
            op.shape[-1],
            strides[places],
            (lines, places),
        )
        return build_selection(selecting, self.target(queue, strides))


def partition_program(region: Region, make: Make) -> Program:
    """Return the program of `partition` or `argpartition`: what is sorted is partitioned anywhere."""
    (op,) = region.ops
    kth, axis = op.attrs
    wanted = places_of(kth, op.shape[axis])
    if is_partitioned(op.shape[axis], len(wanted)):
        return make(region, _PartitionLowering)
    if op.op is ARGPARTITION:
        sort_op = replace(op, op=ARGSORT, attrs=(axis, False, True))
    else:
        sort_op = replace(op, op=SORT, attrs=(axis, False))
    return make(replace(region, ops=(sort_op,)), sort_lowering(axis, False))


def is_partitioned(length: int, count: int) -> bool:
    """Whether lines of this length are partitioned by kernels, at so many places, and not sorted."""
    return count <= MOST_PLACES and is_selected(length, count)


class _PartitionLowering(_LinesLowering):
    """Lines along any axis, of elements or of their places."""

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for an operand with these strides."""
        assert into is None
        (op,) = self.region.ops
        ((shape, dtype),) = self.region.inputs
        kth, axis = op.attrs
        wanted = places_of(kth, shape[axis])
        selecting = Selecting(shape, dtype, strides[0], len(wanted), axis=axis, kth=wanted)
        places = op.dtype if op.op is ARGPARTITION else None
        return build_partition(selecting, places, self.target(queue, strides))


def places_of(kth: Sequence[int], length: int) -> tuple[int, ...]:
    """Return places on an axis in their order, each once."""
    return tuple(sorted({place % length for place in kth}))


class _Sorted:
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
