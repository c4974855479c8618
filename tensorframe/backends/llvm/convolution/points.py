"""Convolutions by kernels of one position as products in blocks of columns, each packed in the cache.

To pack all of an input takes it through memory once more, and a kernel of few channels reads it too seldom for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.padding import Memory
from tensorframe.backends.llvm.convolution.sizes import BLOCK, SMALL, SUMS
from tensorframe.backends.llvm.products.functions import functions, has_tiles, varying_slots
from tensorframe.backends.llvm.products.layout import Fixed, Layout, layout_of
from tensorframe.backends.numpy.convolution.convolution import Store
from tensorframe.backends.numpy.convolution.padding import slices
from tensorframe.backends.numpy.convolution.points import PointSums, columns_of, copied
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import LONG
from tensorframe.backends.numpy.threads import share_out
from tensorframe.machine import HOST
from tensorframe.ops.convolution import Geometry, multiplications

Array = Any

# Blocks that every thread has enough of, and multiplications from which sharing is worth anything.
_ENOUGH, _WORTH_SHARING = 4, 1 << 22
# Channels of a result below which an input is read too seldom, and columns below which a block has too little to do.
_FEWEST, _COLUMNS = 16, 32


def takes_points(x: Array, weight: Array, geometry: Geometry) -> bool:
    """Whether blocks of columns make a convolution by a kernel of one position: by sizes alone."""
    columns = prod(geometry.sizes(x.shape[2:], weight.shape[2:]))
    return weight.shape[0] >= _FEWEST and columns >= _COLUMNS and has_tiles()


def sums_columns(x: Array, weight: Array) -> bool:
    """Whether blocks of columns make the gradient by a kernel of one position: by sizes alone."""
    enough = min(x.shape[0], weight.shape[0]) >= _FEWEST and prod(x.shape[2:]) >= _COLUMNS
    return enough and has_tiles()


class ByColumns:
    """A convolution by a kernel of one position: a matrix times the channels of some positions at a time."""

    in_parts = False

    def __init__(self, x: Array, weight: Array, geometry: Geometry) -> None:
        columns, sizes = columns_of(x, weight, geometry)
        self._x, self._weight = blas.ready(columns), blas.ready(weight.reshape(weight.shape[:2]))
        self.shape = (x.shape[0], weight.shape[0], *sizes)
        self.dtype = x.dtype
        self._across = prod(sizes[1:])
        self.blocks = self._cut()
        self._known: dict[Any, tuple[Layout, Fixed]] = {}

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        result = host_pool.empty(self.shape, self.dtype) if out is None else out
        lies = result.flags.c_contiguous
        flat = result.reshape((*self.shape[:2], -1)) if lies else None

        def work(mine: Iterator[Index]) -> None:
            memory = Memory(self.dtype)
            for index in mine:
                if flat is None:
                    result[index] = self._block(index, None, memory)
                else:
                    self._block(index, flat[index[0].start, :, self._columns(index)], memory)

        self._share_out(work)
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

        def work(mine: Iterator[Index]) -> None:
            memory = Memory(self.dtype)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    store(index, self._block(index, None, memory))

        self._share_out(work)

    def _share_out(self, work: Any) -> None:
        sums = multiplications(self._weight.shape[1:], self.shape)
        share_out(self.blocks, work, long=sums > LONG * len(self.blocks))

    def _cut(self) -> list[Index]:
        """Return the blocks: one example each, all channels, some positions along the first spatial axis."""
        batch, out, first, *rest = self.shape
        row = self._across * self._x.shape[1] * self.dtype.itemsize
        rows = min(max(BLOCK // row, ceil(_COLUMNS / self._across)), first)
        shared = multiplications(self._weight.shape[1:], self.shape) >= _WORTH_SHARING
        if shared and batch * ceil(first / rows) < _ENOUGH:
            rows = ceil(first / ceil(_ENOUGH / batch))
        whole = tuple([slice(0, size) for size in rest])
        return [
            (example, slice(0, out), part, *whole)
            for example in slices(batch, 1)
            for part in slices(first, rows)
        ]

    def _columns(self, index: Index) -> slice:
        return slice(index[2].start * self._across, index[2].stop * self._across)

    def _block(self, index: Index, target: Array | None, memory: Memory) -> Array:
        """Return a block of the result, in `target`, a matrix, or in the thread's memory."""
        right = self._x[index[0].start, :, self._columns(index)]
        rows, columns = self._weight.shape[0], right.shape[1]
        if target is None:
            target = memory.take("block", rows * columns).reshape((rows, columns))
        multiply(self._weight, right, target, memory, self._known)
        return target.reshape([part.stop - part.start for part in index])


class SumsByColumns(PointSums):
    """A convolution with one window: products of some positions at a time, added up in a few sums."""

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        more, fewer = blas.ready(self._x), blas.ready(self._weight)
        is_turned = more.shape[1] < fewer.shape[1]
        if is_turned:  # the smaller factor is packed, and turned for that
            more, fewer = fewer, more
        if more.shape[2] < SMALL <= fewer.shape[1]:
            more, fewer = _side_by_side(more), _side_by_side(fewer)
        parts = _parts(more)
        shape = (min(SUMS, len(parts)), more.shape[1], fewer.shape[1])
        sums = host_pool.empty(shape, self.dtype)
        known: dict[Any, tuple[Layout, Fixed]] = {}

        def work(mine: Iterator[int]) -> None:
            memory = Memory(self.dtype)
            for number in mine:
                total = sums[number]
                for place, (example, positions) in enumerate(parts[number :: len(sums)]):
                    target = memory.take("block", total.size).reshape(total.shape)
                    target = target if place else total
                    right = fewer[example, :, positions].swapaxes(0, 1)
                    multiply(more[example, :, positions], right, target, memory, known)
                    if place:
                        np.add(total, target, out=total)

        multiplied = more.size * fewer.shape[1] // len(sums)
        share_out(range(len(sums)), work, long=multiplied > LONG)
        total = sums.sum(axis=0)
        return copied((total.T if is_turned else total).reshape(self.shape), out)


def _side_by_side(channels: Array) -> Array:
    """Return channels of examples as those of one, whose positions are all of theirs."""
    examples, count, positions = channels.shape
    return channels.swapaxes(0, 1).reshape((1, count, examples * positions))


def _parts(channels: Array) -> list[tuple[int, slice]]:
    """Return examples and positions, as many at once as stay in the cache."""
    examples, count, positions = channels.shape
    most = BLOCK // (count * channels.itemsize)
    each = ceil(positions / ceil(positions / max(most, _COLUMNS)))
    return [(example, part) for example in range(examples) for part in slices(positions, each)]


def multiply(
    left: Array,
    right: Array,
    target: Array,
    memory: Memory,
    known: dict[Any, tuple[Layout, Fixed]],
) -> None:
    """Make a product in this thread, packing its right factor; `known` has what such products have in common."""
    key = (target.shape, target.strides, right.strides)
    if key not in known:
        layout = layout_of(target.shape, left.strides, right.strides, left.shape[1], left.dtype)
        fixed = layout.within(target.strides)
        assert fixed is not None  # rows lie one below the other
        known[key] = layout, fixed
    layout, fixed = known[key]
    size = left.itemsize
    packed = memory.take("packed", layout.packed_bytes // size)
    scratch = memory.take("scratch", (HOST.line + layout.scratch_bytes) // size)
    scratch[: 8 // size].view(np.uint64)[0] = 1
    arguments = varying_slots(id(left), id(right), id(packed), id(target), id(scratch), 1)
    compiled, panels = functions(left.dtype), layout.panels
    pack = compiled.pack_rows if panels.in_rows else compiled.pack_columns
    pack.call(0, panels.each, arguments, fixed.slots)
    compiled.multiply.call(0, len(layout.blocks), arguments, fixed.slots)
