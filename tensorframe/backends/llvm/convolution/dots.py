"""Gradients by kernels of few channels: dot products along the rows of images."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.padding import (
    Memory,
    places,
)
from tensorframe.backends.llvm.convolution.plan import Plan, boxes
from tensorframe.backends.llvm.indirect_product import (
    Columns,
    Repeated,
    dot_products,
    offsets,
    pairs,
)
from tensorframe.backends.numpy.convolution.convolution import Store
from tensorframe.backends.numpy.convolution.padding import slices
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.threads import share_out
from tensorframe.graph.shape import Shape

Array = Any


class ByDots:
    """A convolution whose windows are as large as images, into few channels: sums run along the rows of both."""

    in_parts = False

    def __init__(self, plan: Plan) -> None:
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
        self.blocks = boxes(
            slices(batch, examples),
            slices(out, groups * plan.channels),
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
        whole, memory = slice(0, plan.sizes[0]), Memory(self.dtype)
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
                moved.append((size_, places(x, axis, size_, step, apart)))
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
