"""Joins and pads that one kernel would have too many parts for: a copy into the result for each of the tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.backends.device.views import viewed
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.spaces.analyse import analyse
from tensorframe.kernel.spaces.pieces import pieces_of
from tensorframe.ops.creation import FULL
from tensorframe.ops.elementwise import POSITIVE
from tensorframe.ops.movement import CONCAT, EXPAND, PAD, SLICE

# Tensors that one kernel takes: each is a loop of its own in it.
_TOGETHER = 8


def joins_many(region: Region) -> bool:
    """Whether joining more tensors than a kernel takes is all that a region does."""
    return (
        len(region.ops) == 1
        and region.ops[0].op is CONCAT
        and len(region.ops[0].inputs) > _TOGETHER
    )


def pads_along_many_axes(region: Region) -> bool:
    """Whether a pad that no kernel puts together is all that a region does: one along four axes has 81 boxes."""
    return len(region.ops) == 1 and region.ops[0].op is PAD and isinstance(analyse(region), str)


class PiecesProgram:
    """Returns the inputs side by side in new memory, or one that a value surrounds."""

    quiet = True

    def __init__(
        self,
        region: Region,
        kernels: Callable[[Region], DeviceProgram],
        new: Callable[[], DeviceArray],
    ) -> None:
        """`new` returns an array for the result."""
        (op,) = region.ops
        shapes = [region.shape_of(source) for source in op.inputs]
        pieces = pieces_of(op.op, op.attrs, shapes)
        self._new = partial(_made, kernels(_surroundings(op))) if op.op is PAD else new
        self._copies = {
            shape: kernels(_same(shape, op))
            for shape in dict.fromkeys(piece.sizes for piece in pieces)
        }
        self._pieces = [
            (op.inputs[piece.operand], _slice(piece.lows, piece.sizes, op)) for piece in pieces
        ]

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the joined tensor."""
        result = self._new()
        for source, selected in self._pieces:
            target = viewed(selected, result)
            assert target is not None  # slices are views
            self._copies[selected.ops[0].shape].run((inputs[source],), target[0])
        return (result,)


def _surroundings(op: RegionOp) -> Region:
    value = RegionOp(FULL, op.attrs[-1:], (), (), op.dtype)
    return Region((), (value, RegionOp(EXPAND, (op.shape,), (0,), op.shape, op.dtype)), (1,))


def _made(program: DeviceProgram) -> DeviceArray:
    (array,) = program((), (None,))
    assert isinstance(array, DeviceArray)
    return array


def _same(shape: tuple[int, ...], op: RegionOp) -> Region:
    return Region(((shape, op.dtype),), (RegionOp(POSITIVE, (), (0,), shape, op.dtype),), (1,))


def _slice(lows: tuple[int, ...], sizes: tuple[int, ...], op: RegionOp) -> Region:
    attrs = (lows, sizes, (1,) * len(sizes))
    return Region(((op.shape, op.dtype),), (RegionOp(SLICE, attrs, (0,), sizes, op.dtype),), (1,))
