"""Convolutions by vectors of channels: rows of the product are windows."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.padding import (
    Memory,
    flat,
)
from tensorframe.backends.llvm.convolution.plan import BLOCK, Plan, batch_and_rows, boxes
from tensorframe.backends.llvm.indirect_product import (
    Extents,
    Matrices,
    copy,
    functions,
    multiply,
    offsets,
    pairs,
    transpose,
)
from tensorframe.backends.numpy.convolution import Store
from tensorframe.backends.numpy.grid import Index
from tensorframe.backends.numpy.padding import slices
from tensorframe.backends.numpy.threads import share_out
from tensorframe.machine import spare_line

Array = Any

# Channels of a kernel that are turned in one call.
_CHANNELS = 64


class ByChannels:
    """A convolution by vectors of channels."""

    in_parts = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.shape, self.dtype = plan.shape, plan.dtype
        lanes = functions(plan.dtype).lanes
        self._vectors = ceil(plan.channels / lanes)
        self._width = self._vectors * lanes
        self._across = self._width + spare_line(self._width, plan.dtype.itemsize)
        self.blocks = self._cut()

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        in_memory = out.swapaxes(0, 1) if out is not None and self._plan.is_turned else out
        fits = in_memory is not None and in_memory.flags.c_contiguous
        result: Array = out if fits else self._empty(self.shape)

        def work(mine: Iterator[Index]) -> None:
            memory = Memory(self.dtype)
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
            memory = Memory(self.dtype)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    block = self._scratch(index, memory)
                    self._block(index, block, memory)
                    store(index, block)

        self._prepare()
        share_out(self.blocks, work, long=self._plan.is_long(len(self.blocks)))

    def _scratch(self, index: Index, memory: Memory) -> Array:
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
            return boxes(slices(batch, examples), outs, [slice(0, first)], *whole)
        row = prod(rest) * (self._width + plan.channels)
        row += plan.inner * plan.x[0, 0, 0].size * plan.geometry.stride[0]
        rows = max(BLOCK // (row * plan.dtype.itemsize), 1)
        return boxes(*batch_and_rows(plan, rows, outs), *whole)

    def _prepare(self) -> None:
        """Turn the kernel: rows are its channels and positions, columns the channels of the result."""
        plan = self._plan
        terms = plan.inner * prod(plan.kernel)
        self._turned = host_pool.empty((plan.groups, terms, self._across), plan.dtype)
        parts = [(g, c) for g in range(plan.groups) for c in slices(plan.inner, _CHANNELS)]

        def work(mine: Iterator[tuple[int, slice]]) -> None:
            for group, channels in mine:
                self._turn(group, channels)

        share_out(parts, work)
        self._input: Array = None
        if plan.is_turned:
            whole = slice(0, plan.sizes[0])
            memory = Memory(plan.dtype)
            self._input = plan.padded(slice(None), slice(None), whole, memory)

    def _turn(self, group: int, channels: slice) -> None:
        plan = self._plan
        kernel, size = plan.weight[group][:, channels], plan.dtype.itemsize
        count, across = prod(plan.kernel), self._across * size
        target = self._turned[group, channels.start * count : channels.stop * count]
        by_out, by_channel = kernel.strides[:2]
        if flat(kernel, 2):
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
            apart = target.reshape((channels.stop - channels.start, *plan.kernel, self._across))
            copy(np.moveaxis(kernel, 0, -1), apart[..., : plan.channels])

    def _block(self, index: Index, target: Array, memory: Memory) -> None:
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
        across = self._across * plan.dtype.itemsize
        terms = pairs(left, ((plan.inner * prod(plan.kernel), across),))
        scratch = memory.take("result", len(rows) * self._width)
        multiply(x, self._turned[group], scratch, rows, terms, self._vectors, pitch)
        self._turn_back(scratch, target, len(rows), pitch)

    def _turn_back(self, scratch: Array, target: Array, rows: int, pitch: int) -> None:
        channels, times = self._plan.channels, 1 if self._plan.is_turned else len(target)
        own = rows // times
        matrices = Matrices(own, channels, pitch, target.strides[1], times)
        transpose(scratch, target, matrices._replace(on=own * pitch, target_on=target.strides[0]))
