"""Products of few rows with each matrix of a stack, as one call of a compiled function: see the text's module.

BLAS packs each matrix before it multiplies, and a step of attention took twice as long as memory.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.bound import NativeCall
from tensorframe.backends.interruptible import is_interrupted_here, run_interruptibly
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.library import llvm_lock
from tensorframe.backends.llvm.load import Function, Placed
from tensorframe.backends.llvm.single_call import SingleCall
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import THIN, runs
from tensorframe.backends.numpy.products.product import in_batch
from tensorframe.codegen.llvm.stacked_products import ACROSS, ALONG, LINE_WORDS, print_stacked
from tensorframe.dtypes import DType, float32, float64
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any

_DTYPES = frozenset({float32, float64})
# Bytes of a matrix that is worth a call. A single row is multiplied as fast by BLAS.
_LEAST = 1 << 14
# Elements of the widest register: results of rows that lie across are written by whole ones.
_WHOLE = 16
# Bytes of matrices that a thread takes at least.
_PIECE = 1 << 15


class _Functions(NamedTuple):
    """The compiled functions for a dtype."""

    code: Placed  # that keeps them in memory
    along: Function
    across: Function


_known: dict[DType, _Functions] = {}


def _functions(dtype: DType) -> _Functions:
    known = _known.get(dtype)
    if known is not None:
        return known
    # an interrupt in the middle of running the compiler might leave it broken for good
    made = partial(_made, dtype)
    return run_interruptibly(made) if is_interrupted_here() else made()


def _made(dtype: DType) -> _Functions:
    with llvm_lock:  # of two that were made, one would be gone while somebody calls it
        known = _known.get(dtype)
        if known is None:
            text = print_stacked(target(), str(target_machine().target_data), dtype)
            code = placed(f"stacked_products_{dtype.name}", text, (ALONG, ACROSS))
            functions = map(code.function, (ALONG, ACROSS))
            known = _known[dtype] = _Functions(code, *functions)
        return known


class StackedProduct(SingleCall):
    """The product of stacks, which broadcast: few rows, whose elements lie together, and matrices whose rows do."""

    def __init__(self, shape: Shape, x: Array, y: Array) -> None:
        self.dtype, self.shape = x.dtype, shape
        self._x, self._y = in_batch(x, shape[:-2]), in_batch(y, shape[:-2])
        self._is_along = _is_along(y)

    def can_write(self, out: Array) -> bool:
        """Whether elements of each row lie together."""
        return _fits(out)

    def run(self, out: Array) -> None:
        """Write the product; threads share the matrices."""
        run_ranges(self._called, *self._ranges(), self._table(out), b"", joined=True)

    def calls(self, out: Array) -> list[NativeCall] | None:
        """Return the call that writes the product to `out`; None if that has to be copied."""
        if not _fits(out):
            return None
        owners = (self._x, self._y, out)
        place, table = self._called.address, self._table(out)
        return [NativeCall(place, *self._ranges(), table, b"", owners, joined=True)]

    @property
    def _called(self) -> Function:
        functions = _functions(self.dtype)
        return functions.along if self._is_along else functions.across

    def _ranges(self) -> tuple[int, int]:
        """Return how many matrices there are, and how many of them a thread takes at least."""
        matrix = prod(self._y.shape[-2:]) * self.dtype.itemsize
        return prod(self.shape[:-2]), max(_PIECE // matrix, 1)

    def _table(self, out: Array) -> bytes:
        """Return what the function is given for each matrix, line by line."""
        x, y = self._x, self._y
        rows, columns = self.shape[-2:]
        table = np.empty((*self.shape[:-2], LINE_WORDS), np.int64)
        steps = (y.strides[-1 if self._is_along else -2], x.strides[-2], out.strides[-2])
        table[...] = (columns, 0, 0, 0, *steps, x.shape[-1], rows)
        for word, array in enumerate((y, x, out), start=1):
            table[..., word] = address(array)
            for axis, (size, step) in enumerate(zip(self.shape[:-2], array.strides, strict=False)):
                behind = np.arange(size, dtype=np.int64) * step
                table[..., word] += behind.reshape((-1, *(1,) * (len(self.shape) - 3 - axis)))
        return table.tobytes()


def takes_stack(x: Array, y: Array, shape: Shape) -> bool:
    """Whether a product of this shape is one of few rows with each of several matrices.

    By sizes and by how they lie alone.
    """
    if x.dtype != y.dtype or x.dtype not in _DTYPES or y.ndim < 3 or not 1 < shape[-2] < THIN:
        return False
    if prod(y.shape[:-2]) < 2 or prod(y.shape[-2:]) * y.itemsize < _LEAST:
        return False
    if not blas.can_be_limited():  # the system's own
        return False
    lies = _fits(x) and x.flags.aligned and y.flags.aligned
    if not lies or len(runs(x.shape[-1], prod(shape))) > 1:
        return False
    return _is_along(y) or (y.strides[-1] == y.itemsize and y.shape[-1] % _WHOLE == 0)


def _is_along(y: Array) -> bool:
    """Whether columns of matrices lie in one piece each."""
    return bool(y.strides[-2] == y.itemsize)


def _fits(rows: Array) -> bool:
    """Whether elements of each row lie together."""
    return bool(rows.strides[-1] == rows.itemsize)
