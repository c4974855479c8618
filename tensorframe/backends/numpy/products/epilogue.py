"""Epilogues: what is done to each row of a product is done to blocks of it, while they are in the cache.

An epilogue is a region of its own, compiled by whatever backend the product's step belongs to, for blocks. Who makes
these makes no difference: products, convolutions, chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.bound import Bound, bound
from tensorframe.backends.numpy.epilogue_region import (
    epilogue_of,
    for_blocks,
    others_of,
    overwrites_product,
    permutation_of,
)
from tensorframe.backends.numpy.products.grid import Index
from tensorframe.backends.numpy.products.hidden import part_of
from tensorframe.backends.numpy.products.product import extents
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape

Array = Any
Compile = Callable[[Region], Program]


class Blocks(Protocol):
    """A product, or a convolution, that is made in blocks."""

    dtype: Any

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""

    def each(self, store: Callable[[Index, Array], None]) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given."""


class Epilogue:
    """What becomes of the first op's result in a region: an order of its axes, and ops on its rows, if there are any.

    Rows of a product stay in one piece: fusion lets no other order of its axes be part of the step. A convolution may
    have its axes in any order.

    `given` are the inputs of the region; `others` are those among them that these ops read besides the result.
    """

    def __init__(self, region: Region, compile_: Compile) -> None:
        self.permutation = permutation = permutation_of(region)
        self.region = epilogue_of(region)
        self.others = others_of(region)
        self.shape = region.ops[0 if permutation is None else 1].shape
        self._overwrites = self.region is not None and overwrites_product(self.region)
        self._compile = compile_
        self._programs: dict[Shape, Program] = {}
        self._is_prepared = False

    def dtypes(self, product: Any) -> list[Any]:
        """Return the dtypes of the outputs for a product of a dtype."""
        if self.region is None:
            return [product]
        return [self.region.dtype_of(output) for output in self.region.outputs]

    def of(
        self, product: Blocks, given: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Return the outputs for a product that is made in blocks."""
        if self.region is None:
            out = self.new(product.dtype)
            product.array(self.as_product(out))
            return (out,)
        outputs = [
            self.new(dtype) if buffer is None else buffer
            for dtype, buffer in zip(self.dtypes(product.dtype), buffers, strict=True)
        ]

        def finish(index: Index, block: Array) -> None:
            operands = self.operands(block, index, given)
            turned = self._turned(index)
            targets = [out[turned] for out in outputs]
            pieces = self._overwrites and not targets[0].flags.c_contiguous
            buffers = [operands[0]] if pieces else targets  # kernels write in one piece
            results = self.program(operands[0].shape)(operands, buffers)
            for result, target in zip(results, targets, strict=True):
                if result is not target:
                    target[...] = result

        if not self._is_prepared:
            self._prepare(product, given)
        product.each(finish)
        return outputs

    def of_whole(
        self, value: Array, given: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Return the outputs for a product that is there as a whole."""
        if self.region is None:
            return (self.seen(value),)
        return self.program(self.shape)(self.operands(value, None, given), buffers)

    def bind(
        self, value: Array, given: Sequence[Array], buffers: Sequence[Array | None]
    ) -> Bound | None:
        """Return the calls of kernels that follow a product which is there as a whole."""
        if self.region is None:
            return Bound([self.seen(value)], [])
        return bound(self.program(self.shape), self.operands(value, None, given), buffers)

    def _prepare(self, product: Blocks, given: Sequence[Array]) -> None:
        """Have kernels made in this thread, once, before several need them at the same moment."""
        index = product.blocks[0]
        value = np.empty(extents(index), product.dtype)
        operands = self.operands(value, index, given)
        prepare = getattr(self.program(operands[0].shape), "prepare", None)
        if prepare is not None:
            prepare(operands)
        self._is_prepared = True

    def operands(self, value: Array, index: Index | None, given: Sequence[Array]) -> list[Array]:
        """Return what the ops read: the product, or a block of it, and the others."""
        others = [given[other] for other in self.others]
        if index is not None:
            turned = self._turned(index)
            others = [part_of(other, turned) for other in others]
        return [self.seen(value), *others]

    def program(self, shape: Shape) -> Program:
        """Return the program of the ops for blocks of a shape."""
        known = self._programs.get(shape)
        if known is None:
            assert self.region is not None
            region = for_blocks(self.region, self.shape, shape)
            known = self._programs[shape] = self._compile(region)
        return known

    def new(self, dtype: Any) -> Array:
        """Return memory for an output."""
        return host_pool.empty(self.shape, dtype, self.layout)

    @property
    def layout(self) -> list[int] | None:
        """The order of an output's axes in memory where the last of them is another: that which the result has."""
        axes = self.permutation
        if axes is None or axes[-1] == len(axes) - 1:
            return None
        return [axes.index(axis) for axis in range(len(axes))]

    def as_product(self, out: Array) -> Array:
        """Return an output with its axes as the product has them."""
        axes = self.permutation
        return out if axes is None else out.transpose(np.argsort(axes))

    def seen(self, value: Array) -> Array:
        """Return the product, or a block of it, with its axes as its consumers see them."""
        return value if self.permutation is None else value.transpose(self.permutation)

    def _turned(self, index: Index) -> Index:
        axes = self.permutation
        return index if axes is None else tuple([index[axis] for axis in axes])
