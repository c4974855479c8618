"""Products of matrices as the calls of BLAS that `np.matmul` makes of them, for those who make these without Python.

Which function of BLAS is called, and how it is told of the operands, decides about bits: this follows NumPy's choice.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tensorframe.backends.numpy.products.blas import ONE_THREAD_ANYWAY
from tensorframe.dtypes import DType, float32, float64
from tensorframe.quick_tuples import NamedTuple

Array = Any

_COLUMN_MAJOR, _ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 102, 101, 111, 112
_PREFIX = {float32: "s", float64: "d"}


class Matmul(NamedTuple):
    """Two stacks of matrices, and where their product is written."""

    x: Array
    y: Array
    target: Array

    @property
    def is_long(self) -> bool:
        """Whether BLAS would share it out over threads of its own."""
        return bool(self.target.size * self.x.shape[-1] > ONE_THREAD_ANYWAY)


class BlasCall(NamedTuple):
    """A call of `gemv` or `gemm`: numbers and arrays in the order in which both take them."""

    is_matrix: bool
    first: int  # the order of a matrix; whether the first factor is transposed
    second: int  # whether the matrix, or the second factor, is transposed
    m: int
    n: int
    k: int
    a: Array
    a_step: int
    b: Array
    b_step: int
    c: Array
    c_step: int


class Library(NamedTuple):
    """The functions of NumPy's BLAS for a dtype: their addresses, and the bytes of its integers."""

    gemv: int
    gemm: int
    integer: int


@cache
def library(dtype: DType) -> Library | None:
    """Return the functions that NumPy calls for a dtype; None where it is not known which these are."""
    prefix = _PREFIX.get(dtype)
    libraries = _openblas() if prefix else []
    if len(libraries) != 1:
        return None
    for lead, suffix, integer in (("scipy_", "64_", 8), ("", "64_", 8), ("scipy_", "", 4)):
        names = [f"{lead}cblas_{prefix}{verb}{suffix}" for verb in ("gemv", "gemm")]
        functions: list[Any] = [getattr(libraries[0], name, None) for name in names]
        if all(functions):
            gemv, gemm = [ctypes.cast(function, ctypes.c_void_p).value for function in functions]
            return Library(gemv or 0, gemm or 0, integer)
    return None


def _openblas() -> list[Any]:
    """Return the libraries that lie beside NumPy's own."""
    from pathlib import Path  # slow to import

    from threadpoolctl import ThreadpoolController

    beside = Path(np.__file__).parent.parent
    return [
        controller.dynlib
        for controller in ThreadpoolController().lib_controllers
        if getattr(controller, "internal_api", "") == "openblas"
        and getattr(controller, "threading_layer", "") == "pthreads"
        and Path(controller.filepath).parent.name.startswith(("numpy.libs", ".dylibs"))
        and Path(controller.filepath).is_relative_to(beside)
    ]


def calls_of(product: Matmul) -> list[BlasCall] | None:
    """Return the calls for a product of stacks; None where NumPy multiplies in another way."""
    x, y, target = product
    stack = target.shape[:-2]
    x, y = [np.broadcast_to(factor, (*stack, *factor.shape[-2:])) for factor in (x, y)]
    calls = [_call(x[place], y[place], target[place]) for place in np.ndindex(*stack)]
    known = [call for call in calls if call is not None]
    return known if len(known) == len(calls) else None


def _call(x: Array, y: Array, out: Array) -> BlasCall | None:
    rows, inner = x.shape
    columns = y.shape[1]
    if 0 in (rows, inner, columns) or inner == 1 or rows == columns == 1:
        return None
    if rows == 1 or columns == 1:
        if rows == 1:
            return _of_vector(y.T, x[0], out[0])
        return _of_vector(x, y[:, 0], out[:, 0])
    if not (_is_read(x) and _is_read(y)):
        return None
    if _lies(out):
        return _of_matrices(x, y, out)
    return _of_matrices(y.T, x.T, out.T) if _lies(out.T) else None


def _of_vector(matrix: Array, vector: Array, out: Array) -> BlasCall | None:
    """Return the call for a matrix times a vector."""
    size = out.itemsize
    if not _is_read(matrix) or vector.strides[0] < size or vector.strides[0] % size:
        return None
    order, step = (_COLUMN_MAJOR, 0) if _lies(matrix) else (_ROW_MAJOR, 1)
    m, n = matrix.shape
    steps = [stride // size for stride in (matrix.strides[step], vector.strides[0], out.strides[0])]
    return BlasCall(
        False, order, _TRANSPOSED, n, m, 0, matrix, steps[0], vector, steps[1], out, steps[2]
    )


def _of_matrices(x: Array, y: Array, out: Array) -> BlasCall | None:
    if np.may_share_memory(x, y):
        return None  # a matrix times its own transpose has a function of its own
    (first, a), (second, b) = [
        (_AS_IT_IS, factor.strides[0]) if _lies(factor) else (_TRANSPOSED, factor.strides[1])
        for factor in (x, y)
    ]
    (m, k), n, size = x.shape, y.shape[1], out.itemsize
    return BlasCall(
        True, first, second, m, n, k, x, a // size, y, b // size, out, out.strides[0] // size
    )


def _is_read(matrix: Array) -> bool:
    return _lies(matrix) or _lies(matrix.T)


def _lies(matrix: Array) -> bool:
    """Whether rows lie in one piece each, one after the other."""
    size = matrix.itemsize
    down, across = matrix.strides
    return bool(across == size and down % size == 0 and down // size >= matrix.shape[1])


def all_calls(products: Sequence[Matmul]) -> list[BlasCall] | None:
    """Return the calls for several products; None where one of them is not made so."""
    calls: list[BlasCall] = []
    for product in products:
        own = calls_of(product)
        if own is None:
            return None
        calls += own
    return calls
