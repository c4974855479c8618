"""Decompositions and solvers: each one library call on stacks of matrices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.triangles import tril
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.linalg.contractions import conjugated, matrix_transpose
from tensorframe.frontend.operands import floating, widened
from tensorframe.frontend.parameters import choice, flag, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.ops import linalg as rows
from tensorframe.ops.movement import PART
from tensorframe.quick_tuples import NamedTuple

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
]


Triangle = Literal["L", "U"]


class EigResult(NamedTuple):
    """What `eig` gives: the columns of `eigenvectors` belong to `eigenvalues`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` gives: the columns of `eigenvectors` belong to `eigenvalues`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class LstsqResult(NamedTuple):
    """What `lstsq` gives."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class QRResult(NamedTuple):
    """What `qr` gives: x is Q @ R."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` gives: the determinant is sign * exp(logabsdet)."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives: x is U @ diag(S) @ Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _parts(op: Op, *inputs: Tensor, attrs: tuple[Any, ...] = ()) -> list[Tensor]:
    """Return the tensors of a call with several results."""
    whole = call(op, *inputs, attrs=attrs)
    shapes = tuple([tensor.shape for tensor in inputs])
    results = op.results(shapes, inputs[0].dtype, *attrs) if op.results else ()
    return [call(PART, whole, attrs=(index, *result)) for index, result in enumerate(results)]


def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Tensor:
    """Triangular factor L with x = L @ L^H, or U with x = U^H @ U if `upper`, of positive definite matrices.

    Only that triangle of `x` is read. LinAlgError when it runs, if a matrix is not positive definite.

    >>> tfr.linalg.cholesky(np.asarray([[4.0, 2.0], [2.0, 5.0]])).numpy()
    array([[2., 0.],
           [1., 2.]])
    """
    (x,) = floating(x)
    return call(rows.CHOLESKY, x, attrs=(flag("cholesky", "upper", upper),))


def det(a: ArrayLike) -> Tensor:
    """Determinants; `slogdet` does not overflow.

    For matrices of shape (..., n, n): the product of the pivots of their LU factorisation, of shape
    (...).

    >>> round(tfr.linalg.det(np.asarray([[1.0, 2.0], [3.0, 4.0]])).item(), 6)
    -2.0
    """
    (a,) = floating(a)
    return call(rows.DET, a)


def slogdet(a: ArrayLike) -> SlogdetResult:
    """Signs of determinants and natural logarithms of their magnitudes: 0 and -inf for a singular matrix.

    >>> tfr.linalg.slogdet(np.asarray([[0.0, 1.0], [1.0, 0.0]])).sign.item()
    -1.0
    """
    (a,) = floating(a)
    return SlogdetResult(*_parts(rows.SLOGDET, a))


def inv(a: ArrayLike) -> Tensor:
    """Inverse matrices; `solve(a, b)` is faster and more accurate than `inv(a) @ b`.

    LinAlgError when it runs, if a matrix is singular.

    >>> tfr.linalg.inv(np.asarray([[2.0, 0.0], [0.0, 4.0]])).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    (a,) = floating(a)
    return call(rows.INV, a)


def solve(a: ArrayLike, b: ArrayLike) -> Tensor:
    """Solutions X of x1 @ X = x2 for square matrices.

    `b` is one vector (n,) for the whole stack, or has the right-hand sides as columns (..., n, k), where the axes
    before the last two broadcast with those of `a`. LinAlgError when it runs, if a matrix is singular.

    >>> tfr.linalg.solve(np.asarray([[2.0, 0.0], [0.0, 4.0]]), np.asarray([2.0, 2.0])).numpy()
    array([1. , 0.5])
    """
    matrix, right = floating(a, b)
    return call(rows.SOLVE, matrix, right)


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> LstsqResult:
    """Least squares: the x that makes the norm of b - a @ x smallest, and of those the smallest x.

    `a` is one matrix (m, n), `b` a vector (m,) or columns (m, k). Singular values up to `rcond` times the largest
    count as zero; the default is max(m, n) times the spacing of floating-point numbers at 1. `residuals` are the
    squared norms for each column, none if m <= n.

    >>> tfr.linalg.lstsq(np.asarray([[1.0], [1.0]]), np.asarray([1.0, 3.0])).solution.numpy()
    array([2.])
    """
    matrix, right = floating(a, b)
    rows.need_matrix("lstsq", matrix.shape)
    cutoff = default_rtol(matrix) if rcond is None else number("lstsq", "rcond", rcond)
    return LstsqResult(*_parts(rows.LSTSQ, matrix, right, attrs=(cutoff,)))


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and right eigenvectors of general matrices, always complex; in no particular order.

    >>> tfr.linalg.eig(np.asarray([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.numpy()
    array([0.+1.j, 0.-1.j])
    """
    (a,) = floating(a)
    return EigResult(*_parts(rows.EIG, a))


def eigvals(a: ArrayLike) -> Tensor:
    """Eigenvalues of general matrices, always complex; in no particular order.

    For matrices of shape (..., n, n) the result has shape (..., n). Computed by LAPACK on the
    processor.

    >>> tfr.linalg.eigvals(np.asarray([[2.0, 0.0], [0.0, 3.0]])).numpy()
    array([2.+0.j, 3.+0.j])
    """
    (a,) = floating(a)
    return call(rows.EIGVALS, a)


def eigh(a: ArrayLike, UPLO: Triangle = "L") -> EighResult:
    """Eigenvalues, in ascending order, and orthonormal eigenvectors of symmetric or Hermitian matrices.

    Only the lower triangle is read, with `UPLO="U"` only the upper one.

    >>> tfr.linalg.eigh(np.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.numpy()
    array([1., 2.])
    """
    return EighResult(*_parts(rows.EIGH, _with_lower("eigh", a, UPLO)))


def eigvalsh(a: ArrayLike, UPLO: Triangle = "L") -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices, in ascending order.

    Only the lower triangle is read, with `UPLO="U"` only the upper one.

    >>> tfr.linalg.eigvalsh(np.asarray([[0.0, 1.0], [1.0, 0.0]])).numpy()
    array([-1.,  1.])
    """
    return call(rows.EIGVALSH, _with_lower("eigvalsh", a, UPLO))


def _with_lower(name: str, a: Any, triangle: Any) -> Tensor:
    """Return matrices whose lower triangle is the one that a user names, which libraries read."""
    if isinstance(triangle, str) and triangle.upper() in ("L", "U"):
        triangle = triangle.upper()
    choice(name, "UPLO", triangle, ("L", "U"))
    (tensor,) = floating(a)
    return tensor if triangle == "L" else conjugated(matrix_transpose(tensor))


def qr(a: ArrayLike, mode: Literal["reduced", "complete", "r", "raw"] = "reduced") -> Any:
    """Orthonormal columns Q and upper triangles R with x = Q @ R.

    For (m, n) and k = min(m, n), `"reduced"` gives shapes (m, k) and (k, n), `"complete"` (m, m) and (m, n),
    `"r"` R alone, and `"raw"`, computed by NumPy at once, LAPACK's Householder vectors and their scales.

    >>> tfr.linalg.qr(np.zeros((4, 2)), mode="complete").Q.shape
    (4, 4)
    """
    choice("qr", "mode", mode, ("reduced", "complete", "r", "raw"))
    if mode == "r":
        return qr(a).R
    (a,) = floating(a)
    if mode == "raw":
        from tensorframe.frontend.protocols.ufuncs import through_numpy  # for few calls

        return through_numpy(np.linalg.qr, (widened(a), "raw"), {})
    return QRResult(*_parts(rows.QR, a, attrs=(mode,)))


def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular vectors and singular values, largest first: x = (U * S) @ Vh for `full_matrices=False`.

    For (m, n) and k = min(m, n), S has k elements; U and Vh are (m, m) and (n, n), or (m, k) and (k, n).
    Without `compute_uv`, S alone. Of `hermitian` matrices only the lower triangle is read.

    >>> tfr.linalg.svd(np.asarray([[3.0, 0.0], [0.0, 4.0]])).S.numpy()
    array([4., 3.])
    """
    (a,) = floating(a)
    rows.need_matrix("svd", a.shape)
    if hermitian:
        a = from_lower("svd", a)
    if not compute_uv:
        return svdvals(a)
    return SVDResult(*_parts(rows.SVD, a, attrs=(bool(full_matrices),)))


def from_lower(name: str, a: Tensor) -> Tensor:
    """Return Hermitian matrices by their lower triangles."""
    rows.need_square(name, a.shape)
    return tril(a) + conjugated(matrix_transpose(tril(a, -1)))


def svdvals(x: ArrayLike, /) -> Tensor:
    """Singular values, largest first.

    For matrices of shape (..., m, n): min(m, n) of them each, which are real and not negative.

    >>> tfr.linalg.svdvals(np.asarray([[0.0, 2.0]])).numpy()
    array([2.])
    """
    (x,) = floating(x)
    return call(rows.SVDVALS, x)


def default_rtol(x: Tensor) -> float:
    """Return the spacing of floating-point numbers at 1, times the larger size of the matrices."""
    from tensorframe.frontend.dtypes.machine_limits import finfo  # for few calls

    return max(x.shape[-2:]) * finfo(x.dtype).eps
