"""Scatters on devices: a copy of the tensor, in which the last value for each position that indices point to stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.assign import target_of
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.queue import Queue
from tensorframe.backends.device.sort import sorted_with_places
from tensorframe.dtypes import COMPLEX, DType, real_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape, broadcast, broadcast_strides
from tensorframe.kernel.groups.algorithms.scatter import (
    Pointing,
    Replacing,
    build_combined,
    build_ends,
    build_stores,
    build_targets,
    number_dtype,
)
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts
from tensorframe.ops.elementwise import POSITIVE
from tensorframe.ops.indexing import GATHER, SCATTER, SCATTER_ADD, selected_shape
from tensorframe.ops.movement import EXPAND
from tensorframe.ops.sorting import SEARCHSORTED

Strides = tuple[int, ...]


def scatters(region: Region) -> bool:
    """Whether a scatter by index tensors is all that a region does."""
    return len(region.ops) == 1 and _has_indices(region.ops[0].op)


def _has_indices(op: Op) -> bool:
    return op is SCATTER or (op.kind is Kind.SCATTER and op.combination is not None)


def can_scatter(op: Op, operands: Sequence[DType]) -> bool:
    """Whether kernels scatter values of these dtypes: sums of complex numbers are sums of their parts."""
    if op is SCATTER or op is SCATTER_ADD:
        return True
    return _has_indices(op) and operands[0] not in COMPLEX


class ScatterProgram:
    """Returns the first input with the second one's elements where the others, which are indices, point to.

    They replace what is there, or join it, as the row's combination says.
    """

    quiet = True
    _ends: DeviceProgram | None = None
    _sorted: DeviceProgram | None = None

    def __init__(self, region: Region, make: Make) -> None:
        (op,) = region.ops
        axes, position = op.attrs
        self._operands = op.inputs
        (shape, dtype), *others = [region.inputs[source] for source in op.inputs]
        self._with_axis = [
            make(_copy_to((1,), *known), Lowering) if known[0] == () else None for known in others
        ]
        (wanted, _), *indices = [(known[0] or (1,), known[1]) for known in others]
        self._empty = 0 in wanted
        if self._empty:
            return
        chosen = broadcast(op.op.name, *[known for known, _ in others[1:]])
        # the tensor's axes that are not indexed tell elements apart only within what is pointed to
        self._line = tuple([size if axis in axes else 1 for axis, size in enumerate(shape)])
        targets = number_dtype(prod(self._line))
        selected = selected_shape(
            self._line, tuple([known for known, _ in indices]), axes, position
        )
        gather = RegionOp(GATHER, op.attrs, tuple(range(len(others))), selected, targets)
        pointed = ((self._line, dtype), *indices)
        self._copy = make(_copy_to(shape, shape, dtype), Lowering)
        self._targets = make(
            Region(pointed, (gather,), (len(pointed),)), partial(_Targets, chosen=chosen)
        )
        count = prod(chosen)
        places = number_dtype(count)
        # one value is the last for its position
        if count > 1:
            self._sorted = make(*sorted_with_places(count, targets, places))
        order = (((count,), targets), ((count,), places))
        given: tuple[tuple[Shape, DType], ...] = (*order, (wanted, dtype))
        if op.op.combination is not None:
            self._ends = make(_ends_of(count, targets), _Ends)
            given = (*given, ((count,), places))
        store = RegionOp(op.op, op.attrs, tuple(range(len(given))), shape, dtype)
        self._stores = make(Region(given, (store,), (len(given),)), partial(_Stores, chosen=chosen))
        self._count = count

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the tensor with elements replaced: itself if no element is, or if its memory is among `buffers`."""
        whole, *others = [inputs[operand] for operand in self._operands]
        if self._empty:
            return (whole,)
        values, *indices = map(_with_axis, others, self._with_axis)
        (targets,) = self._targets((replace(whole, shape=self._line), *indices), (None,))
        targets = replace(targets, shape=(self._count,), strides=(1,))
        order = self._order(targets)
        ends = [] if self._ends is None else self._ends((order[0],), (None,))
        result = target_of(whole, buffers, self._copy)
        self._stores.run((*order, values, *ends), result)
        return (result,)

    def _order(self, targets: Any) -> Sequence[Any]:
        """Return targets in ascending order, and the numbers of their values."""
        return (
            (targets, targets) if self._sorted is None else self._sorted((targets,), (None, None))
        )

    def source(self) -> str:
        """Return the text of the kernels that find and sort what is pointed to, for operands in C order."""
        if self._empty:
            return ""
        kernels = [self._targets, *([] if self._sorted is None else [self._sorted])]
        return "\n".join([kernel.source() for kernel in kernels])


def _with_axis(operand: Any, copy: DeviceProgram | None) -> Any:
    """Return an operand with at least one axis; `copy` puts a number into memory, and is None where there are axes."""
    if copy is None:
        return operand
    if type(operand) is DeviceArray:
        return replace(operand, shape=(1,), strides=(1,))
    return copy((operand,), (None,))[0]


def _copy_to(shape: Shape, source: Shape, dtype: Any) -> Region:
    op = RegionOp(POSITIVE, (), (0,), shape, dtype)
    if shape != source:
        op = RegionOp(EXPAND, (shape,), (0,), shape, dtype)
    return Region(((source, dtype),), (op,), (1,))


def _ends_of(count: int, targets: DType) -> Region:
    """Return the region of what an op over sorted targets gives; which op it is, its lowering knows."""
    op = RegionOp(SEARCHSORTED, ("right",), (0, 0), (count,), number_dtype(count))
    return Region((((count,), targets),), (op,), (1,))


class _OneOp(Lowering):
    """A region of one op whose operands all have axes."""

    def __init__(self, original: Region, chosen: Shape = ()) -> None:
        self.original = self.region = original
        self.parts = Parts(original, {}, ())
        self._chosen = chosen


class _Targets(_OneOp):
    """The numbers of the elements pointed to: those that a gather would take from a tensor of such numbers."""

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for indices with these strides."""
        (op,) = self.region.ops
        axes, _ = op.attrs
        (line, _), *indices = self.region.inputs
        steps = [
            broadcast_strides(shape, own, self._chosen)
            for (shape, _), own in zip(indices, strides[1:], strict=True)
        ]
        pointing = Pointing(
            tuple([line[axis] for axis in axes]),
            self._chosen,
            tuple([dtype for _, dtype in indices]),
            tuple(steps),
        )
        built = build_targets(pointing, self.target(queue, strides))
        return replace(built, layouts=(tuple(range(len(op.shape))),))


class _Ends(_OneOp):
    """Where those of sorted targets end that are equal to each."""

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for targets in C order."""
        (((count,), dtype),) = self.region.inputs
        return build_ends(count, dtype, self.target(queue, strides))


class _Stores(_OneOp):
    """Sorted targets, the numbers of their values, and the values: written to elements, or joined to them."""

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernel for values with these strides, in real elements."""
        assert into is not None
        (op,) = self.region.ops
        axes, position = op.attrs
        shape, dtype = op.shape, op.dtype
        # the parts of complex elements are one more axis
        scale, parts, ones = (2, (2,), (1,)) if dtype in COMPLEX else (1, (), ())
        steps = [scale * step for step in into.strides]
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        sizes = [shape[axis] for axis in kept]
        own = [steps[axis] for axis in kept]
        # an axis of one element stands for none
        surplus = len(self.region.shape_of(2)) - len(kept) - len(self._chosen)
        values, end = strides[2][surplus:], position + len(self._chosen)
        before = tuple(sizes[:position]), values[:position], tuple(own[:position])
        behind = (*sizes[position:], *parts), values[end:], (*own[position:], *ones)
        replacing = Replacing(
            real_of(dtype),
            tuple([shape[axis] for axis in axes]),
            tuple([steps[axis] for axis in axes]),
            self._chosen,
            values[position:end],
            before,
            behind,
            scale * into.offset,
        )
        target = self.target(queue, strides, into)
        if op.op.combination is not None:
            return build_combined(replacing, op.op, target)
        return build_stores(replacing, target)
