"""Convolutions by indirect products: windows are where a table says, so none is copied.

There are two ways. Vectors of channels: rows of the product are windows, the kernel is turned so that channels of the
result are next to each other, and the result is turned back. Vectors of positions: rows are channels of the result, and
vectors neighbours in the input; it takes the kernel as it lies, and serves where that is large, or channels are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.indirect_product import (
    Columns,
    Extents,
    Matrices,
    Repeated,
    copy,
    dot_products,
    functions,
    multiply,
    offsets,
    pairs,
    transpose,
)
from tensorframe.backends.numpy import convolution as by_numpy
from tensorframe.backends.numpy.convolution import Store
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.product import LONG
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import DType, float32, float64
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry, multiplications

Array = Any

DTYPES = frozenset({float32, float64})

# Bytes of a block's input and result, which stay in the second-level cache.
_BLOCK = 1 << 20
# Elements behind an input that a vector may read.
_SPARE = 64
# Channels of a kernel that are turned in one call.
_CHANNELS = 64
# Blocks that there should be, so that every thread has its share, and products from which sharing is worth anything.
_ENOUGH, _WORTH_SHARING = 4, 1 << 22
# What elements cost, in products that a processor makes meanwhile: to turn a kernel that lies in rows, or another one,
# or a result, and to copy a result.
_TURN_ROWS, _TURN, _TURN_BACK, _COPY = 60, 100, 50, 50


def compiled(x: Array, weight: Array, geometry: Geometry, groups: int) -> by_numpy.Undilated:
    """Return the convolution of an input without zeros between its elements, in the way that takes the least time."""
    if x.dtype not in DTYPES:
        return by_numpy.undilated(x, weight, geometry, groups)
    if by_numpy.sums_points(x, weight, geometry, groups):
        return by_numpy.PointSums(x, weight, geometry)
    if groups == 1 and max(weight.shape[2:]) == 1:  # windows share nothing: BLAS packs them better
        return by_numpy.PointProduct(x, weight, geometry)
    plan = _Plan(x, weight, geometry, groups)
    fills = plan.channels >= functions(plan.dtype).lanes // 2
    if not fills:
        return ByDots(plan) if plan.is_turned else ByPositions(plan)
    is_cheaper = plan.is_turned or max(geometry.stride) > 1
    if is_cheaper or plan.channels_cost() < plan.positions_cost():
        return ByChannels(plan)
    return ByPositions(plan)


class _Memory:
    """Memory that a thread uses again for each of its blocks, by what it is for."""

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self._arrays: dict[str, Array] = {}

    def take(self, purpose: str, count: int) -> Array:
        """Return so many elements, with any values."""
        known = self._arrays.get(purpose)
        if known is None or len(known) < count:
            (known,) = host_pool.scratch(count, [self._dtype])
            self._arrays[purpose] = known
        return known[:count]


class _Plan:
    """What both ways know of a convolution: its operands and sizes."""

    def __init__(self, x: Array, weight: Array, geometry: Geometry, groups: int) -> None:
        out, self.inner, *kernel = weight.shape
        self.kernel: Shape = tuple(kernel)
        self.groups, self.channels = groups, out // groups
        self.sizes = geometry.sizes(x.shape[2:], self.kernel)
        self.shape: Shape = (x.shape[0], out, *self.sizes)
        self.dtype = x.dtype
        self.x = by_numpy.cut(x, geometry)
        self.geometry = geometry._replace(
            before=tuple([max(low, 0) for low in geometry.before]),
            after=tuple([max(high, 0) for high in geometry.after]),
        )
        self.weight = weight.reshape((groups, self.channels, *weight.shape[1:]))
        # a gradient by the kernel, whose batch are channels: the result's memory has channels outside
        self.is_turned = prod(self.kernel) > prod(self.sizes)
        self.is_padded = any((*self.geometry.before, *self.geometry.after))
        low, high = self.geometry.before[-1], self.geometry.after[-1]
        width = self.x.shape[-1]
        # zeros behind a row are those before the next one
        self.pitch = width + (max(low, high) if len(kernel) > 1 else low + high)

    def is_long(self, blocks: int) -> bool:
        """Whether an interrupt should not wait for one of so many blocks."""
        return multiplications(self.weight.shape[1:], self.shape) > LONG * blocks

    @property
    def enough(self) -> int:
        """How many blocks there should be."""
        shared = multiplications(self.weight.shape[1:], self.shape) >= _WORTH_SHARING
        return _ENOUGH if shared else 1

    def positions_cost(self) -> float:
        """Return what vectors of positions take, in products."""
        columns: int = prod(self.sizes[:-1]) * self.pitch
        terms = self.inner * prod(self.kernel)
        channels: int = self.shape[0] * self.shape[1]
        return float(channels * (columns * terms + prod(self.sizes) * _COPY))

    def channels_cost(self) -> float:
        """Return what vectors of channels take, in products."""
        lanes = functions(self.dtype).lanes
        filled = ceil(self.channels / lanes) * lanes * self.groups
        positions: int = self.shape[0] * prod(self.sizes)
        terms: int = self.inner * prod(self.kernel)
        turn: int = self.weight.size * (_TURN_ROWS if _flat(self.weight[0], 1) else _TURN)
        return float(positions * (filled * terms + self.shape[1] * _TURN_BACK) + turn)

    def padded(
        self,
        batch: slice,
        channels: slice,
        rows: slice,
        memory: _Memory,
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
            return _in_phases(part, before, sizes, apart, memory)
        return _surrounded(part, before, sizes, self.pitch, memory)


def _in_phases(x: Array, before: Shape, sizes: list[int], apart: Shape, memory: _Memory) -> Array:
    """Return a copy with zeros around it, in which elements that are `apart` are neighbours."""
    counts = [ceil(size / step) for size, step in zip(sizes, apart, strict=True)]
    shape = (*x.shape[:2], *apart, *counts)
    zeros = memory.take("input", prod(shape) + _SPARE)
    zeros.fill(0)
    whole = zeros[: prod(shape)].reshape(shape)
    for phase in product(*map(range, apart)):
        source, target = [], []
        for first, low, step, size in zip(phase, before, apart, x.shape[2:], strict=True):
            number = max(ceil((low - first) / step), 0)
            start = number * step + first - low
            source.append(slice(start, None, step))
            target.append(slice(number, number + max(ceil((size - start) / step), 0)))
        copy(
            x[(slice(None), slice(None), *source)],
            whole[(slice(None), slice(None), *phase, *target)],
        )
    return whole


def _places(x: Array, index: int, positions: int, step: int, apart: int) -> tuple[int, ...]:
    """Return the bytes to every step-th position on a spatial axis of an input in phases."""
    rank = (x.ndim - 2) // 2
    begin, along = x.strides[2 + index], x.strides[2 + rank + index]
    places = [position * step for position in range(positions)]
    return tuple([place % apart * begin + place // apart * along for place in places])


def _surrounded(x: Array, before: Shape, sizes: list[int], pitch: int, memory: _Memory) -> Array:
    """Return a copy with zeros around it; where an axis has several rows these are `pitch` elements apart."""
    rows = sizes[1:-1]
    steps = [1]
    if len(sizes) > 1:
        steps = [pitch * prod(rows[place:]) for place in range(len(rows) + 1)] + [1]
    plane = steps[0] * sizes[0]
    planes = x.shape[0] * x.shape[1]
    zeros = memory.take("input", planes * plane + sizes[-1] + _SPARE)
    zeros.fill(0)
    strides = [step * x.itemsize for step in (x.shape[1] * plane, plane, *steps)]
    whole: Array = np.ndarray((*x.shape[:2], *sizes), x.dtype, zeros, 0, strides)
    inside = [slice(low, low + size) for low, size in zip(before, x.shape[2:], strict=True)]
    copy(x, whole[(slice(None), slice(None), *inside)])
    return whole


def _flat(kernel: Array, axis: int) -> bool:
    """Whether axes from `axis` on lie in one piece."""
    expected = kernel.itemsize
    for size, step in zip(
        kernel.shape[: axis - 1 : -1], kernel.strides[: axis - 1 : -1], strict=True
    ):
        if size > 1 and step != expected:
            return False
        expected *= size
    return True


class ByChannels:
    """A convolution by vectors of channels."""

    in_parts = False

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self.shape, self.dtype = plan.shape, plan.dtype
        lanes = functions(plan.dtype).lanes
        self._vectors = ceil(plan.channels / lanes)
        self._width = self._vectors * lanes
        self.blocks = self._cut()

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        in_memory = out.swapaxes(0, 1) if out is not None and self._plan.is_turned else out
        fits = in_memory is not None and in_memory.flags.c_contiguous
        result: Array = out if fits else self._empty(self.shape)

        def work(mine: Iterator[Index]) -> None:
            memory = _Memory(self.dtype)
            for index in mine:
                self._block(index, result[index], memory)

        self._prepare()
        share_out(self.blocks, work, long=self._plan.is_long(len(self.blocks)))
        if out is not None and result is not out:
            copy(result, out)
            return out
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

        def work(mine: Iterator[Index]) -> None:
            memory = _Memory(self.dtype)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    block = self._scratch(index, memory)
                    self._block(index, block, memory)
                    store(index, block)

        self._prepare()
        share_out(self.blocks, work, long=self._plan.is_long(len(self.blocks)))

    def _scratch(self, index: Index, memory: _Memory) -> Array:
        """Return memory for a block, which is read before the next one is made."""
        shape = [part.stop - part.start for part in index]
        block = memory.take("block", prod(shape))
        if not self._plan.is_turned:
            return block.reshape(shape)
        return block.reshape((shape[1], shape[0], *shape[2:])).swapaxes(0, 1)

    def _empty(self, shape: Any) -> Array:
        batch, out, *sizes = shape
        if not self._plan.is_turned:
            return host_pool.empty(tuple(shape), self.dtype)
        return host_pool.empty((out, batch, *sizes), self.dtype).swapaxes(0, 1)

    def _cut(self) -> list[Index]:
        plan = self._plan
        batch, _, first, *rest = plan.shape
        outs = [slice(g * plan.channels, (g + 1) * plan.channels) for g in range(plan.groups)]
        whole = [[slice(0, size)] for size in rest]
        if plan.is_turned:
            examples = ceil(batch / plan.enough)
            return _boxes(by_numpy.slices(batch, examples), outs, [slice(0, first)], *whole)
        row = prod(rest) * (self._width + plan.channels)
        row += plan.inner * plan.x[0, 0, 0].size * plan.geometry.stride[0]
        rows = max(_BLOCK // (row * plan.dtype.itemsize), 1)
        return _boxes(*_batch_and_rows(plan, rows, outs), *whole)

    def _prepare(self) -> None:
        """Turn the kernel: rows are its channels and positions, columns the channels of the result."""
        plan = self._plan
        terms = plan.inner * prod(plan.kernel)
        self._turned = host_pool.empty((plan.groups, terms, self._width), plan.dtype)
        parts = [(g, c) for g in range(plan.groups) for c in by_numpy.slices(plan.inner, _CHANNELS)]

        def work(mine: Iterator[tuple[int, slice]]) -> None:
            for group, channels in mine:
                self._turn(group, channels)

        share_out(parts, work)
        self._input: Array = None
        if plan.is_turned:
            whole = slice(0, plan.sizes[0])
            memory = _Memory(plan.dtype)
            self._input = plan.padded(slice(None), slice(None), whole, memory)

    def _turn(self, group: int, channels: slice) -> None:
        plan = self._plan
        kernel, size = plan.weight[group][:, channels], plan.dtype.itemsize
        count, across = prod(plan.kernel), self._width * size
        target = self._turned[group, channels.start * count : channels.stop * count]
        by_out, by_channel = kernel.strides[:2]
        if _flat(kernel, 2):
            matrices = Matrices(plan.channels, count, by_out, across)
            times = channels.stop - channels.start
            if by_channel == count * size:  # one matrix
                matrices, times = matrices._replace(columns=count * times), 1
            transpose(
                kernel,
                target,
                matrices._replace(times=times, on=by_channel, target_on=count * across),
            )
        else:
            apart = target.reshape((channels.stop - channels.start, *plan.kernel, self._width))
            copy(np.moveaxis(kernel, 0, -1), apart[..., : plan.channels])

    def _block(self, index: Index, target: Array, memory: _Memory) -> None:
        plan = self._plan
        batch, out, first, *_ = index
        group = out.start // plan.channels
        channels = slice(group * plan.inner, (group + 1) * plan.inner)
        known = self._input
        x = plan.padded(batch, channels, first, memory) if known is None else known[batch, channels]
        by_batch, by_channel, *steps = x.strides
        counts = [part.stop - part.start for part in (batch, first, *index[3:])]
        strides = [
            by_batch,
            *[step * by for step, by in zip(steps, plan.geometry.stride, strict=True)],
        ]
        rows = offsets(tuple(zip(counts, strides, strict=True)))
        inner = [step * apart for step, apart in zip(steps, plan.geometry.dilation, strict=True)]
        left: Extents = ((plan.inner, by_channel), *zip(plan.kernel, inner, strict=True))
        pitch = self._width * plan.dtype.itemsize
        terms = pairs(left, ((plan.inner * prod(plan.kernel), pitch),))
        scratch = memory.take("result", len(rows) * self._width)
        multiply(x, self._turned[group], scratch, rows, terms, self._vectors, pitch)
        self._turn_back(scratch, target, len(rows), pitch)

    def _turn_back(self, scratch: Array, target: Array, rows: int, pitch: int) -> None:
        channels, times = self._plan.channels, 1 if self._plan.is_turned else len(target)
        own = rows // times
        matrices = Matrices(own, channels, pitch, target.strides[1], times)
        transpose(scratch, target, matrices._replace(on=own * pitch, target_on=target.strides[0]))


class ByPositions:
    """A convolution by vectors of positions: with a stride, neighbours are elements that are so far apart."""

    in_parts = False

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self.shape, self.dtype = plan.shape, plan.dtype
        self._lanes = functions(plan.dtype).lanes
        self.blocks = self._cut()

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        result = host_pool.empty(self.shape, self.dtype) if out is None else out

        def store(index: Index, block: Array) -> None:
            copy(block, result[index])

        self.each(store)
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

        def work(mine: Iterator[Index]) -> None:
            memory = _Memory(self.dtype)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    store(index, self._block(index, memory))

        share_out(self.blocks, work, long=self._plan.is_long(len(self.blocks)))

    def _cut(self) -> list[Index]:
        plan = self._plan
        batch, out, first, *rest = plan.shape
        across = plan.pitch * prod(rest[:-1]) if rest else 1
        row = (plan.inner * plan.geometry.stride[0] + plan.channels) * across * plan.dtype.itemsize
        rows = max(_BLOCK // row, 1)
        groups = max(min(rows // first, plan.groups), 1)
        whole = [[slice(0, size)] for size in rest]
        outs = by_numpy.slices(out, groups * plan.channels)
        if batch * len(outs) * ceil(first / rows) < plan.enough and plan.groups == 1:
            outs = by_numpy.slices(out, ceil(out / plan.enough))
        if plan.groups > 1:
            rows = min(rows, first)
        return _boxes(*_batch_and_rows(plan, rows, outs), *whole)

    def _block(self, index: Index, memory: _Memory) -> Array:
        plan = self._plan
        batch, out, first, *_ = index
        group, last = out.start // plan.channels, (out.stop - 1) // plan.channels + 1
        channels = slice(group * plan.inner, last * plan.inner)
        made = min(plan.channels, out.stop - out.start)
        weight = plan.weight[group, out.start - group * plan.channels :]
        apart = plan.geometry.stride if max(plan.geometry.stride) > 1 else ()
        x = plan.padded(batch, channels, first, memory, copied=True, apart=apart)
        rank = len(plan.kernel)
        by_channel, steps = x.strides[1], x.strides[-rank:]
        by_group, by_out, *by_term = plan.weight.strides
        examples, outs = batch.stop - batch.start, (last - group) * made
        size = plan.dtype.itemsize
        counts = [part.stop - part.start for part in index[2:]]
        columns = (
            sum([(count - 1) * step // size for count, step in zip(counts, steps, strict=True)]) + 1
        )
        vectors = ceil(columns / self._lanes)
        width = vectors * self._lanes
        scratch = memory.take("result", examples * outs * width)
        left: Extents = tuple(zip((plan.inner, *plan.kernel), by_term, strict=True))
        windows = zip(plan.kernel, plan.geometry.dilation, plan.geometry.stride, strict=True)
        inner = [
            (size, _places(x, axis, size, step, by)) if apart else (size, steps[axis] * step)
            for axis, (size, step, by) in enumerate(windows)
        ]
        right: Extents = ((plan.inner, by_channel), *inner)
        if examples > 1:  # of all groups that there are: one
            repeated = Repeated(examples, 0, x.strides[0], made * width * size)
        else:
            repeated = Repeated(
                last - group, by_group, plan.inner * by_channel, made * width * size
            )
        rows = offsets(((made, by_out),))
        multiply(weight, x, scratch, rows, pairs(left, right), vectors, width * size, repeated)
        strides = (outs * width * size, width * size, *steps)
        return np.ndarray((examples, outs, *counts), plan.dtype, scratch, 0, strides)


class ByDots:
    """A convolution whose windows are as large as images, into few channels: sums run along the rows of both."""

    in_parts = False

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan
        self.shape, self.dtype = plan.shape, plan.dtype
        self._input: Array = None
        self._apart: Shape = ()
        weight = plan.weight
        lies = weight.strides[-1] == weight.itemsize
        self._weight = weight if lies else np.ascontiguousarray(weight)
        batch, out, *sizes = plan.shape
        examples = batch if plan.groups > 1 else ceil(batch / plan.enough)
        groups = ceil(plan.groups / plan.enough)
        self.blocks = _boxes(
            by_numpy.slices(batch, examples),
            by_numpy.slices(out, groups * plan.channels),
            *[[slice(0, size)] for size in sizes],
        )

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        result = self._empty(self.shape) if out is None else out

        def store(index: Index, block: Array) -> None:
            result[index] = block

        self.each(store)
        return result

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        plan = self._plan
        whole, memory = slice(0, plan.sizes[0]), _Memory(self.dtype)
        self._apart = plan.geometry.dilation if plan.geometry.dilation[-1] > 1 else ()
        self._input = plan.padded(
            slice(None),
            slice(None),
            whole,
            memory,
            copied=plan.x.strides[-1] != plan.x.itemsize,
            apart=self._apart,
        )

        def work(mine: Iterator[Index]) -> None:
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    block = self._empty([part.stop - part.start for part in index])
                    self._block(index, block)
                    store(index, block)

        share_out(self.blocks, work, long=plan.is_long(len(self.blocks)))

    def _empty(self, shape: Any) -> Array:
        batch, out, *sizes = shape
        return host_pool.empty((out, batch, *sizes), self.dtype).swapaxes(0, 1)

    def _block(self, index: Index, target: Array) -> None:
        """Write a block, whose channels have their elements next to each other."""
        plan, x, size = self._plan, self._input, self.dtype.itemsize
        batch, out, *_ = index
        group, last = out.start // plan.channels, (out.stop - 1) // plan.channels + 1
        by_batch, by_channel = x.strides[:2]
        steps = x.strides[-len(plan.kernel) :]
        by_group, by_out, *by_term = self._weight.strides
        moved: list[tuple[int, int | tuple[int, ...]]] = []
        inner = list(steps)  # of elements that are apart, which are neighbours
        windows = zip(plan.sizes, plan.geometry.stride, plan.geometry.dilation, strict=True)
        for axis, (size_, step, apart) in enumerate(windows):
            if self._apart:
                moved.append((size_, _places(x, axis, size_, step, apart)))
            else:
                moved.append((size_, step * steps[axis]))
                inner[axis] *= apart
        examples = batch.stop - batch.start
        rows = offsets(((examples, by_batch), *moved))
        outer = (plan.inner, *plan.kernel[:-1])
        segments = pairs(
            tuple(zip(outer, (by_channel, *inner[:-1]), strict=True)),
            tuple(zip(outer, by_term[:-1], strict=True)),
        )
        pitch = len(rows) * size
        by_product = plan.inner * by_channel, by_group, plan.channels * pitch
        dot_products(
            x[batch, group * plan.inner :],
            self._weight[group],
            target,
            rows,
            segments,
            plan.kernel[-1],
            Columns(plan.channels, by_out, pitch),
            Repeated(last - group, *by_product),
        )


def _batch_and_rows(
    plan: _Plan, rows: int, outs: list[slice]
) -> tuple[list[slice], list[slice], list[slice]]:
    """Return how the batch, channels and the first spatial axis are cut, if a block has so many rows at most."""
    batch, _, first, *_ = plan.shape
    examples = max(min(rows // first, ceil(batch / plan.enough)), 1)
    height = ceil(first / ceil(first / rows))
    return by_numpy.slices(batch, examples), outs, by_numpy.slices(first, height)


def _boxes(*axes: list[slice]) -> list[Index]:
    boxes: list[Index] = [()]
    for axis in axes:
        boxes = [(*box, part) for box in boxes for part in axis]
    return boxes
