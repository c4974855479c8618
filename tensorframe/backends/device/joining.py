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
        (one,) = region.ops
        shapes = [region.shape_of(at) for at in one.inputs]
        pieces = pieces_of(one.op, one.attrs, shapes)
        self._new = partial(_made, kernels(_surroundings(one))) if one.op is PAD else new
        self._copies = {
            shape: kernels(_same(shape, one))
            for shape in dict.fromkeys(one.sizes for one in pieces)
        }
        self._pieces = [
            (one.inputs[piece.operand], _slice(piece.lows, piece.sizes, one)) for piece in pieces
        ]

    def __call__(self, inputs: Sequence[Any], buffers: Sequence[Any | None]) -> Sequence[Any]:
        """Return the joined tensor."""
        result = self._new()
        for source, selected in self._pieces:
            found = viewed(selected, result)
            assert found is not None  # slices are views
            self._copies[selected.ops[0].shape].run((inputs[source],), found[0])
        return (result,)


def _surroundings(one: RegionOp) -> Region:
    value = RegionOp(FULL, one.attrs[-1:], (), (), one.dtype)
    return Region((), (value, RegionOp(EXPAND, (one.shape,), (0,), one.shape, one.dtype)), (1,))


def _made(program: DeviceProgram) -> DeviceArray:
    (array,) = program((), (None,))
    assert isinstance(array, DeviceArray)
    return array


def _same(shape: tuple[int, ...], one: RegionOp) -> Region:
    return Region(((shape, one.dtype),), (RegionOp(POSITIVE, (), (0,), shape, one.dtype),), (1,))


def _slice(lows: tuple[int, ...], sizes: tuple[int, ...], one: RegionOp) -> Region:
    attrs = (lows, sizes, (1,) * len(sizes))
    return Region(
        ((one.shape, one.dtype),), (RegionOp(SLICE, attrs, (0,), sizes, one.dtype),), (1,)
    )
