"""Assignment to a slice: a copy of the tensor, or the tensor itself, and a kernel that writes the slice's elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.views import viewed
from tensorframe.graph.region import Region, RegionOp
from tensorframe.ops.elementwise import POSITIVE
from tensorframe.ops.indexing import SET_SLICE
from tensorframe.ops.movement import SLICE


def target_of(whole: Any, buffers: Sequence[Any | None], copy: DeviceProgram) -> DeviceArray:
    """Return what elements of `whole` are written to: a copy, or itself if the memory that is given is its own."""
    (buffer,) = buffers
    if buffer is not whole or buffer.block is None:
        (buffer,) = copy((whole,), (None,))
    else:
        # what was promised of the former elements says nothing of those that come
        buffer.block.promise = None
    assert isinstance(buffer, DeviceArray)
    return buffer


def sets_slice(region: Region) -> bool:
    """Whether setting a slice is all that a region does."""
    return len(region.ops) == 1 and region.ops[0].op is SET_SLICE


class SliceProgram:
    """Returns the first input with a slice of it replaced by the second one."""

    quiet = True

    def __init__(self, region: Region, kernels: Callable[[Region], DeviceProgram]) -> None:
        (op,) = region.ops
        (shape, dtype), (part, _) = region.inputs[op.inputs[0]], region.inputs[op.inputs[1]]
        self._operands = op.inputs
        self._empty = 0 in part
        self._selected = Region(
            ((shape, dtype),), (RegionOp(SLICE, op.attrs, (0,), part, dtype),), (1,)
        )
        self._copy, self._store = [
            kernels(Region(((size, dtype),), (RegionOp(POSITIVE, (), (0,), size, dtype),), (1,)))
            for size in (shape, part)
        ]

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the tensor with the slice replaced, in its own memory if that is among `buffers`."""
        whole, values = (inputs[operand] for operand in self._operands)
        result = target_of(whole, buffers, self._copy)
        if self._empty:
            return (result,)
        target = viewed(self._selected, result)
        assert target is not None  # slices are views
        (part,) = target
        assert isinstance(part, DeviceArray)
        self._store.run((values,), part)
        return (result,)
