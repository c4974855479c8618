"""Sparse matrices times vectors by cuSPARSE, in that of its algorithms which gives the same bits in every run."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from tensorframe.dtypes import DType, complex64, complex128, float32, float64, int32, int64
from tensorframe.graph.region import Region
from tensorframe.ops.sparse import SPARSE_MATMUL

Array = Any

# members of `cudaDataType`, and the names of those of `cusparseIndexType_t`
_DTYPES: dict[DType, int] = {float32: 0, float64: 1, complex64: 4, complex128: 5}
_INDICES: dict[DType, str] = {int32: "CUSPARSE_INDEX_32I", int64: "CUSPARSE_INDEX_64I"}

# Stored elements, and those of a row on average, from which on the library is called. Threads of our kernel have a row
# each, and read elements that are a row apart: while rows fit a sector of 32 bytes nothing is lost by that.
_LARGE, _LONG = 1 << 16, 8


@cache
def library() -> Any | None:
    """Return CuPy's interface of cuSPARSE; None where that does not load, and on AMD's GPUs."""
    if cupy.cuda.runtime.is_hip:
        return None
    try:
        from cupy_backends.cuda.libs import cusparse
    except ImportError:
        return None
    return cusparse


def takes(region: Region) -> bool:
    """Whether cuSPARSE is called: for a large matrix, whose integers are known to be right, times a vector."""
    op = region.ops[0]
    if op.op is not SPARSE_MATMUL or op.attrs != (True,) or op.dtype not in _DTYPES:
        return False
    (count,), _, (pointers,), x = [region.shape_of(source) for source in op.inputs]
    is_large = count >= max(_LARGE, _LONG * (pointers - 1))
    is_vector = len(x) < 3 and prod(x[1:]) == 1
    return is_large and is_vector and library() is not None


def product(data: Array, indices: Array, indptr: Array, x: Array, _checked: bool) -> Array:
    """Return the product with a vector, or a column."""
    cusparse: Any = library()
    data, indices, indptr, vector = map(
        cupy.ascontiguousarray, (data, indices, indptr, x.reshape(-1))
    )
    rows = len(indptr) - 1
    result = cupy.zeros(rows, data.dtype)
    kind = _DTYPES[data.dtype]
    alpha, beta = np.ones(1, data.dtype), np.zeros(1, data.dtype)
    with ExitStack() as made:

        def vector_of(array: Array) -> int:
            descriptor: int = cusparse.createDnVec(array.size, array.data.ptr, kind)
            made.callback(cusparse.destroyDnVec, descriptor)
            return descriptor

        matrix = cusparse.createCsr(
            rows,
            len(vector),
            len(data),
            *[array.data.ptr for array in (indptr, indices, data)],
            *[getattr(cusparse, _INDICES[array.dtype]) for array in (indptr, indices)],
            cusparse.CUSPARSE_INDEX_BASE_ZERO,
            kind,
        )
        made.callback(cusparse.destroySpMat, matrix)
        call = (
            cupy.cuda.device.get_cusparse_handle(),
            cusparse.CUSPARSE_OPERATION_NON_TRANSPOSE,
            alpha.ctypes.data,
            matrix,
            vector_of(vector),
            beta.ctypes.data,
            vector_of(result),
            kind,
            cusparse.CUSPARSE_CSRMV_ALG2,  # others add up in an order of their own in each run
        )
        scratch = cupy.empty(cusparse.spMV_bufferSize(*call), np.int8)
        cusparse.spMV(*call, scratch.data.ptr)
    return result.reshape(rows, *x.shape[1:])
