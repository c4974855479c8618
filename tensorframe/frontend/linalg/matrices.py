"""Functions of matrices that are made of products, views and decompositions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import int64
from tensorframe.errors import LinAlgError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.triangles import eye
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.linalg.contractions import conjugated, matmul, matrix_transpose
from tensorframe.frontend.linalg.decompositions import (
    default_rtol,
    from_lower,
    inv,
    slogdet,
    svd,
    svdvals,
)
from tensorframe.frontend.linalg.norms import Order, matrix_norm
from tensorframe.frontend.operands import (
    beside,
    converted,
    expanded,
    floating,
    operand,
    promoted,
    reshaped,
    weakly,
    widened,
)
from tensorframe.frontend.outputs import Output, delivered
from tensorframe.frontend.parameters import integer, items
from tensorframe.frontend.reductions.elementary import any as any_true
from tensorframe.frontend.tensor import Tensor
from tensorframe.ops.elementwise import (
    DIVIDE,
    EQUAL,
    GREATER,
    ISNAN,
    LOGICAL_AND,
    MULTIPLY,
    RECIPROCAL,
    WHERE,
)
from tensorframe.ops.linalg import PINV, need_matrix, need_square
from tensorframe.ops.movement import SLICE
from tensorframe.ops.reduction import ANY_TRUE, SUM

__all__ = ["cond", "matrix_power", "matrix_rank", "multi_dot", "pinv"]


def _adjoint(x: Tensor) -> Tensor:
    """Return the conjugate transpose."""
    return matrix_transpose(conjugated(x))


def _significant(values: Tensor, rtol: Any) -> Tensor:
    """Return which singular values are above `rtol` times the largest, which comes first."""
    start = (0,) * values.ndim
    sizes = values.shape[:-1] + (min(1, values.shape[-1]),)
    largest = call(SLICE, values, attrs=(start, sizes, (1,) * values.ndim))
    if not isinstance(rtol, int | float):
        rtol = beside(values, rtol)
        rtol = reshaped(rtol, (*rtol.shape, 1))
    return apply(GREATER, values, apply(MULTIPLY, largest, rtol))


def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tensor:
    """How many singular values are above `rtol` (a number, or one for each matrix) times the largest.

    The default is max(m, n) times the spacing of floating-point numbers at 1. `tol` is a bound itself, not a multiple.
    Of `hermitian` matrices only the lower triangle is read. A vector has rank 1, unless it is zero.

    >>> tfr.linalg.matrix_rank(np.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    (A,) = floating(A)
    if A.ndim < 2:
        return converted(call(ANY_TRUE, A, attrs=(tuple(range(A.ndim)), False)), int64)
    values = svdvals(from_lower("matrix_rank", A) if hermitian else A)
    if tol is not None:
        bound = operand(tol)
        above = values > (reshaped(bound, (*bound.shape, 1)) if bound.ndim else bound)
    else:
        above = _significant(values, default_rtol(A) if rtol is None else rtol)
    return call(SUM, converted(above, int64), attrs=((above.ndim - 1,), False))


def pinv(
    a: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tensor:
    """Moore-Penrose inverses: shape (..., m, n) gives (..., n, m).

    Singular values up to `rtol` (a number, or one for each matrix) times the largest count as zero. The default is
    max(m, n) times the spacing of floating-point numbers at 1. `rcond` is another name of `rtol`. Of `hermitian`
    matrices only the lower triangle is read.

    >>> tfr.linalg.pinv(np.asarray([[2.0, 0.0], [0.0, 0.0]])).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    (a,) = floating(a)
    need_matrix("pinv", a.shape)
    rtol = rcond if rtol is None else rtol
    if hermitian:
        a = from_lower("pinv", a)
    cutoff: Any = default_rtol(a) if rtol is None else rtol
    if type(cutoff) in (int, float):
        return converted(call(PINV, widened(a), attrs=(float(cutoff),)), a.dtype)
    u, s, vh = svd(a, full_matrices=False)
    kept = _significant(s, cutoff)
    inverse = apply(WHERE, kept, apply(RECIPROCAL, s), 0.0)
    inverse = reshaped(inverse, (*inverse.shape, 1))
    return matmul(_adjoint(vh), apply(MULTIPLY, inverse, _adjoint(u)))


def cond(x: ArrayLike, p: Order = None) -> Tensor:
    """Condition numbers norm(x) * norm(inv(x)): how much solving with `x` may enlarge relative errors.

    `p` is the order of the norm; None is 2, the ratio of the largest to the smallest singular value. Infinite for
    singular matrices; NaN only where an element is. LinAlgError for matrices without elements.

    >>> tfr.linalg.cond(np.asarray([[4.0, 0.0], [0.0, 2.0]])).item()
    2.0
    """
    (x,) = floating(x)
    need_matrix("cond", x.shape)
    if 0 in x.shape[-2:]:
        raise LinAlgError(f"cond: a matrix without elements has no condition, got shape {x.shape}")
    if p in (None, 2, -2):
        largest, smallest = matrix_norm(x, ord=2), matrix_norm(x, ord=-2)
        ratio = apply(DIVIDE, *((smallest, largest) if p == -2 else (largest, smallest)))
    else:
        ratio = apply(MULTIPLY, matrix_norm(x, ord=p), _norm_of_inverse(x, p))
    unknown = any_true(apply(ISNAN, x), axis=(-2, -1))
    return apply(WHERE, apply(LOGICAL_AND, apply(ISNAN, ratio), ~unknown), math.inf, ratio)


def _norm_of_inverse(x: Tensor, p: Order) -> Tensor:
    """Return norms of inverses: infinite where there is none, which `inv` would refuse."""
    need_square("cond", x.shape)
    # the sign is zero where a pivot is: unlike the determinant, it does not underflow
    singular = apply(EQUAL, slogdet(x).sign, 0)
    apart = reshaped(singular, (*singular.shape, 1, 1))
    regular = apply(WHERE, apart, eye(x.shape[-1], dtype=x.dtype, device=x.device), x)
    return apply(WHERE, singular, math.inf, matrix_norm(inv(regular), ord=p))


def matrix_power(a: ArrayLike, n: int) -> Tensor:
    """Matrices to an integer power by repeated squaring; negative powers are those of the inverse.

    >>> tfr.linalg.matrix_power(np.asarray([[1, 1], [0, 1]]), 5).numpy()
    array([[1, 5],
           [0, 1]])
    """
    n = integer("matrix_power", "n", n)
    (a,) = floating(a) if n < 0 else promoted(a)
    need_square("matrix_power", a.shape)
    if n == 0:
        return expanded(eye(a.shape[-1], dtype=a.dtype, device=a.device), a.shape)
    square = inv(a) if n < 0 else a
    result = None
    for bit in reversed(format(abs(n), "b")):
        if bit == "1":
            result = square if result is None else matmul(result, square)
        square = matmul(square, square)
    assert result is not None
    return result


def multi_dot(arrays: Sequence[Any], *, out: Output = None) -> Tensor:
    """Product of several matrices, in the order that takes the fewest multiplications.

    The first may be a row vector and the last a column vector. Source of the order: Cormen, Leiserson, Rivest and
    Stein, Introduction to Algorithms, section 15.2.

    >>> tfr.linalg.multi_dot([np.ones((9, 2)), np.ones((2, 9)), np.ones((9, 1))]).shape
    (9, 1)
    """
    tensors = weakly(items("multi_dot", "arrays", arrays))
    ends = tensors[:1] + tensors[-1:]
    is_chain = all(tensor.ndim == 2 for tensor in tensors[1:-1])
    if len(tensors) < 2 or not is_chain or any(tensor.ndim not in (1, 2) for tensor in ends):
        message = f"multi_dot: takes two matrices or more, got shapes {[t.shape for t in tensors]}"
        raise ShapeError(message, suggestions=("tfr.matmul for stacks of matrices",))
    tensors = promoted(*tensors)
    first, last = tensors[0], tensors[-1]
    sizes = [first.shape[0] if first.ndim > 1 else 1]
    sizes += [tensor.shape[0] for tensor in tensors[1:]]
    sizes += [last.shape[1] if last.ndim > 1 else 1]
    result = _product(tensors, _best_splits(sizes), 0, len(tensors) - 1)
    return delivered("multi_dot", result, out)


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Return, for each run of matrices i to j, the matrix after which to split it."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            costs[i, j], splits[i, j] = min(options)
    return splits


def _product(tensors: list[Tensor], splits: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return tensors[i]
    split = splits[i, j]
    return matmul(_product(tensors, splits, i, split), _product(tensors, splits, split + 1, j))
