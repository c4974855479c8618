"""Convolutions as implicit products: blocks of windows are gathered into the cache by the thread that multiplies them.

The array of all windows, which is as many times the input as the kernel has positions, is never there. An input that is
dilated, as in a transposed convolution, is cut into phases: every other result element reads every other position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import ceil, prod
from typing import Any, Protocol

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.numpy.convolution.padding import dilated, padded, phases, slices
from tensorframe.backends.numpy.convolution.points import PointProduct, PointSums, sums_points
from tensorframe.backends.numpy.functions import spells
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import IN_BLAS, LONG
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import NARROW, DType, wide_of
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry, multiplications

Array = Any
Store = Callable[[Index, Array], None]

# Columns of a block, and elements of its windows: half a megabyte of float32, which stays in the second-level cache.
_COLUMNS, _WINDOWS = 256, 1 << 17
# Blocks that every thread gets enough of.
_ENOUGH = 4


class Undilated(Protocol):
    """A convolution of an input without zeros between its elements, and the blocks that it is made of."""

    dtype: DType
    shape: Shape
    in_parts: bool

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""


Make = Callable[[Array, Array, Geometry, int], Undilated]


def convolve(x: Array, weight: Array, attrs: Sequence[Any], make: Make) -> Array:
    """Return a convolution: the one that `make` gives, or several of phases; half precision is computed in float32."""
    if x.dtype in NARROW:
        wide = wide_of(x.dtype)
        return convolve(x.astype(wide), weight.astype(wide), attrs, make).astype(x.dtype)
    geometry, groups = Geometry(*attrs[:-1]), attrs[-1]
    sizes = geometry.sizes(x.shape[2:], weight.shape[2:])
    shape = (x.shape[0], weight.shape[0], *sizes)
    if 0 in shape or not x.size or not weight.size:
        return np.zeros(shape, x.dtype)
    if max(geometry.input_dilation) > 1 and max(geometry.stride) > 1:
        x, geometry = dilated(x, geometry)
    if max(geometry.input_dilation) == 1:
        return make(x, weight, geometry, groups).array()
    out = host_pool.empty(shape, x.dtype)
    for phase in phases(geometry, sizes, weight.shape[2:], x.shape[2:]):
        target = out[(slice(None), slice(None), *phase.places)]
        if phase.positions is None:
            target[...] = 0
        elif target.size:
            part = weight[(slice(None), slice(None), *phase.positions)]
            make(x, part, phase.geometry, groups).array(target)
    return out


def in_blocks(x: Array, weight: Array, attrs: Sequence[Any], make: Make) -> Undilated | None:
    """Return the blocks of a convolution, if it is one of floating-point numbers that has some."""
    geometry, groups = Geometry(*attrs[:-1]), attrs[-1]
    sizes = geometry.sizes(x.shape[2:], weight.shape[2:])
    if x.dtype not in IN_BLAS or max(geometry.input_dilation) > 1:
        return None
    if 0 in sizes or not x.size or not weight.size:
        return None
    return make(x, weight, geometry, groups)


@spells("convolution")
def convolution(x: Array, weight: Array, *attrs: Any) -> Array:
    """Convolve, through BLAS where it knows the dtype."""
    return convolve(x, weight, attrs, undilated)


def undilated(x: Array, weight: Array, geometry: Geometry, groups: int) -> Undilated:
    """Return the convolution of an input without zeros between its elements."""
    if sums_points(x.shape, weight.shape, geometry, groups):
        return PointSums(x, weight, geometry)
    if groups == 1 and max(weight.shape[2:]) == 1:
        return PointProduct(x, weight, geometry)
    return Convolution(x, weight, geometry, groups)


class Convolution:
    """A convolution of an input that is not dilated, and the blocks that it is made of."""

    in_parts = False

    def __init__(self, x: Array, weight: Array, geometry: Geometry, groups: int) -> None:
        out, channels, *kernel = weight.shape
        self._groups = groups
        self._sizes = geometry.sizes(x.shape[2:], tuple(kernel))
        self.shape: Shape = (x.shape[0], out, *self._sizes)
        self.dtype = x.dtype
        self._windows = _windows(padded(x, geometry), geometry, tuple(kernel), self._sizes, groups)
        self._weight = weight.reshape((groups, out // groups, channels, *kernel))
        # what is next to each other in memory should be so in the cache: the kernel's positions, if there are more
        self._by_position = kernel[-1] > self._sizes[-1]
        self.blocks = self._cut()

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        result = host_pool.empty(self.shape, self.dtype) if out is None else out

        def store(index: Index, block: Array) -> None:
            result[index] = block

        self.each(store)
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

        def work(mine: Iterator[Index]) -> None:
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    store(index, self._block(index))

        def alone(mine: Iterator[Index]) -> None:
            with blas.one_thread_here():
                work(mine)

        sums = multiplications(self._weight.shape[1:], self.shape)
        long = sums > LONG * len(self.blocks)
        if self.dtype not in IN_BLAS:
            share_out(self.blocks, work, long=long)
            return
        with blas.one_thread():
            share_out(self.blocks, alone, long=long)

    def _cut(self) -> list[Index]:
        """Return the blocks: some of the batch, some groups, some positions along the first spatial axis."""
        batch, out, first, *rest = self.shape
        across = prod(rest)
        rows = min(first, max(_COLUMNS // across, 1))
        examples = min(batch, max(_COLUMNS // (across * first), 1))
        inner = prod(self._weight.shape[2:])
        groups = min(self._groups, max(_WINDOWS // (inner * rows * across * examples), 1))
        channels = out // self._groups
        parts = [
            slices(batch, examples),
            slices(out, groups * channels),
            slices(first, rows),
            *[[slice(0, size)] for size in rest],
        ]
        if prod(map(len, parts)) < _ENOUGH and groups == 1:
            parts[1] = slices(out, max(ceil(channels / _ENOUGH), 1))
        return list(product(*parts))

    def _block(self, index: Index) -> Array:
        """Return a block of the result."""
        batch, out, first, *_ = index
        channels = self.shape[1] // self._groups
        groups = slice(out.start // channels, (out.stop - 1) // channels + 1)
        rows = slice(None)
        if groups.stop - groups.start == 1:  # perhaps not all of them
            rows = slice(out.start - groups.start * channels, out.stop - groups.start * channels)
        weight = self._weight[groups, rows]
        windows = self._windows[batch, groups]
        windows = windows[(*[slice(None)] * (2 + len(self._weight.shape[2:])), first)]
        total: Array = None
        for part in self._inner_parts(windows):
            product = self._multiplied(
                windows[(slice(None), slice(None), *part)],
                weight[(slice(None), slice(None), *part)],
            )
            total = product if total is None else np.add(total, product, out=total)
        return total.reshape([part.stop - part.start for part in index])

    def _inner_parts(self, windows: Array) -> list[Index]:
        """Return parts of channels, and of the kernel along its first axis, whose windows stay in the cache."""
        _, _, channels, *kernel = self._weight.shape
        columns = windows.size // prod((channels, *kernel))
        most = max(_WINDOWS // columns, 1)
        some = max(most // prod(kernel), 1)
        rows = kernel[0] if some > 1 else max(min(most // prod(kernel[1:]), kernel[0]), 1)
        return list(product(slices(channels, some), slices(kernel[0], rows)))

    def _multiplied(self, windows: Array, weight: Array) -> Array:
        """Return the products of windows (batch, groups, channels, kernel, positions) with their kernels."""
        rank = (windows.ndim - 3) // 2
        inner, places = range(2, 3 + rank), range(3 + rank, 3 + 2 * rank)
        batch, groups = windows.shape[:2]
        length = prod([windows.shape[axis] for axis in inner])
        count = prod([windows.shape[axis] for axis in places])
        weight = weight.reshape((*weight.shape[:2], length))
        if self._by_position:
            rows = np.ascontiguousarray(windows.transpose((1, 0, *places, *inner)))
            result = np.matmul(rows.reshape((groups, batch * count, length)), weight.swapaxes(1, 2))
            return result.reshape((groups, batch, count, -1)).transpose((1, 0, 3, 2))
        columns = np.ascontiguousarray(windows).reshape((batch, groups, length, count))
        return np.matmul(weight, columns)


def _windows(x: Array, geometry: Geometry, kernel: Shape, sizes: Shape, groups: int) -> Array:
    """Return a view of all windows on a padded input: batch, groups, channels, the kernel's positions, the windows'."""
    batch, channels = x.shape[:2]
    by_batch, by_channel, *steps = x.strides
    shape = (batch, groups, channels // groups, *kernel, *sizes)
    inner = [step * apart for step, apart in zip(steps, geometry.dilation, strict=True)]
    outer = [step * stride for step, stride in zip(steps, geometry.stride, strict=True)]
    strides = (by_batch, by_channel * (channels // groups), by_channel, *inner, *outer)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
