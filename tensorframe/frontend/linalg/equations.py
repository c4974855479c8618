"""Equations of tensors: those of matrices, axes being taken together as rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.linalg.decompositions import inv, solve
from tensorframe.frontend.manipulation.views import moveaxis
from tensorframe.frontend.operands import operand, reshaped
from tensorframe.frontend.parameters import count, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axis

__all__ = ["tensorinv", "tensorsolve"]


def tensorinv(a: ArrayLike, ind: int = 2) -> Tensor:
    """The inverse with regard to `tensordot(a, b, ind)`: the first `ind` axes are rows of a matrix, the others columns.

    >>> tfr.linalg.tensorinv(tfr.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    tensor = operand(a)
    first = count("tensorinv", "ind", ind)
    if not first:
        raise ArgumentError("tensorinv: ind is at least 1")
    rows, columns = tensor.shape[:first], tensor.shape[first:]
    if prod(rows) != prod(columns):
        raise ShapeError(f"tensorinv: axes of {rows} and {columns} do not make a square matrix")
    return reshaped(inv(reshaped(tensor, (prod(rows), prod(columns)))), (*columns, *rows))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Tensor:
    """The tensor x with `tensordot(a, x, x.ndim) == b`; `axes` of `a` are moved to its end before.

    >>> tfr.linalg.tensorsolve(tfr.eye(4).reshape(2, 2, 2, 2), tfr.ones((2, 2))).shape
    (2, 2)
    """
    tensor, right = operand(a), operand(b)
    if axes is not None:
        named = [
            normalize_axis("tensorsolve", axis, tensor.ndim)
            for axis in integers("tensorsolve", "axes", axes)
        ]
        tensor = moveaxis(tensor, named, range(-len(named), 0))
    shape = tensor.shape[right.ndim :]
    if prod(shape) != right.size or tensor.size != right.size * prod(shape):
        raise ShapeError(f"tensorsolve: {tensor.shape} and {right.shape} make no square matrix")
    matrix = reshaped(tensor, (right.size, right.size))
    return reshaped(solve(matrix, reshaped(right, (right.size,))), shape)
