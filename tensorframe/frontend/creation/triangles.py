"""Triangles and diagonals: matrices described by comparing row and column positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import default_real
from tensorframe.frontend.creation.ranges import counted, positions
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.memoization import memoized, memoized_of
from tensorframe.frontend.manipulation.diagonals import diagonal
from tensorframe.frontend.manipulation.padding import pad
from tensorframe.frontend.manipulation.views import ravel
from tensorframe.frontend.operands import converted, need_axes, operand, reshaped
from tensorframe.frontend.parameters import count, integer
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import default_on
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape, as_shape
from tensorframe.ops.elementwise import EQUAL, GREATER_EQUAL, LESS_EQUAL, WHERE

__all__ = [
    "diag",
    "diagflat",
    "eye",
    "identity",
    "tri",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
]


def compared(op: Op, shape: Shape, k: int, device: Device) -> Tensor:
    """Return a matrix of bools: whether `op` holds for a column's position and that of the diagonal `k` in the row."""
    rows, columns = shape
    # no further than just outside of the matrix, so that the sum of row and diagonal fits int64
    first = max(-rows, min(integer("tri", "k", k), columns))
    dtype = default_on(device, dtypes.int64)
    across = positions(columns, device)
    is_main = not first and rows == columns  # of a square matrix both positions are the same
    down = across if is_main else counted(rows, first, 1, dtype, device)
    return apply(op, across, reshaped(down, (rows, 1)))


@memoized_of(0)
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a matrix of zeros with ones on the diagonal `k` columns right of the main one. Takes no memory by itself.

    >>> tfr.eye(2, dtype=tfr.int64).tolist()
    [[1, 0], [0, 1]]
    """
    del order, like
    return _ones_where(EQUAL, N, M, k, dtype, device)


def _ones_where(
    op: Op, n_rows: int, n_cols: int | None, k: int, dtype: DTypeLike | None, device: OnDevice
) -> Tensor:
    shape = as_shape((n_rows, n_rows if n_cols is None else n_cols))
    place = resolve_device(device)
    target = default_real("eye", dtype, place)
    return converted(compared(op, shape, k, place), target)


@memoized_of(0)
def identity(
    n: int,
    dtype: DTypeLike | None = None,
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return the identity matrix of `n` rows.

    Ones on the main diagonal, zeros elsewhere: `eye(n)`, which has more parameters.

    >>> tfr.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype, device=device, like=like)


@memoized_of(0)
def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return a matrix of ones on and below the diagonal `k`, and zeros above it.

    >>> tfr.tri(2, dtype=tfr.int64).tolist()
    [[1, 0], [1, 1]]
    """
    del like
    return _ones_where(LESS_EQUAL, N, M, k, dtype, device)


@memoized
def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """Return matrices with zeros above the diagonal `k` columns right of the main one; of a vector, as every row.

    >>> tfr.tril(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _kept_where(LESS_EQUAL, "tril", m, k)


def _kept_where(op: Op, name: str, x: Any, k: int) -> Tensor:
    tensor = operand(x)
    need_axes(name, tensor, 1)
    sides = tensor.shape[-2:] if tensor.ndim > 1 else tensor.shape * 2  # a vector is every row
    kept = compared(op, sides, k, tensor.device)
    return apply(WHERE, kept, tensor, zero_of(tensor))


@memoized
def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """Return matrices with zeros below the diagonal `k` columns right of the main one; of a vector, as every row.

    >>> tfr.triu(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _kept_where(GREATER_EQUAL, "triu", m, k)


def zero_of(tensor: Tensor) -> Any:
    """Return the Python number that fills the rest of the tensor."""
    return False if tensor.dtype == dtypes.bool_ else 0


@memoized
def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """Return a matrix with the vector `v` on its diagonal `k`, or the diagonal `k` of the matrix `v`.

    >>> tfr.diag(tfr.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    >>> tfr.diag(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    tensor = operand(v)
    if tensor.ndim == 2:
        return diagonal(tensor, offset=k)
    if tensor.ndim != 1:
        raise ShapeError(
            f"diag: takes a vector or a matrix, got shape {tensor.shape}",
            suggestions=("tfr.linalg.diagonal for stacks of matrices",),
        )
    k = integer("diag", "k", k)
    size = tensor.size + abs(k)
    # the vector goes along the side that the diagonal starts from, so that row or column i has element i
    padded = pad(tensor, (0, abs(k)))
    values = padded if k < 0 else reshaped(padded, (size, 1))
    on_diagonal = compared(EQUAL, (size, size), k, tensor.device)
    return apply(WHERE, on_diagonal, values, zero_of(tensor))


@memoized
def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """Return a matrix with all elements of `v` on its diagonal `k`.

    Elements are taken in C order, whatever the shape of `v`; the matrix has as many rows as these
    and `abs(k)` need.

    >>> tfr.diagflat(tfr.asarray([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(v), k)


def _matrix(name: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    """Return the rows of a matrix, a diagonal, and the columns, which are as many if `m` is None."""
    rows = count(name, "n", n)
    return rows, integer(name, "k", k), rows if m is None else count(name, "m", m)


def _indices(arrays: tuple[np.ndarray[Any, Any], ...]) -> tuple[Tensor, Tensor]:
    """Return the arrays of indices that NumPy made as tensors; nobody else has them, so nothing is copied."""
    rows, columns = arrays
    for array in arrays:
        array.setflags(write=False)
    return operand(rows), operand(columns)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column indices of the lower triangle of an n by m matrix, up to the diagonal `k`.

    >>> [index.tolist() for index in tfr.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _indices(np.tril_indices(*_matrix("tril_indices", n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the row and column indices of the upper triangle of an n by m matrix, from the diagonal `k` on.

    >>> [index.tolist() for index in tfr.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _indices(np.triu_indices(*_matrix("triu_indices", n, k, m)))
