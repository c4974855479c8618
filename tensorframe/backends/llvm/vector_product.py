"""Products of a large matrix with one vector, as calls of compiled functions: see the text's module.

BLAS reads some rows of such a matrix side by side, and a step of a language model took a quarter longer than memory.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.bound import NativeCall
from tensorframe.backends.llvm.single_call import SingleCall
from tensorframe.backends.llvm.thin_product import functions, slots
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import runs
from tensorframe.codegen.llvm.thin_products import COLUMNS, DOTS
from tensorframe.dtypes import float32, float64
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any

_DTYPES = frozenset({float32, float64})
# Bytes of a matrix that is not in the second level of cache, and rows that are worth sharing out.
_LARGE, _MANY = 1 << 21, 64
# Bytes of the rows that a thread takes at least.
_PIECE = 1 << 17
# Bytes of each row that a thread takes at least, where it adds rows up side by side: as long as a stream is worth it.
_SIDE_BY_SIDE = 1 << 10


class _Function(NamedTuple):
    """The compiled function, as workers take it."""

    address: int
    call: Any


class VectorProduct(SingleCall):
    """The product of a large matrix and a vector on either side, where the matrix lies along one of its axes."""

    def __init__(self, shape: Shape, matrix: Array, vector: Array) -> None:
        """`matrix` has the rows that meet the vector; see `rows_of`."""
        self.dtype, self.shape = matrix.dtype, shape
        self._matrix = matrix if matrix.flags.aligned else host_pool.contiguous(matrix)
        self._vector = np.ascontiguousarray(vector)
        shared = np.may_share_memory(self._vector, vector)
        self._is_copied = self._matrix is not matrix or not shared
        rows, inner = matrix.shape
        # rows that lie along what is summed are read one after the other; what lies across is added up side by side
        self._lies_along = self._matrix.strides[1] == matrix.itemsize
        grain = _PIECE // (inner * matrix.itemsize)
        if not self._lies_along:
            grain = max(grain, _SIDE_BY_SIDE // matrix.itemsize)
        self._grain = max(min(grain, rows), 1)

    def can_write(self, out: Array) -> bool:
        """Whether the elements lie one after the other."""
        return bool(out.flags.c_contiguous)

    def run(self, out: Array) -> None:
        """Write the product; threads share the rows."""
        rows, function = len(self._matrix), self._function()
        run_ranges(function, rows, self._grain, self._slots(out), b"", joined=True)

    def calls(self, out: Array) -> list[NativeCall] | None:
        """Return the call that writes the product to `out`; None if factors are copied."""
        if self._is_copied or not out.flags.c_contiguous:
            return None
        function = self._function().address
        # compiled functions are there for good
        owners = (self._matrix, self._vector, out)
        rows, given = len(self._matrix), self._slots(out)
        return [NativeCall(function, rows, self._grain, given, b"", owners, joined=True)]

    def _function(self) -> _Function:
        compiled = functions(self.dtype, self.dtype)
        if self._lies_along:
            return _Function(compiled.code.addresses[DOTS], compiled.dots)
        return _Function(compiled.code.addresses[COLUMNS], compiled.columns)

    def _slots(self, out: Array) -> bytes:
        matrix, vector = self._matrix, self._vector[None]
        step = matrix.strides[0 if self._lies_along else 1]
        return slots(matrix, step, matrix.shape[1], vector, out.reshape((1, -1)))


def rows_of(x: Array, y: Array, shape: Shape) -> tuple[Array, Array] | None:
    """Return the rows, or columns, of a large matrix that are multiplied with a vector, and the vector.

    None if a product of this shape has no such factors; by sizes and by how they lie alone.
    """
    if x.dtype != y.dtype or x.dtype not in _DTYPES or prod(shape[:-2]) != 1:
        return None
    if not blas.can_be_limited():  # the system's own
        return None
    if shape[-2] == 1:
        matrix, vector = y.reshape(y.shape[-2:]).T, x.reshape(-1)
    elif shape[-1] == 1:
        matrix, vector = x.reshape(x.shape[-2:]), y.reshape(-1)
    else:
        return None
    rows, inner = matrix.shape
    lies = matrix.itemsize in matrix.strides and rows >= _MANY
    is_large = matrix.size * matrix.itemsize >= _LARGE and len(runs(inner, rows)) == 1
    return (matrix, vector) if lies and is_large else None
