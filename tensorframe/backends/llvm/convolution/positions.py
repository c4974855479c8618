"""Convolutions by vectors of positions: rows of the product are channels of the result."""

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
    places,
)
from tensorframe.backends.llvm.convolution.plan import Plan, batch_and_rows, boxes
from tensorframe.backends.llvm.convolution.sizes import BLOCK
from tensorframe.backends.llvm.indirect_product import (
    Extents,
    Repeated,
    copy,
    functions,
    multiply,
    pairs,
)
from tensorframe.backends.numpy.convolution.convolution import Store
from tensorframe.backends.numpy.convolution.padding import slices
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.threads import share_out

Array = Any

# Channels of a kernel that are copied in one call, and positions from which it pays to copy it.
_CHANNELS, _FEWEST = 64, 64


class ByPositions:
    """A convolution by vectors of positions: with a stride, neighbours are elements that are so far apart."""

    in_parts = False

    def __init__(self, plan: Plan) -> None:
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
            memory = Memory(self.dtype)
            with config.override(threads=1):  # the others have blocks of their own
                for index in mine:
                    store(index, self._block(index, memory))

        self._weight = _in_rows(self._plan)
        share_out(self.blocks, work, long=self._plan.is_long(len(self.blocks)))

    def _cut(self) -> list[Index]:
        plan = self._plan
        batch, out, first, *rest = plan.shape
        across = plan.pitch * prod(rest[:-1]) if rest else 1
        row = (plan.inner * plan.geometry.stride[0] + plan.channels) * across * plan.dtype.itemsize
        rows = max(BLOCK // row, 1)
        groups = max(min(rows // first, plan.groups), 1)
        whole = [[slice(0, size)] for size in rest]
        outs = slices(out, groups * plan.channels)
        if batch * len(outs) * ceil(first / rows) < plan.enough and plan.groups == 1:
            outs = slices(out, ceil(out / plan.enough))
        if plan.groups > 1:
            rows = min(rows, first)
        return boxes(*batch_and_rows(plan, rows, outs), *whole)

    def _block(self, index: Index, memory: Memory) -> Array:
        plan = self._plan
        batch, out, first, *_ = index
        group, last = out.start // plan.channels, (out.stop - 1) // plan.channels + 1
        channels = slice(group * plan.inner, last * plan.inner)
        made = min(plan.channels, out.stop - out.start)
        weight = self._weight[group, out.start - group * plan.channels :]
        apart = plan.geometry.stride if max(plan.geometry.stride) > 1 else ()
        x = plan.padded(batch, channels, first, memory, copied=True, apart=apart)
        rank = len(plan.kernel)
        by_channel, steps = x.strides[1], x.strides[-rank:]
        by_group, by_out, *by_term = self._weight.strides
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
            (size, places(x, axis, size, step, by)) if apart else (size, steps[axis] * step)
            for axis, (size, step, by) in enumerate(windows)
        ]
        right: Extents = ((plan.inner, by_channel), *inner)
        if examples > 1:  # of all groups that there are: one
            repeated = Repeated(examples, 0, x.strides[0], made * width * size)
        else:
            repeated = Repeated(
                last - group, by_group, plan.inner * by_channel, made * width * size
            )
        rows = pairs(((made, by_out),), ((made, width * size),))
        multiply(weight, x, scratch, rows, pairs(left, right), vectors, repeated)
        strides = (outs * width * size, width * size, *steps)
        return np.ndarray((examples, outs, *counts), plan.dtype, scratch, 0, strides)


def _in_rows(plan: Plan) -> Array:
    """Return the kernel with a channel's terms in one piece: all blocks, and all panels of these, read them again.

    The gradient by the input exchanges channels: from one term to the next are all those of the input, so that a line
    has few of a channel's terms, and the nearest cache has few places for such lines.
    """
    weight = plan.weight
    if flat(weight, 2) or plan.shape[0] * prod(plan.sizes) < _FEWEST:
        return weight
    rows = host_pool.empty(weight.shape, plan.dtype)

    def work(mine: Iterator[slice]) -> None:
        for part in mine:
            copy(weight[:, part], rows[:, part])

    share_out(slices(plan.channels, _CHANNELS), work)
    return rows
