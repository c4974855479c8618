"""Convolutions on devices: products of the kernel with windows that are gathered tile by tile, in one launch.

For each example and group the rows of the product are channels of the result, its columns the positions of windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tensorframe.backends.device.make import Make
from tensorframe.backends.device.product import Strides, TiledProduct
from tensorframe.backends.device.program import DeviceProgram
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.groups.algorithms.product_loops import Factor, Product
from tensorframe.kernel.groups.algorithms.windows import Axis, Box, Windows
from tensorframe.ops.convolution import CONVOLUTION, Geometry
from tensorframe.ops.movement import RESHAPE


def convolution_program(region: Region, make: Make) -> DeviceProgram:
    """Return the program of a region with a convolution, and of what is done to it."""
    return make(region, WindowedProduct)


class WindowedProduct(TiledProduct):
    """A convolution and what is done to it, in tiles."""

    def __init__(self, original: Region) -> None:
        super().__init__(_as_product(original))

    def product(self, strides: Sequence[Strides]) -> Product:
        """Return where the factors are, of operands with these strides."""
        op = self._product
        x, weight = op.inputs
        *_, groups = op.attrs
        geometry = Geometry(*op.attrs[:-1])
        by_batch, by_channel, *by_axis = strides[x][: len(geometry.stride) + 2]
        by_out, *by_term = strides[weight][: len(geometry.stride) + 2]
        (_, channels, *kernel), (_, _, *spatial) = (
            self.original.shape_of(weight),
            self.original.shape_of(x),
        )
        outs = op.shape[-2]
        sizes = geometry.sizes(tuple(spatial), tuple(kernel))
        axes = zip(
            spatial,
            by_axis,
            kernel,
            sizes,
            geometry.stride,
            geometry.before,
            geometry.input_dilation,
            geometry.dilation,
            strict=True,
        )
        windows = Windows(channels, by_channel, tuple([Axis(*axis) for axis in axes]))
        box = Box((channels, *kernel), tuple(by_term))
        return Product(
            self._value,
            op.shape,
            op.dtype,
            channels * prod(kernel),
            Factor(weight, (0, outs * by_out, by_out, 0), by_term[-1], box),
            Factor(x, (by_batch, channels * by_channel if groups > 1 else 0, 0, 0), 0, windows),
        )


def _as_product(region: Region) -> Region:
    """Return a region whose convolution has the shape of a product: batch, groups, channels, positions."""
    # behind reshapes of numbers that are in memory: see `lifted`
    place = next(index for index, region_op in enumerate(region.ops) if region_op.op is CONVOLUTION)
    op, value = region.ops[place], len(region.inputs) + place
    batch, out, *sizes = op.shape
    groups = op.attrs[-1]
    product = replace(op, shape=(batch, groups, out // groups, prod(sizes)))
    seen = RegionOp(RESHAPE, (op.shape,), (value,), op.shape, op.dtype)

    def now(source: int) -> int:
        return source if source < value else source + 1

    rest = [
        replace(region_op, inputs=tuple(map(now, region_op.inputs)))
        for region_op in region.ops[place + 1 :]
    ]
    outputs = tuple(map(now, region.outputs))
    return Region(region.inputs, (*region.ops[:place], product, seen, *rest), outputs)
