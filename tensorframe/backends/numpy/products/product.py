"""Products of stacks of matrices, block by block: each block by one thread, and BLAS in that thread alone.

A block can be handed on while it is in the cache, before the thread turns to the next one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from tensorframe import config
from tensorframe.backends import host_pool
from tensorframe.backends.base import Program
from tensorframe.backends.bound import NativeCall
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.blas_calls import Matmul
from tensorframe.backends.numpy.products.grid import Index, blocks, runs
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import COMPLEX, FLOAT, NARROW, DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any
# takes a block of the result, which is overwritten afterwards
Store = Callable[[Index, Array], None]

# what BLAS multiplies, by single or double precision
IN_BLAS = frozenset((FLOAT | COMPLEX) - NARROW)
# A matrix of fewer rows than this is copied, if then all rows of a stack are one matrix.
_FEW_ROWS = 64
# Rows of pieces that are worth a call each.
_TALL = 1024
# Multiplications of a block that takes some 50 ms.
LONG = 1 << 30


class Call(NamedTuple):
    """A product as part of a step: which inputs are its factors, and what becomes of it.

    `others` are the inputs that `programs` read besides a block, one for each shape of blocks; there are none where
    nothing is done to the product. `makers` make the outputs. `strides` are those of the last one as the product has
    its axes. Inputs from number `given` on are `constants`.
    """

    factors: tuple[int, int]
    others: Sequence[int]
    programs: Sequence[Program]
    makers: Sequence[Callable[[], Array]]
    strides: tuple[int, ...]
    given: int
    constants: Sequence[Array]


class Products(Protocol):
    """A product that is made in blocks."""

    dtype: Any

    @property
    def blocks(self) -> list[Index]:
        """The indices of blocks."""

    @property
    def in_parts(self) -> bool:
        """Whether it is a sum of products, of parts of the inner axis."""

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given."""


class Native(Products, ABC):
    """A product that threads can make without the interpreter."""

    @property
    @abstractmethod
    def kinds(self) -> Sequence[Shape]:
        """The shapes of blocks."""

    @abstractmethod
    def begin(self) -> None:
        """Have the functions that make it compiled ahead."""

    @abstractmethod
    def prepared(self, call: Call, inputs: Sequence[Array], other: Program) -> Program | None:
        """Return what runs a step for inputs of these strides, if that can be; `other` runs it for others."""


class Compiled(Products, ABC):
    """A product that one call of a compiled function makes whole, which threads share."""

    shape: Shape

    @abstractmethod
    def calls(self, out: Array) -> list[NativeCall] | None:
        """Return the calls that write it to `out`; None where they cannot."""


class Multiply(Protocol):
    """Makes the product of two stacks of matrices of a dtype in `IN_BLAS`."""

    def __call__(self, x: Array, y: Array, *, whole_rows: bool = False) -> Products:
        """Return the product; `whole_rows` says that columns are not to be cut."""


class Product:
    """The product of two stacks of matrices, which broadcast, and the blocks that it is made of."""

    __slots__ = ("_parts", "_x", "_y", "blocks", "dtype", "shape")

    def __init__(self, x: Array, y: Array, *, whole_rows: bool = False) -> None:
        batch, other = x.shape[:-2], y.shape[:-2]
        if batch != other:
            batch = np.broadcast_shapes(batch, other)
        if x.dtype in IN_BLAS:
            x, y = blas.ready(x), blas.ready(y)
        self.dtype = x.dtype
        self.shape: Shape = (*batch, x.shape[-2], y.shape[-1])
        self._x, self._y = in_batch(x, batch), in_batch(y, batch)
        self._parts = runs(x.shape[-1], prod(self.shape))
        if x.dtype in IN_BLAS and not blas.can_be_limited():
            self.blocks = [tuple([slice(0, size) for size in self.shape])]
        else:
            sizes = (batch, x.shape[-2], x.shape[-1], y.shape[-1])
            self.blocks = blocks(*sizes, whole_rows=whole_rows)

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given: any memory of the result's shape."""
        if self.in_parts:
            return self._in_parts(out)
        if out is None:
            out = host_pool.empty(self.shape, self.dtype)
        pieces = self._pieces()
        if pieces:
            for piece in pieces:
                np.matmul(self._x[piece], self._y, out=out[piece])
            return out

        def work(mine: Iterator[Index]) -> None:
            for index in mine:
                self._block(index, out[index])

        self._share_out(self.blocks, work)
        return out

    def _pieces(self) -> list[slice]:
        """Return rows of which OpenBLAS multiplies so few in one thread by itself; none where that is not all to do.

        To have it take one thread, and to share out one block, takes as long as to multiply a tall and narrow matrix.
        """
        rows, columns = self.shape[-2:]
        tall = blas.ONE_THREAD_ANYWAY // max(self._x.shape[-1] * columns, 1)
        if (
            len(self.shape) != 2
            or len(self.blocks) > 1
            or tall < _TALL
            or self.dtype not in IN_BLAS
        ):
            return []
        return [slice(start, start + tall) for start in range(0, rows, tall)]

    def matmuls(self, out: Array) -> list[Matmul]:
        """Return the products of whole matrices that are written to `out`: all of it, unless it is `in_parts`."""
        products = []
        for index in self.blocks:
            *stack, rows, columns = index
            x, y = self._x[(*stack, rows)], self._y[(*stack, slice(None), columns)]
            products.append(Matmul(*as_folded(x, y, out[index])))
        return products

    @property
    def in_parts(self) -> bool:
        """Whether the product is a sum of products, of parts of the inner axis."""
        return len(self._parts) > 1

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        self._share_out(self.blocks, storing(self.blocks, self.dtype, self._block, store))

    def _in_parts(self, out: Array | None) -> Array:
        parts = self._parts
        sums = host_pool.empty((len(parts), *self.shape), self.dtype)
        # a row times a column: BLAS has a function for two vectors, which reads them faster than one for matrices
        is_dot = self.shape == (1, 1)

        def work(mine: Iterator[int]) -> None:
            for block in mine:
                x, y = self._x[..., parts[block]], self._y[..., parts[block], :]
                if is_dot:
                    sums[block, 0, 0] = np.dot(x[0], y[:, 0])
                else:
                    np.matmul(x, y, out=sums[block])

        self._share_out(range(len(parts)), work)
        add = np.logical_or if self.dtype.kind == "b" else np.add
        return add.reduce(sums, axis=0, dtype=self.dtype, out=out)

    def _share_out(self, jobs: Any, work: Callable[[Iterator[Any]], None]) -> None:
        share_products(jobs, work, prod(self.shape) * self._x.shape[-1], self.dtype)

    def _block(self, index: Index, target: Array) -> None:
        """Write a block of the product to `target`."""
        *stack, rows, columns = index
        multiply(self._x[(*stack, rows)], self._y[(*stack, slice(None), columns)], target)


def bound_calls(product: Products, out: Array, kernels: Any) -> list[NativeCall] | None:
    """Return the calls of compiled functions or of BLAS that write a product to `out`; None where it takes others."""
    if isinstance(product, Compiled):
        return product.calls(out)
    if not isinstance(product, Product) or product.in_parts:
        return None
    calls: list[NativeCall] | None = kernels.bound_matmuls(product.matmuls(out))
    return calls


def storing(
    blocks: Sequence[Index], dtype: DType, write: Store, store: Store
) -> Callable[[Iterator[Index]], None]:
    """Return what makes blocks one by one, `write` each to memory of the thread's own, and calls `store` with it."""
    largest = max([prod(extents(index)) for index in blocks])

    def work(mine: Iterator[Index]) -> None:
        (memory,) = host_pool.scratch(largest, [dtype])
        with config.override(threads=1):  # the others have blocks of their own
            for index in mine:
                shape = extents(index)
                block = memory[: prod(shape)].reshape(shape)
                write(index, block)
                store(index, block)

    return work


def share_products(
    jobs: Any, work: Callable[[Iterator[Any]], None], multiplications: int, dtype: DType
) -> None:
    """Share out jobs of so many multiplications in all, with BLAS in one thread in each that does some."""
    long = multiplications > LONG * len(jobs)
    if multiplications <= blas.ONE_THREAD_ANYWAY or dtype not in IN_BLAS:
        share_out(jobs, work, long=long)
        return

    def alone(mine: Iterator[Any]) -> None:
        with blas.one_thread_here():
            work(mine)

    with blas.one_thread():
        share_out(jobs, alone, long=long)


def multiplied_at_once(x: Array, y: Array) -> Array:
    """Return a product that is one block, or one with vectors, by the calls of BLAS that the block takes."""
    if x.ndim == 1 or y.ndim == 1:
        return np.matmul(x, y)
    x = x if x.flags.c_contiguous else blas.ready(x)
    y = y if y.flags.c_contiguous else blas.ready(y)
    if y.ndim == 2:
        return np.matmul(x, y) if x.ndim == 2 else _times_matrix(x, y)
    if y.shape[-3] != 1 and y.strides[-3]:  # matrices of their own
        return np.matmul(x, y)
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    result = np.empty((*batch, x.shape[-2], y.shape[-1]), x.dtype)
    multiply(in_batch(x, batch), in_batch(y, batch), result)
    return result


def _times_matrix(stack: Array, matrix: Array) -> Array:
    """Return what `multiply` makes of a stack and one matrix, without views of it for each: they take 10 us."""
    *kept, inner = stack.shape
    try:
        tall = stack.reshape((prod(kept), inner), copy=stack.shape[-2] < _FEW_ROWS and None)
    except ValueError:  # not without a copy
        return np.matmul(stack, matrix)
    return np.matmul(tall, matrix).reshape((*kept, matrix.shape[1]))


def multiply(x: Array, y: Array, target: Array) -> None:
    """Write the product of two stacks of as many matrices to `target`, whose elements lie together."""
    x, y, target = as_folded(x, y, target)
    np.matmul(x, y, out=target)


def in_batch(matrices: Array, batch: Shape) -> Array:
    """Return a stack of matrices broadcast to one of this shape."""
    shape = (*batch, *matrices.shape[-2:])
    return matrices if matrices.shape == shape else np.broadcast_to(matrices, shape)


def extents(index: Index) -> Shape:
    """Return the shape of a block."""
    return tuple([part.stop - part.start for part in index])


def as_folded(x: Array, y: Array, target: Array) -> tuple[Array, Array, Array]:
    """Return operands and memory of fewer products: many matrices times one are one tall matrix times it."""
    if target.ndim <= 2 or not target.size:
        return x, y, target
    depth = _times_one(y)
    if not depth:
        return x, y, target
    outer = x.shape[: -2 - depth]
    rows = prod(x.shape[-2 - depth : -1])
    try:
        tall = target.reshape((*outer, rows, target.shape[-1]), copy=False)
        left = x.reshape((*outer, rows, x.shape[-1]), copy=x.shape[-2] < _FEW_ROWS and None)
    except ValueError:  # not without a copy
        return x, y, target
    return left, y[(slice(None),) * len(outer) + (0,) * depth], tall


def _times_one(stack: Array) -> int:
    """Return along how many of the last axes of a stack there is one and the same matrix."""
    depth = 0
    for size, stride in zip(stack.shape[-3::-1], stack.strides[-3::-1], strict=True):
        if size != 1 and stride != 0:
            break
        depth += 1
    return depth
