"""What all ways know of a convolution: its operands, its sizes, what it costs, and how it is cut into blocks."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

from tensorframe.backends.llvm.convolution.padding import Memory, flat, in_phases, surrounded
from tensorframe.backends.llvm.convolution.sizes import Sizes
from tensorframe.backends.llvm.indirect_product import functions
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.padding import cut, slices
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry
from tensorframe.quick_tuples import NamedTuple

Array = Any

# What elements cost, in products that a processor makes meanwhile: to turn a kernel whose positions lie in rows, or
# another one, or a result, and to copy a result.
_TURN_ROWS, _TURN, _TURN_BACK, _COPY = 20, 100, 20, 40


class Operands(NamedTuple):
    """What convolutions have in common that do the same with other elements."""

    shape: Shape
    strides: Shape
    kernel: Shape
    kernel_strides: Shape
    geometry: Geometry
    groups: int
    dtype: DType


class Plan(Sizes):
    """A convolution: its operands and sizes."""

    def __init__(self, x: Array, weight: Array, geometry: Geometry, groups: int) -> None:
        super().__init__(x.shape, weight.shape, geometry, groups, x.dtype)
        self.given = x, weight
        self.operands = Operands(
            x.shape, x.strides, weight.shape, weight.strides, geometry, groups, x.dtype
        )
        self.x = cut(x, geometry)
        self.weight = weight.reshape((groups, self.channels, *weight.shape[1:]))
        # of a kernel that is turned round, its other end is the first in memory
        self.around = tuple([by < 0 for by in self.weight.strides[3:]])
        places = [slice(None, None, -1 if is_around else 1) for is_around in self.around]
        self.upright = self.weight[(slice(None), slice(None), slice(None), *places)]

    def positions_cost(self) -> float:
        """Return what vectors of positions take, in products."""
        lanes = functions(self.dtype).lanes
        columns: int = ceil(prod(self.sizes[:-1]) * self.pitch / lanes) * lanes
        terms = self.inner * prod(self.kernel)
        channels: int = self.shape[0] * self.shape[1]
        return float(channels * (columns * terms + prod(self.sizes) * _COPY))

    def channels_cost(self) -> float:
        """Return what vectors of channels take, in products."""
        lanes = functions(self.dtype).lanes
        filled = ceil(self.channels / lanes) * lanes * self.groups
        positions: int = self.shape[0] * prod(self.sizes)
        terms: int = self.inner * prod(self.kernel)
        turn: int = self.weight.size * (_TURN_ROWS if flat(self.upright[0], 2) else _TURN)
        return float(positions * (filled * terms + self.shape[1] * _TURN_BACK) + turn)

    def padded(
        self,
        batch: slice,
        channels: slice,
        rows: slice,
        memory: Memory,
        *,
        copied: bool = False,
        apart: Shape = (),
    ) -> Array:
        """Return what windows at `rows` of the first spatial axis read, as (batch, channels, ...).

        With `copied`, what follows the last element may be read, as far as a vector reaches. Elements that are `apart`
        by so much along the spatial axes become neighbours: axes that say where they begin come before those.
        """
        geometry = self.geometry
        low = rows.start * geometry.stride[0] - geometry.before[0]
        reach = (self.kernel[0] - 1) * geometry.dilation[0] + 1
        high = (rows.stop - 1) * geometry.stride[0] + reach - geometry.before[0]
        part = self.x[batch, channels, max(low, 0) : max(min(high, self.x.shape[2]), 0)]
        if not self.is_padded and not copied and not apart:
            return part
        before = (max(-low, 0), *geometry.before[1:])
        sizes = [high - low]
        sizes += [
            size + down + up
            for size, down, up in zip(
                self.x.shape[3:], geometry.before[1:], geometry.after[1:], strict=True
            )
        ]
        if apart:
            return in_phases(part, before, sizes, apart, memory)
        return surrounded(part, before, sizes, self.pitch, memory)


def batch_and_rows(
    plan: Plan, rows: int, outs: list[slice]
) -> tuple[list[slice], list[slice], list[slice]]:
    """Return how the batch, channels and the first spatial axis are cut, if a block has so many rows at most."""
    batch, _, first, *_ = plan.shape
    examples, height = plan.block(rows)
    return slices(batch, examples), outs, slices(first, height)


def boxes(*axes: list[slice]) -> list[Index]:
    """Return the indices that a part of each axis makes, the first axis outermost."""
    indices: list[Index] = [()]
    for axis in axes:
        indices = [(*index, part) for index in indices for part in axis]
    return indices
