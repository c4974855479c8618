"""Products of factors with small elements, half precision or bytes, which are never there as a whole in a wider dtype.

Few rows times a matrix take as long as reading it: `Kernels` does that where there are any. Else blocks of both factors
are converted into memory that stays in the cache, and BLAS multiplies those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, prod
from typing import Any, Protocol

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.numpy.functions import no_kernels
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index, blocks
from tensorframe.backends.numpy.products.product import (
    LONG,
    Store,
    in_batch,
    share_products,
    storing,
)
from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import SMALL, DType, float32, int32, promote, wide_of
from tensorframe.graph.shape import Shape

Array = Any

# Rows up to which reading the matrix is what takes time.
FEW = 16
# Multiplications that are sooner done than anything is shared out or compiled for them.
_LITTLE = 1 << 15
# Bytes of the matrix that one call takes, in columns of whole cache lines.
_PIECE, _COLUMNS = 1 << 20, 64
# Elements of the widest register, with which rows in memory end that kernels write.
_PADDING = 16
# Converted blocks: terms, so few that sums of bytes are exact in float32, and columns.
_TERMS, _EXACT, _WIDE = 1024, 256, 512


def block_bytes(rows: int, columns: int, inner: int) -> int:
    """Return the bytes that a block of the result takes: the sums, a product, and converted parts of both factors."""
    terms, wide = min(inner, _TERMS), min(columns, _WIDE)
    # while the next part is converted, the one before is still there
    left = rows * terms * (2 if inner > terms else 1)
    right = terms * wide * (2 if inner > terms or columns > wide else 1)
    return 4 * (rows * (columns + wide) + left + right)


class Kernels(Protocol):
    """Compiled functions for matrices of small elements."""

    def multiply(self, vectors: Array, matrix: Array, result: Array, start: int, stop: int) -> None:
        """Write some columns of a product of few vectors with a matrix."""

    def widen(self, source: Array, target: Array) -> None:
        """Write elements that are next to each other in rows to padded rows of another dtype."""


# gives the kernels, None where there are none
Find = Callable[[], "Kernels | None"]


def total_of(dtype: DType) -> DType:
    """Return the dtype in which products with a result of a dtype are summed: float32, or int32, which wraps."""
    return int32 if dtype.kind in "iu" else wide_of(dtype)


def reads_small(left: DType, right: DType, result: DType) -> bool:
    """Whether a product has a small factor that is read as it is."""
    wide = {float32} if total_of(result) == float32 else set()
    fits = result.itemsize <= float32.itemsize and result.kind != "b"
    return fits and {left, right} <= SMALL | wide and not {left, right} <= wide


def small_matmul(x: Array, y: Array, dtype: DType, find: Find = no_kernels) -> Array:
    """Return the product of arrays, of which one or both have small elements, summed wide and rounded once."""
    rows, columns = (x[None] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)
    result = SmallProduct(rows, columns, dtype, find).array()
    dropped = tuple([axis for axis, operand in ((-2, x), (-1, y)) if operand.ndim == 1])
    return result.squeeze(dropped) if dropped else result


def mixed(x: Array, y: Array, dtype: DType) -> tuple[Array, Array]:
    """Return factors in the dtype of their product, or a wider one that they have themselves."""
    wide = promote(dtype, x.dtype, y.dtype)
    return x.astype(wide, copy=False), y.astype(wide, copy=False)


class SmallProduct:
    """The product of two stacks of matrices, which broadcast, and the blocks that it is made of."""

    in_parts = False

    def __init__(
        self, x: Array, y: Array, dtype: DType, find: Find = no_kernels, *, whole_rows: bool = False
    ) -> None:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        self.dtype, self._total = dtype, total_of(dtype)
        self.shape: Shape = (*batch, x.shape[-2], y.shape[-1])
        self._x, self._y, self._batch = x, y, batch
        self._inner = x.shape[-1]
        self._count = prod(self.shape) * self._inner
        self._kernels = None if self._count < _LITTLE else find()
        self._thin = None if self._kernels is None else _thin(x, y, batch)
        whole = [tuple([slice(0, size) for size in self.shape])]
        self.blocks: list[Index] = whole
        if self._thin is None and self._count >= _LITTLE and blas.can_be_limited():
            sizes = (batch, x.shape[-2], self._inner, y.shape[-1])
            self.blocks = blocks(*sizes, whole_rows=whole_rows)

    def array(self, out: Array | None = None) -> Array:
        """Return the product, in `out` if it is given: any memory of the result's shape."""
        if out is None:
            out = host_pool.empty(self.shape, self.dtype)
        if self._count < _LITTLE:
            x, y = self._x.astype(self._total), self._y.astype(self._total)
            out[...] = np.matmul(x, y).astype(self.dtype)
            return out
        if self._thin is not None:
            self._few(*self._thin, out)
            return out

        def work(mine: Iterator[Index]) -> None:
            for index in mine:
                self._block(index, out[index])

        share_products(self.blocks, work, self._count, np.dtype(np.float32))
        return out

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of each block, in the thread that made it."""
        if len(self.blocks) == 1:
            store(self.blocks[0], self.array())
            return
        work = storing(self.blocks, self.dtype, self._block, store)
        share_products(self.blocks, work, self._count, np.dtype(np.float32))

    # --- few rows

    def _few(self, left: Array, right: Array, out: Array) -> None:
        """Write the product of few rows with each matrix of a stack; turned, where `out` is."""
        kernels = self._kernels
        assert kernels is not None
        *stack, rows, inner = left.shape
        columns = right.shape[-1]
        width, wide = inner + -inner % _PADDING, columns + -columns % _PADDING
        vectors = host_pool.empty((*stack, rows, width), self._total)
        vectors[..., inner:] = 0
        for place in np.ndindex(*stack):
            self._convert(left[place], vectors[place])
        result = host_pool.empty((*stack, rows, wide), self._total)
        each = ceil(_PIECE / max(inner * right.itemsize * _COLUMNS, 1)) * _COLUMNS
        pieces = [(first, min(first + each, columns)) for first in range(0, columns, each)]
        jobs = [(place, piece) for place in np.ndindex(*stack) for piece in pieces]

        def work(mine: Iterator[tuple[tuple[int, ...], tuple[int, int]]]) -> None:
            for place, piece in mine:
                kernels.multiply(vectors[place], right[place], result[place], *piece)

        if right.nbytes < _PIECE:
            work(iter(jobs))
        else:
            share_out(jobs, work, long=self._count > LONG * len(jobs))
        result = result[..., :columns]
        if self._is_turned:
            result = result.swapaxes(-1, -2)
        out[...] = result.reshape(out.shape) if result.ndim < out.ndim else result

    @property
    def _is_turned(self) -> bool:
        return _is_turned(self._x, self._y)

    # --- blocks

    def _block(self, index: Index, target: Array) -> None:
        """Write a block of the product to `target`."""
        *stack, rows, columns = index
        x = in_batch(self._x, self._batch)[(*stack, rows)]
        if prod(self._y.shape[:-2]) == 1:  # rows of all matrices meet the same one
            y = self._y.reshape(self._y.shape[-2:])[:, columns]
            tall = x.reshape((-1, self._inner))
            total = self._matrix(tall, y)
            target[...] = total.reshape(target.shape)
            return
        y = in_batch(self._y, self._batch)[(*stack, slice(None), columns)]
        for place in np.ndindex(*x.shape[:-2]):
            target[place] = self._matrix(x[place], y[place])

    def _matrix(self, x: Array, y: Array) -> Array:
        """Return the product of two matrices, in blocks that are converted one after the other."""
        rows, columns = x.shape[0], y.shape[1]
        total = np.zeros((rows, columns), self._total)
        exact = self._total == int32 and not x.dtype == y.dtype == np.int8
        terms = _EXACT if exact else _TERMS
        for first in range(0, self._inner, terms):
            inner = slice(first, first + terms)
            left = self._converted(x[:, inner])
            for begin in range(0, columns, _WIDE):
                part = slice(begin, begin + _WIDE)
                product = np.matmul(left, self._converted(y[inner, part]))
                total[:, part] += product.astype(self._total, copy=False)
        return total

    def _converted(self, block: Array) -> Array:
        """Return a block in float32: exact, of bytes too."""
        if block.dtype == float32:
            return block
        lies = block.strides[1] == block.itemsize
        source = block if lies else block.T
        rows, columns = source.shape
        width = columns + -columns % _PADDING
        memory = host_pool.empty((rows, width), float32)[:, :columns]
        self._convert(source, memory)
        return memory if lies else memory.T

    def _convert(self, source: Array, target: Array) -> None:
        """Write a matrix in another dtype, whose rows end with whole registers."""
        lies = source.strides[1] == source.itemsize and source.flags.aligned
        if self._kernels is None or not lies or source.dtype not in SMALL:
            target[..., : source.shape[1]] = source
        else:
            self._kernels.widen(source, target)


def _is_turned(x: Array, y: Array) -> bool:
    """Whether the right factor is the one with few vectors: then its columns are taken for rows."""
    return bool(y.shape[-1] < x.shape[-2])


def _thin(x: Array, y: Array, batch: Shape) -> tuple[Array, Array] | None:
    """Return few rows, and the matrix of small elements, or a stack of either, that they are multiplied with."""
    left, right = (y.swapaxes(-1, -2), x.swapaxes(-1, -2)) if _is_turned(x, y) else (x, y)
    if right.dtype not in SMALL or left.shape[-2] > FEW:
        return None
    if prod(right.shape[:-2]) == 1 and prod(left.shape[:-1]) <= FEW and not _is_turned(x, y):
        # rows of all matrices meet the same one
        return left.reshape((-1, left.shape[-1])), _lying(right.reshape(right.shape[-2:]))
    return in_batch(left, batch), in_batch(_lying(right), batch)


def _lying(matrices: Array) -> Array:
    """Return matrices whose elements are next to each other along one of the last two axes."""
    size = matrices.itemsize
    lies = size in matrices.strides[-2:] and matrices.flags.aligned
    return matrices if lies else host_pool.contiguous(matrices)
