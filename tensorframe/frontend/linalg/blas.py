"""Products scaled and added to something in one step, under the names of BLAS: gemm for matrices, gemv for a vector."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import NUMERIC
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import need_axes, permuted, promoted
from tensorframe.frontend.parameters import flag, is_number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import broadcast
from tensorframe.ops.contraction import MATMUL
from tensorframe.ops.elementwise import ADD, MULTIPLY

__all__ = ["gemm", "gemv"]


def gemm(
    alpha: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    beta: ArrayLike = 0.0,
    c: ArrayLike | None = None,
    trans_a: bool = False,
    trans_b: bool = False,
) -> Tensor:
    """`alpha * a @ b + beta * c` in one step: scaling and sum are the epilogue of the matmul.

    `a` is (..., n, k), or (..., k, n) with `trans_a`; `b` is (..., k, m), or (..., m, k) with `trans_b`; `c` is
    (..., n, m) or broadcasts to it. `alpha` and `beta` are numbers or 0-d tensors. Numeric dtypes, which promote. Where
    `beta` is the number 0, `c` is not read.

    >>> a, b = tfr.asarray([[1.0, 2.0]]), tfr.asarray([[3.0], [4.0]])
    >>> tfr.linalg.gemm(2.0, a, b, 0.5, tfr.asarray([[10.0]])).tolist()
    [[27.0]]
    """
    left, right = _operands("gemm", a, b)
    need_axes("gemm", left, 2)
    need_axes("gemm", right, 2)
    left = _transposed(left) if flag("gemm", "trans_a", trans_a) else left
    right = _transposed(right) if flag("gemm", "trans_b", trans_b) else right
    _need_equal("gemm", left, right, right.shape[-2])
    return _scaled("gemm", alpha, call(MATMUL, left, right), beta, c, "c")


def gemv(
    alpha: ArrayLike,
    a: ArrayLike,
    x: ArrayLike,
    beta: ArrayLike = 0.0,
    y: ArrayLike | None = None,
    trans: bool = False,
) -> Tensor:
    """`alpha * a @ x + beta * y` in one step, of a matrix and a vector.

    `a` is (n, k), or (k, n) with `trans`, or a stack of these; `x` is (k,), `y` (n,) or broadcasts to the result.
    Everything else as for `gemm`.

    >>> tfr.linalg.gemv(2.0, tfr.asarray([[1.0, 2.0]]), tfr.asarray([3.0, 4.0]), -1.0, tfr.asarray([2.0])).tolist()
    [20.0]
    """
    matrix, vector = _operands("gemv", a, x)
    need_axes("gemv", matrix, 2)
    if vector.ndim != 1:
        raise ShapeError(
            f"gemv: x is a vector, got shape {vector.shape}", suggestions=("tfr.linalg.gemm",)
        )
    matrix = _transposed(matrix) if flag("gemv", "trans", trans) else matrix
    _need_equal("gemv", matrix, vector, vector.shape[0])
    return _scaled("gemv", alpha, call(MATMUL, matrix, vector), beta, y, "y")


def _operands(name: str, a: Any, b: Any) -> tuple[Tensor, Tensor]:
    left, right = promoted(a, b)
    if left.dtype not in NUMERIC:
        raise DTypeError(f"{name}: takes numbers, got {left.dtype}")
    return left, right


def _transposed(matrix: Tensor) -> Tensor:
    rank = matrix.ndim
    return permuted(matrix, (*range(rank - 2), rank - 1, rank - 2))


def _need_equal(name: str, left: Tensor, right: Tensor, size: int) -> None:
    """Raise ShapeError unless sizes that are summed over are equal."""
    if left.shape[-1] != size:
        raise ShapeError(
            f"{name}: sums over {left.shape[-1]} columns and {size} rows, of shapes {left.shape} and {right.shape}"
        )


def _scaled(
    name: str, alpha: Any, product: Tensor, beta: Any, addend: Any, argument: str
) -> Tensor:
    """Return alpha times a product, plus beta times what is added to it, if that is there and counts."""
    _need_scalar(name, "alpha", alpha)
    _need_scalar(name, "beta", beta)
    result = product if _is(alpha, 1) else apply(MULTIPLY, product, alpha)
    if addend is None or _is(beta, 0):
        return result
    _, added = promoted(product, addend)
    if broadcast(name, product.shape, added.shape) != product.shape:
        raise ShapeError(
            f"{name}: {argument} of shape {added.shape} is larger than the product of shape {product.shape}"
        )
    return apply(ADD, result, added if _is(beta, 1) else apply(MULTIPLY, added, beta))


def _need_scalar(name: str, parameter: str, value: Any) -> None:
    if not is_number(value) and not (isinstance(value, Tensor) and value.ndim == 0):
        raise DTypeError(
            f"{name}: {parameter} is a number or a 0-d tensor, got {type(value).__name__}"
        )


def _is(value: Any, number: int) -> bool:
    return type(value) in (int, float) and value == number
