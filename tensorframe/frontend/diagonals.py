"""Diagonals: vectors as matrices, and the other way round."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import ShapeError
from tensorframe.frontend.convert import asarray
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.manipulation import ravel
from tensorframe.frontend.matrices import diagonal
from tensorframe.frontend.operands import reshaped
from tensorframe.frontend.padding import pad
from tensorframe.frontend.ranges import positions
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.triangles import column, zero_of
from tensorframe.ops.elementwise import EQUAL, WHERE

__all__ = ["diag", "diagflat"]


def diag(v: Any, /, k: int = 0) -> Tensor:
    """Return a matrix with the vector `v` on its diagonal `k`, or the diagonal `k` of the matrix `v`.

    >>> tfr.diag(tfr.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    >>> tfr.diag(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    tensor = asarray(v)
    if tensor.ndim == 2:
        return diagonal(tensor, offset=k)
    if tensor.ndim != 1:
        raise ShapeError(
            f"diag: takes a vector or a matrix, got shape {tensor.shape}",
            suggestions=("tfr.linalg.diagonal for stacks of matrices",),
        )
    size = tensor.size + abs(k)
    # the vector goes along the side that the diagonal starts from, so that row or column i has element i
    padded = pad(tensor, (0, abs(k)))
    values = padded if k < 0 else reshaped(padded, (size, 1))
    place = tensor.device
    on_diagonal = apply(EQUAL, column(size, place, k), positions(size, place))
    return apply(WHERE, on_diagonal, values, zero_of(tensor))


def diagflat(v: Any, /, k: int = 0) -> Tensor:
    """Return a matrix with all elements of `v` on its diagonal `k`.

    >>> tfr.diagflat(tfr.asarray([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(v), k)
