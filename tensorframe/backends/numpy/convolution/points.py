"""Convolutions that are matrix products: kernels of one position, and gradients by those."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorframe.backends.numpy.convolution.padding import padded
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import Multiply, Product, Store
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry

Array = Any


def sums_points(x: Shape, weight: Shape, geometry: Geometry, groups: int) -> bool:
    """Whether there is one window, without zeros around it: so is the gradient by a kernel of one position."""
    sizes = geometry.sizes(x[2:], weight[2:])
    if groups > 1 or any(geometry.before) or max(sizes) > 1 or max(weight[2:]) == 1:
        return False
    axes = zip(x[2:], weight[2:], geometry.dilation, strict=True)
    return all((length - 1) * step < size for size, length, step in axes)


class PointSums:
    """A convolution with one window: products of matrices, summed over the channels of the input."""

    in_parts = False

    def __init__(
        self, x: Array, weight: Array, geometry: Geometry, multiply: Multiply = Product
    ) -> None:
        self._multiply = multiply
        self.dtype = x.dtype
        self.shape: Shape = (x.shape[0], weight.shape[0], *[1] * (x.ndim - 2))
        self.blocks: list[Index] = [tuple(map(slice, self.shape))]
        steps = [slice(None, None, step) for step in geometry.dilation]
        x = x[(slice(None), slice(None), *steps)]
        x = x[(slice(None), slice(None), *map(slice, weight.shape[2:]))]
        self._x, self._weight = [
            part.swapaxes(0, 1).reshape((part.shape[1], part.shape[0], -1)) for part in (x, weight)
        ]

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        products = self._multiply(self._x, self._weight.swapaxes(1, 2)).array()
        return copied(products.sum(axis=0).reshape(self.shape), out)

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of the one block."""
        store(self.blocks[0], self.array())


def columns_of(x: Array, weight: Array, geometry: Geometry) -> tuple[Array, Shape]:
    """Return what a kernel of one position reads, (batch, channels, positions), and the sizes of its result."""
    sizes = geometry.sizes(x.shape[2:], weight.shape[2:])
    x = padded(x, geometry)
    x = x[(slice(None), slice(None), *[slice(None, None, step) for step in geometry.stride])]
    x = x[(slice(None), slice(None), *map(slice, sizes))]
    return x.reshape((*x.shape[:2], prod(sizes))), sizes


class PointProduct:
    """A convolution whose kernel has one position: a matrix times the channels of each element."""

    in_parts = False

    def __init__(
        self, x: Array, weight: Array, geometry: Geometry, multiply: Multiply = Product
    ) -> None:
        columns, sizes = columns_of(x, weight, geometry)
        self.dtype = x.dtype
        self.shape: Shape = (x.shape[0], weight.shape[0], *sizes)
        self._columns = prod(sizes)
        self._product = multiply(weight.reshape(weight.shape[:2]), columns, whole_rows=True)
        whole = tuple([slice(0, size) for size in sizes])
        self.blocks = [(*index[:2], *whole) for index in self._product.blocks]

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        if out is None or not out.flags.c_contiguous:
            result: Array = self._product.array().reshape(self.shape)
            return copied(result, out)
        self._product.array(out.reshape((*self.shape[:2], self._columns)))
        return out

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        sizes = self.shape[2:]
        whole = tuple([slice(0, size) for size in sizes])

        def spread(index: Index, block: Array) -> None:
            store((*index[:2], *whole), block.reshape((*block.shape[:2], *sizes)))

        self._product.each(spread)


def copied(source: Array, target: Array | None) -> Array:
    """Return an array, in the memory of `target` if there is one."""
    if target is None:
        return source
    target[...] = source
    return target
