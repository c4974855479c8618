"""What all ways know of a convolution: its operands, its sizes, what it costs, and how it is cut into blocks."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from typing import Any

from tensorframe.backends.llvm.convolution.padding import Memory, flat, in_phases, surrounded
from tensorframe.backends.llvm.convolution.sizes import Sizes
from tensorframe.backends.llvm.convolution.windows import Span, spans, whole
from tensorframe.backends.llvm.indirect_product import functions
from tensorframe.backends.numpy.convolution.padding import cut, slices
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry
from tensorframe.quick_tuples import NamedTuple

Array = Any

# What elements cost, in products that a processor makes meanwhile: to turn a kernel whose positions lie in rows, or
# another one, or a result, and to copy a result.
_TURN_ROWS, _TURN, _TURN_BACK, _COPY = 20, 100, 20, 40
# How many times the products are without those of zeros around images that all are at least, if these are left out.
_LESS = 1.04


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
        self._skips: bool | None = None
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

    @property
    def skips_zeros(self) -> bool:
        """Whether zeros around images are so many that it pays not to make or multiply them."""
        if self._skips is None:
            self._skips = self._few_are_seen()
        return self._skips

    def _few_are_seen(self) -> bool:
        x = self.x
        if not self.is_padded or x.strides[-1] != x.itemsize:
            return False
        axes = self.spans(slice(0, self.sizes[0]))
        if any(not span.positions for along in axes for span in along):
            return False
        # a block has all images where windows are few, else perhaps one
        images = ceil(self.shape[0] / self.enough) if self.is_turned or self.is_in_parts else 1
        cost = sum([_cost(box, images) for box in product(*axes)])
        return _LESS * cost <= images * prod(self.sizes) * prod(self.kernel)

    def spans(self, rows: slice) -> list[list[Span]]:
        """Return the windows at `rows` of the first spatial axis, by the positions of the kernel that see images."""
        places = [rows, *[slice(0, size) for size in self.sizes[1:]]]
        lengths = zip(places, self.kernel, self.x.shape[2:], strict=True)
        return [spans(self.geometry, axis, *along) for axis, along in enumerate(lengths)]

    def windows(
        self, batch: slice, channels: slice, rows: slice, memory: Memory
    ) -> tuple[Array, list[list[Span]]]:
        """Return what windows at `rows` of the first spatial axis read, and where these are."""
        if self.skips_zeros:
            return self.x[batch, channels], self.spans(rows)
        counts = rows.stop - rows.start, *self.sizes[1:]
        axes = [whole(*along) for along in zip(counts, self.kernel, strict=True)]
        return self.padded(batch, channels, rows, memory), axes

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


def _cost(box: tuple[Span, ...], images: int) -> int:
    """Return what windows that see the same positions take, in products: the last ones do not fill a tile."""
    windows = images * prod([len(span.places) for span in box])
    return (windows + 1) * prod([len(span.positions) for span in box])


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
