"""Linear algebra: decompositions and solvers, as opaque calls on stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import FLOATING, NARROW, DType
from tensorframe.errors import ShapeError
from tensorframe.graph.op import DTypeRule, Kind, Op, ShapeRule, real_part, register, same
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.rules import decompositions, solvers
from tensorframe.ops.rules.matrices import adjoint, column_of, reduced_svd
from tensorframe.ops.term import Term, matmul, reciprocal, where


def library(name: str, shape: ShapeRule, result: DTypeRule, doc: str, *attributes: str, **facts: Any) -> Op:
    """Define a row on matrices in the last two axes; of several results it describes the first."""
    facts.setdefault("arity", 1)
    # a decomposition takes of the order of n^2 operations for each of its n columns
    facts.setdefault("cost", 100.0)
    return register(
        Op(name, Kind.LIBRARY, facts.pop("arity"), FLOATING, result, doc, shape=shape, attributes=attributes, costly=True, **facts)
    )


def complexified(dtype: DType, *_: Any) -> DType:
    """Result dtype rule: the complex dtype of the operands' precision."""
    return dtypes.complex_of(dtype)


def need_matrix(name: str, shape: Shape) -> None:
    """Raise ShapeError unless the shape has rows and columns."""
    if len(shape) < 2:
        raise ShapeError(f"{name}: takes a matrix or a stack of matrices, got shape {shape}")


def need_square(name: str, shape: Shape) -> None:
    """Raise ShapeError unless the last two axes are of one size."""
    need_matrix(name, shape)
    if shape[-1] != shape[-2]:
        hint = "pinv, lstsq, svd and qr take matrices of any shape"
        raise ShapeError(f"{name}: takes square matrices, got shape {shape}", suggestions=(hint,))


def _square(name: str, drop: int) -> Callable[..., Shape]:
    """Return the rule for square matrices whose result lacks the last `drop` axes."""

    def rule(shapes: tuple[Shape, ...], *_: Any) -> Shape:
        need_square(name, shapes[0])
        return shapes[0][: len(shapes[0]) - drop]

    return rule


def _solve(shapes: tuple[Shape, ...]) -> Shape:
    matrix, right = shapes
    need_square("solve", matrix)
    rows = right[0] if len(right) == 1 else right[-2] if right else None
    if rows != matrix[-1]:
        message = f"solve: {matrix[-1]} equations of shape {matrix} do not fit right-hand sides of shape {right}"
        hint = "right-hand sides are a vector (n,) or the columns of (..., n, k): b[..., None] makes a column"
        raise ShapeError(message, suggestions=(hint,))
    if len(right) == 1:
        return matrix[:-1]
    return broadcast("solve", matrix[:-2], right[:-2]) + right[-2:]


def _qr(shapes: tuple[Shape, ...], mode: str) -> Shape:
    need_matrix("qr", shapes[0])
    *stack, rows, columns = shapes[0]
    return (*stack, rows, rows if mode == "complete" else min(rows, columns))


def _svd(shapes: tuple[Shape, ...], full_matrices: bool) -> Shape:
    need_matrix("svd", shapes[0])
    *stack, rows, columns = shapes[0]
    return (*stack, rows, rows if full_matrices else min(rows, columns))


def _svdvals(shapes: tuple[Shape, ...]) -> Shape:
    need_matrix("svdvals", shapes[0])
    return shapes[0][:-2] + (min(shapes[0][-2:]),)


def _lstsq(shapes: tuple[Shape, ...], _rcond: float) -> Shape:
    matrix, right = shapes
    if len(matrix) != 2 or len(right) not in (1, 2) or right[0] != matrix[0]:
        raise ShapeError(f"lstsq: {matrix} equations do not fit right-hand sides of shape {right}")
    return matrix[1:] + right[1:]


Shapes = tuple[Shape, ...]
Results = tuple[tuple[Shape, DType], ...]


def _slogdet_results(shapes: Shapes, dtype: DType) -> Results:
    stack = shapes[0][:-2]
    return (stack, dtype), (stack, dtypes.real_of(dtype))


def _lstsq_results(shapes: Shapes, dtype: DType, rcond: float) -> Results:
    rows, columns = shapes[0]
    residuals = (shapes[1][1:] or (1,)) if rows > columns else (0,)
    real = dtypes.real_of(dtype)
    return (_lstsq(shapes, rcond), dtype), (residuals, real), ((), dtypes.int64), ((min(rows, columns),), real)


def _eig_results(shapes: Shapes, dtype: DType) -> Results:
    result = dtypes.complex_of(dtype)
    return (shapes[0][:-1], result), (shapes[0], result)


def _eigh_results(shapes: Shapes, dtype: DType) -> Results:
    return (shapes[0][:-1], dtypes.real_of(dtype)), (shapes[0], dtype)


def _qr_results(shapes: Shapes, dtype: DType, mode: str) -> Results:
    left = _qr(shapes, mode)
    return (left, dtype), ((*left[:-2], left[-1], shapes[0][-1]), dtype)


def _svd_results(shapes: Shapes, dtype: DType, full_matrices: bool) -> Results:
    *stack, rows, columns = shapes[0]
    least = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (least, least)
    return ((*stack, rows, left), dtype), ((*stack, least), dtypes.real_of(dtype)), ((*stack, right, columns), dtype)


CHOLESKY = library("cholesky", _square("cholesky", 0), same, "Triangular factor of positive definite matrices.", "upper", vjp=decompositions.of_cholesky)
DET = library("det", _square("det", 2), same, "Determinants.", vjp=solvers.of_det)
SLOGDET = library("slogdet", _square("slogdet", 2), same, "Signs of determinants, and logarithms of their magnitudes.", parts=2, results=_slogdet_results, vjp=solvers.of_slogdet)
INV = library("inv", _square("inv", 0), same, "Inverse matrices.", vjp=solvers.of_inv)
SOLVE = library("solve", _solve, same, "Solutions of square systems of linear equations.", arity=2, vjp=solvers.of_solve)
LSTSQ = library("lstsq", _lstsq, same, "Solutions of least squares problems, with residuals, rank and singular values.", "rcond", arity=2, parts=4, results=_lstsq_results, in_standard=False, vjp=solvers.of_lstsq)
EIG = library("eig", _square("eig", 1), complexified, "Eigenvalues and eigenvectors of general matrices.", parts=2, results=_eig_results, vjp=decompositions.of_eig)
EIGVALS = library("eigvals", _square("eigvals", 1), complexified, "Eigenvalues of general matrices.", vjp=decompositions.of_eigvals)
EIGH = library("eigh", _square("eigh", 1), real_part, "Eigenvalues and eigenvectors of symmetric or Hermitian matrices.", parts=2, results=_eigh_results, vjp=decompositions.of_eigh)
EIGVALSH = library("eigvalsh", _square("eigvalsh", 1), real_part, "Eigenvalues of symmetric or Hermitian matrices.", vjp=decompositions.of_eigvalsh)
QR = library("qr", _qr, same, "Orthonormal columns and the upper triangle that combines them.", "mode", parts=2, results=_qr_results, vjp=decompositions.of_qr)
SVD = library("svd", _svd, same, "Singular vectors and singular values.", "full_matrices", parts=3, results=_svd_results, vjp=decompositions.of_svd)
SVDVALS = library("svdvals", _svdvals, real_part, "Singular values.", vjp=decompositions.of_svdvals)


def _pinv(shapes: tuple[Shape, ...], _rtol: float) -> Shape:
    need_matrix("pinv", shapes[0])
    *stack, rows, columns = shapes[0]
    return (*stack, columns, rows)


def _pseudo_inverse(x: Term, rtol: float) -> Term:
    """Return V diag(1 / s) U^H without the singular values up to `rtol` times the largest."""
    left, values, right = reduced_svd(x)
    start, sizes = (0,) * len(values.shape), (*values.shape[:-1], min(1, values.shape[-1]))
    largest = values.sliced(start, sizes, (1,) * len(sizes))
    inverse = where(values > largest * rtol, reciprocal(values), 0.0)
    return matmul(adjoint(right), column_of(inverse) * adjoint(left))


# A formula with a rule of its own: that of its expansion would divide by differences of singular values.
PINV = register(
    Op("pinv", Kind.FORMULA, 1, FLOATING - NARROW, same, "Moore-Penrose inverses.", shape=_pinv, attributes=("rtol",), expand=_pseudo_inverse, costly=True, vjp=solvers.of_pinv)
)
