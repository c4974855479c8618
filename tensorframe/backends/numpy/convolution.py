"""Convolutions as implicit products: blocks of windows are gathered into the cache by the thread that multiplies them.

The array of all windows, which is as many times the input as the kernel has positions, is never there. An input that is
dilated, as in a transposed convolution, is cut into phases: every other result element reads every other position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import ceil, gcd, prod
from typing import Any, Protocol

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.numpy import blas
from tensorframe.backends.numpy.functions import spells
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.product import IN_BLAS, LONG, Product
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import NARROW, DType, wide_of
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry, multiplications
from tensorframe.quick_dataclasses import dataclass

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
    blocks: list[Index]
    in_parts: bool

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
        x, geometry = _dilated(x, geometry)
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
    if sums_points(x, weight, geometry, groups):
        return PointSums(x, weight, geometry)
    if groups == 1 and max(weight.shape[2:]) == 1:
        return PointProduct(x, weight, geometry)
    return Convolution(x, weight, geometry, groups)


def sums_points(x: Array, weight: Array, geometry: Geometry, groups: int) -> bool:
    """Whether there is one window, without zeros around it: so is the gradient by a kernel of one position."""
    sizes = geometry.sizes(x.shape[2:], weight.shape[2:])
    if groups > 1 or any(geometry.before) or max(sizes) > 1 or max(weight.shape[2:]) == 1:
        return False
    axes = zip(x.shape[2:], weight.shape[2:], geometry.dilation, strict=True)
    return all((length - 1) * step < size for size, length, step in axes)


class PointSums:
    """A convolution with one window: products of matrices, summed over the channels of the input."""

    in_parts = False

    def __init__(self, x: Array, weight: Array, geometry: Geometry) -> None:
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
        products = Product(self._x, self._weight.swapaxes(1, 2)).array()
        result = products.sum(axis=0).reshape(self.shape)
        return result if out is None else _copied(result, out)

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of the one block."""
        store(self.blocks[0], self.array())


class PointProduct:
    """A convolution whose kernel has one position: a matrix times the channels of each element."""

    in_parts = False

    def __init__(self, x: Array, weight: Array, geometry: Geometry) -> None:
        sizes = geometry.sizes(x.shape[2:], weight.shape[2:])
        x = padded(x, geometry)
        x = x[(slice(None), slice(None), *[slice(None, None, step) for step in geometry.stride])]
        x = x[(slice(None), slice(None), *map(slice, sizes))]
        self.dtype = x.dtype
        self.shape: Shape = (x.shape[0], weight.shape[0], *sizes)
        self._columns = prod(sizes)
        columns = x.reshape((*x.shape[:2], self._columns))
        self._product = Product(weight.reshape(weight.shape[:2]), columns, whole_rows=True)
        whole = tuple([slice(0, size) for size in sizes])
        self.blocks = [(*index[:2], *whole) for index in self._product.blocks]

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        if out is None or not out.flags.c_contiguous:
            result: Array = self._product.array().reshape(self.shape)
            return result if out is None else _copied(result, out)
        self._product.array(out.reshape((*self.shape[:2], self._columns)))
        return out

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        sizes = self.shape[2:]
        whole = tuple([slice(0, size) for size in sizes])

        def spread(index: Index, block: Array) -> None:
            store((*index[:2], *whole), block.reshape((*block.shape[:2], *sizes)))

        self._product.each(spread)


def _copied(source: Array, target: Array) -> Array:
    target[...] = source
    return target


@dataclass(frozen=True, slots=True)
class Phase:
    """The result elements at `places`, and the `positions` of the kernel that they read the input through, if any."""

    places: tuple[slice, ...]
    positions: tuple[slice, ...] | None
    geometry: Geometry


def phases(geometry: Geometry, sizes: Shape, kernel: Shape, spatial: Shape) -> Iterator[Phase]:
    """Yield the convolutions without zeros between the elements that one with them, in steps of one, is made of."""
    each = [
        [
            _phase(geometry, axis, residue, sizes[axis], kernel[axis], spatial[axis])
            for residue in range(min(geometry.input_dilation[axis], sizes[axis]))
        ]
        for axis in range(len(sizes))
    ]
    ones = (1,) * len(sizes)
    for chosen in product(*each):
        places = tuple([place for place, _, _ in chosen])
        positions = [position for _, position, _ in chosen]
        before, after, dilation = zip(*[window for _, _, window in chosen], strict=True)
        own = Geometry(ones, before, after, ones, dilation)
        known = [position for position in positions if position is not None]
        yield Phase(places, tuple(known) if len(known) == len(positions) else None, own)


def _phase(
    geometry: Geometry, axis: int, residue: int, size: int, kernel: int, spatial: int
) -> tuple[slice, slice | None, tuple[int, int, int]]:
    """Return, for one axis, a phase's places, its positions of the kernel, and padding and dilation of its windows."""
    spread, apart, before = (
        geometry.input_dilation[axis],
        geometry.dilation[axis],
        geometry.before[axis],
    )
    places = slice(residue, None, spread)
    fitting = [
        k for k in range(min(kernel, spread)) if (residue + k * apart - before) % spread == 0
    ]
    if not fitting:
        return places, None, (0, 0, 1)
    first, step = fitting[0], spread // gcd(spread, apart)
    count = ceil((kernel - first) / step)
    begin = -((residue + first * apart - before) // spread)
    along = step * apart // spread
    windows = ceil((size - residue) / spread)
    after = windows + (count - 1) * along - begin - spatial
    return places, slice(first, None, step), (begin, after, along)


def _dilated(x: Array, geometry: Geometry) -> tuple[Array, Geometry]:
    """Return an input with the zeros between its elements."""
    steps = geometry.input_dilation
    shape = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], steps, strict=True)]
    whole = np.zeros((*x.shape[:2], *shape), x.dtype)
    whole[(slice(None), slice(None), *[slice(None, None, step) for step in steps])] = x
    return whole, geometry._replace(input_dilation=(1,) * len(steps))


def padded(x: Array, geometry: Geometry) -> Array:
    """Return an input with the zeros around it; where padding is negative, without what it takes away."""
    x = cut(x, geometry)
    ends = [
        (max(low, 0), max(high, 0))
        for low, high in zip(geometry.before, geometry.after, strict=True)
    ]
    if not any(map(any, ends)):
        return x
    sizes = [low + size + high for size, (low, high) in zip(x.shape[2:], ends, strict=True)]
    whole = host_pool.empty((*x.shape[:2], *sizes), x.dtype)
    whole[...] = 0
    inside = [slice(low, low + size) for size, (low, _) in zip(x.shape[2:], ends, strict=True)]
    whole[(slice(None), slice(None), *inside)] = x
    return whole


def cut(x: Array, geometry: Geometry) -> Array:
    """Return an input without what negative padding takes away."""
    if min(*geometry.before, *geometry.after) >= 0:
        return x
    parts = [
        slice(max(-low, 0), max(size + min(high, 0), -low, 0))
        for size, low, high in zip(x.shape[2:], geometry.before, geometry.after, strict=True)
    ]
    return x[(slice(None), slice(None), *parts)]


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
            one = self._multiplied(
                windows[(slice(None), slice(None), *part)],
                weight[(slice(None), slice(None), *part)],
            )
            total = one if total is None else np.add(total, one, out=total)
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
            found = np.matmul(rows.reshape((groups, batch * count, length)), weight.swapaxes(1, 2))
            return found.reshape((groups, batch, count, -1)).transpose((1, 0, 3, 2))
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


def slices(size: int, extent: int) -> list[slice]:
    """Return slices of at most `extent`."""
    return [slice(start, min(start + extent, size)) for start in range(0, size, extent)]
