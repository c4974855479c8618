"""Products of stacks of matrices and vectors, and the order in which NumPy would contract tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.linalg.contractions import conjugated, matmul
from tensorframe.frontend.linalg.options import with_options
from tensorframe.frontend.operands import need_axes, promoted, reshaped
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.tensor import Tensor

__all__ = ["einsum_path", "matvec", "vecmat"]


def matvec(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, **options: Any) -> Tensor:
    """Products of matrices (..., n, k) with vectors (..., k): shape (..., n); the axes before broadcast.

    Options as for `matmul`.

    >>> tfr.matvec(tfr.asarray([[1, 2], [3, 4]]), tfr.asarray([1, 1])).tolist()
    [3, 7]
    """
    if options or out is not None:
        return with_options("matvec", matvec, (x1, x2), out, **options)
    matrix, vector = promoted(x1, x2)
    need_axes("matvec", matrix, 2)
    need_axes("matvec", vector, 1)
    if vector.ndim == 1:
        return matmul(matrix, vector)
    result = matmul(matrix, reshaped(vector, (*vector.shape, 1)))
    return reshaped(result, result.shape[:-1])


def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, **options: Any) -> Tensor:
    """Products of vectors (..., n), conjugated, with matrices (..., n, k): shape (..., k); the axes before broadcast.

    Options as for `matmul`.

    >>> tfr.vecmat(tfr.asarray([1, 1]), tfr.asarray([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    if options or out is not None:
        return with_options("vecmat", vecmat, (x1, x2), out, **options)
    vector, matrix = promoted(x1, x2)
    need_axes("vecmat", matrix, 2)
    need_axes("vecmat", vector, 1)
    if vector.ndim == 1:
        return matmul(conjugated(vector), matrix)
    row = reshaped(conjugated(vector), (*vector.shape[:-1], 1, vector.shape[-1]))
    result = matmul(row, matrix)
    return reshaped(result, (*result.shape[:-2], result.shape[-1]))


def einsum_path(
    *operands: Any, optimize: bool | str | Sequence[Any] = "greedy", einsum_call: bool = False
) -> Any:
    """The order in which NumPy would contract the operands of `einsum`, and a table of what it costs.

    `einsum` finds an order of its own. Shapes are all that counts: nothing is computed.

    >>> tfr.einsum_path("ij,jk->ik", tfr.ones((2, 3)), tfr.ones((3, 4)))[0]
    ['einsum_path', (0, 1)]
    """
    shapes = [
        np.broadcast_to(0.0, value.shape) if isinstance(value, Tensor) else value
        for value in operands
    ]
    search: Any = np.einsum_path
    try:
        return search(*shapes, optimize=optimize, einsum_call=einsum_call)
    except TypeError as error:
        raise DTypeError(f"einsum_path: {error}") from error
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise ShapeError(f"einsum_path: {error}") from error
