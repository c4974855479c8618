"""Products by compiled tiles: right factors are packed once, then threads of kernels make blocks of rows.

Bits depend neither on threads nor on blocks: an element is the sum of its terms in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.llvm.products.functions import begin, functions, packs, varying_slots
from tensorframe.backends.llvm.products.launcher import launcher
from tensorframe.backends.llvm.products.layout import Fixed, Layout, Panels, layout_of
from tensorframe.backends.llvm.products.scratch import borrow, give_back
from tensorframe.backends.llvm.stacked_product import StackedProduct, takes_stack
from tensorframe.backends.llvm.vector_product import VectorProduct, rows_of
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.product import (
    Call,
    Native,
    Product,
    Products,
    Store,
    extents,
    in_batch,
)
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST

Array = Any
_BYTES = np.dtype(np.uint8)


def packed_or_blas(x: Array, y: Array, *, whole_rows: bool = False) -> Products:
    """Return a product by tiles, or of few rows, where these are faster than BLAS, which makes the others."""
    batch = x.shape[:-2]
    if batch != y.shape[:-2]:
        batch = np.broadcast_shapes(batch, y.shape[:-2])
    shape = (*batch, x.shape[-2], y.shape[-1])
    if packs(x, y, shape):
        return PackedProduct(x, y)
    factors = rows_of(x, y, shape)
    if factors is not None:
        return VectorProduct(shape, *factors)
    if takes_stack(x, y, shape):
        return StackedProduct(shape, x, y)
    return Product(x, y, whole_rows=whole_rows)


class PackedProduct(Native):
    """The product of two stacks of matrices, which broadcast, in blocks of whole rows."""

    in_parts = False

    def __init__(self, x: Array, y: Array) -> None:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        self.dtype, self.shape = x.dtype, (*batch, x.shape[-2], y.shape[-1])
        self.x, self.y = in_batch(blas.ready(x), batch), in_batch(blas.ready(y), batch)
        self._given = x, y
        self.layout = self.laid_out()

    def laid_out(self, *, folded: bool = True) -> Layout:
        """Return the layout; `folded` says whether a block may have rows of several matrices."""
        x, y = self.x, self.y
        return layout_of(self.shape, x.strides, y.strides, x.shape[-1], self.dtype, folded=folded)

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""
        return self.layout.blocks

    @property
    def kinds(self) -> list[Shape]:
        """The shapes of blocks."""
        return self.layout.kinds

    def begin(self) -> None:
        """Have the functions that make it compiled ahead."""
        begin(self.dtype)

    def prepared(self, call: Call, inputs: Sequence[Array], other: Program) -> Program | None:
        """Return what runs a step for inputs of these strides; `other` runs it for others."""
        if not blas.takes(self._given[0]) or not blas.takes(self._given[1]):
            return None  # they are copied
        return launcher(self, call, inputs, other)

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given: any memory of the result's shape."""
        if out is None:
            out = host_pool.empty(self.shape, self.dtype)
        layout, fixed = self.within(out.strides)
        if fixed is None:  # rows in pieces
            out[...] = self.array()
            return out
        memory, free = borrow(layout.packed_bytes, layout.scratch_bytes, len(layout.blocks))
        objects = [id(argument) for argument in (self.x, self.y, memory, out, memory)]
        run(layout, varying_slots(*objects, free), fixed.slots)
        give_back(memory)
        return out

    def within(self, strides: tuple[int, ...]) -> tuple[Layout, Fixed | None]:
        """Return a layout with which blocks are rows of a result of these strides, and the fixed slots."""
        fixed = self.layout.within(strides, in_one=True)
        if fixed is None and self.layout.folded:
            layout = self.laid_out(folded=False)
            return layout, layout.within(strides, in_one=True)
        return self.layout, fixed

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        layout, size = self.layout, self.dtype.itemsize
        (packed,) = host_pool.scratch(layout.packed_bytes + HOST.line, [_BYTES])
        fixed, call = layout.dense(), functions(self.dtype).multiply.call
        objects = [id(self.x), id(self.y), id(packed)]
        pack(layout, varying_slots(*objects, id(packed), id(packed), 1), fixed.slots)

        def work(mine: Iterator[int]) -> None:
            (memory,) = host_pool.scratch(HOST.line + layout.scratch_bytes, [_BYTES])
            memory[:8].view(np.uint64)[0] = 1
            begin = HOST.line + layout.gathered
            block = memory[begin : begin + layout.most_elements * size].view(self.dtype)
            slots = varying_slots(*objects, id(block), id(memory), 1)
            with config.override(threads=1):  # the others have blocks of their own
                for number in mine:
                    call(number, number + 1, slots, fixed.slots)
                    index = layout.blocks[number]
                    shape = extents(index)
                    store(index, block[: prod(shape)].reshape(shape))

        share_out(range(len(layout.blocks)), work)


def run(layout: Layout, varying: bytes, fixed: bytes) -> None:
    """Make all blocks of a product."""
    pack(layout, varying, fixed)
    run_ranges(functions(layout.dtype).multiply, len(layout.blocks), 1, varying, fixed)


def pack(layout: Layout, varying: bytes, fixed: bytes) -> None:
    """Pack the right factors."""
    pack_panels(layout.panels, len(layout.panels.places), layout.dtype, varying, fixed)


def pack_panels(panels: Panels, matrices: int, dtype: DType, varying: bytes, fixed: bytes) -> None:
    """Pack some right factors."""
    compiled = functions(dtype)
    function = compiled.pack_rows if panels.in_rows else compiled.pack_columns
    run_ranges(function, panels.each * matrices, panels.at_once, varying, fixed)
