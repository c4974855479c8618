"""Gradients of decompositions.

Sources:

- M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008:
  eigenvalues and singular values
- I. Murray, "Differentiation of the Cholesky decomposition", arXiv 1602.07527
- S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
  experimental design", arXiv 1001.1654; D. A. O. Roberts and L. R. Roberts, "QR and LQ decomposition matrix
  backpropagation algorithms for square, wide, and deep matrices", arXiv 2009.10071: orthonormal and triangular factors
- C. Boeddeker, P. Hanebrink, L. Drude, J. Heymann and R. Haeb-Umbach, "On the computation of complex-valued gradients
  with application to statistically optimum beamforming", arXiv 1701.00392: eigenvectors of general matrices
- J. Townsend, "Differentiating the singular value decomposition", 2016; Z.-Q. Wan and S.-X. Zhang, "Automatic
  differentiation for complex valued SVD", arXiv 1909.02659

Equal eigenvalues, or singular values, have no vectors of their own: where a result depends on vectors, its gradient is
infinite or NaN there by nature, and finite where it depends on values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import COMPLEX, real_of
from tensorframe.errors import GradientError
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.rules.matrices import (
    Parts,
    adjoint,
    column_of,
    diagonal,
    diagonal_of,
    divided,
    factors_of,
    gaps,
    hermitian,
    lower_half,
    reduced_svd,
    row_of,
    skew,
    solved,
)
from tensorframe.ops.term import Term, call, matmul, real
from tensorframe.site import describe

# --- triangular and orthonormal factors


def of_cholesky(ct: Term, out: Term, _x: Term, upper: bool) -> Sequence[Any]:
    """Rule of Cholesky factors: L^-H (Phi + Phi^H) L^-1 / 2 with Phi of L^H ct; for Hermitian matrices, Hermitian."""

    def cotangent() -> Term:
        factor, given = (adjoint(out), adjoint(ct)) if upper else (out, ct)
        middle = hermitian(lower_half(matmul(adjoint(factor), given)))
        return divided(solved(adjoint(factor), middle), factor)

    return (cotangent,)


def of_qr(ct: Parts, out: Term, x: Term, mode: str) -> Sequence[Any]:
    """Rule of orthonormal columns and triangles; wide matrices are a square one and columns that follow from it."""
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        raise GradientError(
            f'qr: mode="complete" has no gradient for matrices of shape ({rows}, {columns}): '
            "the last columns of Q are any that complete a basis",
            suggestions=('mode="reduced"',),
            location=describe(out.node.site),
        )

    def cotangent() -> Term:
        size = min(rows, columns)
        q = out.part(0, (*x.shape[:-1], size), x.dtype)
        r = out.part(1, (*x.shape[:-2], size, columns), x.dtype)
        of_q, of_r = ct
        if rows >= columns:
            return _of_tall(of_q, of_r, q, r)
        square, beside = _split(r, rows)
        first, rest = (None, None) if of_r is None else _split(of_r, rows)
        if rest is None:
            return _beside(_of_tall(of_q, first, q, square), q.filled(0, beside.shape))
        through = matmul(_split(x, rows)[1], adjoint(rest))
        of_q = through if of_q is None else of_q + through
        return _beside(_of_tall(of_q, first, q, square), matmul(q, rest))

    return (cotangent,)


def _of_tall(of_q: Term | None, of_r: Term | None, q: Term, r: Term) -> Term:
    """Return (Q' + Q copyltu(M)) R^-H with M = R R'^H - Q'^H Q, whose lower triangle is copied to the upper one."""
    terms = []
    if of_r is not None:
        terms.append(matmul(r, adjoint(of_r)))
    if of_q is not None:
        terms.append(-matmul(adjoint(of_q), q))
    lower = lower_half(sum(terms[1:], terms[0]))
    inner = matmul(q, lower + adjoint(lower))
    return divided(inner if of_q is None else of_q + inner, adjoint(r))


def _split(x: Term, columns: int) -> tuple[Term, Term]:
    """Return the first columns of matrices, and the others."""
    *stack, rows, count = x.shape
    start, steps = (0,) * len(x.shape), (1,) * len(x.shape)
    return (
        x.sliced(start, (*stack, rows, columns), steps),
        x.sliced((*start[:-1], columns), (*stack, rows, count - columns), steps),
    )


def _beside(left: Term, right: Term) -> Term:
    return call("concat", left, right, attrs=(len(left.shape) - 1,))


# --- eigenvalues


def of_eigh(ct: Parts, out: Term, x: Term) -> Sequence[Any]:
    """Rule of eigenvalues and eigenvectors: V (diag(l') + (V^H V') / (l_j - l_i)) V^H, made Hermitian."""
    of_values, of_vectors = ct

    def cotangent() -> Term:
        vectors = out.part(1, x.shape, x.dtype)
        inner = None if of_values is None else diagonal(of_values)
        if of_vectors is not None:
            values = out.part(0, x.shape[:-1], real_of(x.dtype))
            turn = matmul(adjoint(vectors), of_vectors) * gaps(values)
            inner = turn if inner is None else turn + inner
        assert inner is not None
        return hermitian(matmul(matmul(vectors, inner.cast(x.dtype)), adjoint(vectors)))

    return (cotangent,)


def of_eigvalsh(ct: Term, _out: Term, x: Term) -> Sequence[Any]:
    """Rule of eigenvalues of symmetric or Hermitian matrices: V diag(ct) V^H."""

    def cotangent() -> Term:
        vectors = call("eigh", x, attrs=()).part(1, x.shape, x.dtype)
        return matmul(vectors * row_of(ct), adjoint(vectors))

    return (cotangent,)


def of_eig(ct: Parts, out: Term, x: Term) -> Sequence[Any]:
    """Rule of eigenvalues and eigenvectors of norm 1: V^-H (diag(l') + (...) / conj(l_j - l_i)) V^H.

    The phase of an eigenvector is any: what depends on it has no gradient, and is taken as if it did not.
    """
    of_values, of_vectors = ct

    def cotangent() -> Term:
        vectors = out.part(1, x.shape, out.dtype)
        dual = adjoint(vectors)
        inner = None if of_values is None else diagonal(of_values)
        if of_vectors is not None:
            values = out.part(0, x.shape[:-1], out.dtype)
            turn = matmul(dual, of_vectors)
            lengths = matmul(dual, vectors) * row_of(real(diagonal_of(turn)))
            turn = (turn - lengths) * conjugate(gaps(values))
            inner = turn if inner is None else turn + inner
        assert inner is not None
        return matmul(solved(dual, inner), dual)

    return (cotangent,)


def of_eigvals(ct: Term, out: Term, x: Term) -> Sequence[Any]:
    """Rule of eigenvalues of general matrices: V^-H diag(ct) V^H."""

    def cotangent() -> Term:
        vectors = call("eig", x, attrs=()).part(1, x.shape, out.dtype)
        dual = adjoint(vectors)
        return matmul(solved(dual, diagonal(ct)), dual)

    return (cotangent,)


# --- singular values


def of_svd(ct: Parts, out: Term, x: Term, full_matrices: bool) -> Sequence[Any]:
    """Rule of singular vectors and values, as Townsend has it, and for complex ones Wan and Zhang."""
    of_left, _, of_right = ct
    rows, columns = x.shape[-2:]
    wide = (of_left is not None and rows > columns) or (of_right is not None and columns > rows)
    if full_matrices and wide:
        raise GradientError(
            f"svd: full_matrices=True has no gradient for matrices of shape ({rows}, {columns}): "
            "the last singular vectors are any that complete a basis",
            suggestions=("full_matrices=False",),
            location=describe(out.node.site),
        )

    def cotangent() -> Term:
        factors = reduced_svd(x) if full_matrices and rows != columns else factors_of(out, x)
        left, values, right = factors
        inner = _between(ct, factors)
        total = matmul(matmul(left, inner), right)
        if of_left is not None and rows > columns:
            rest = of_left / row_of(values)
            total = total + matmul(rest - matmul(left, matmul(adjoint(left), rest)), right)
        if of_right is not None and columns > rows:
            rest = of_right / column_of(values)
            total = total + matmul(left, rest - matmul(matmul(rest, adjoint(right)), right))
        return total

    return (cotangent,)


def _between(ct: Parts, factors: tuple[Term, Term, Term]) -> Term:
    """Return what stands between U and V^H: S and the turns of both."""
    of_left, of_values, of_right = ct
    left, values, right = factors
    apart = gaps(values * values)
    terms = [] if of_values is None else [diagonal(of_values)]
    if of_left is not None:
        turn = skew(matmul(adjoint(left), of_left))
        terms.append(turn * apart * row_of(values))
        if turn.dtype in COMPLEX:  # V keeps its phases, so that U and V of two calls agree
            terms.append(diagonal(diagonal_of(turn) / (values * 2)))
    if of_right is not None:
        turn = skew(matmul(right, adjoint(of_right)))
        terms.append(column_of(values) * turn * apart)
    return sum(terms[1:], terms[0]).cast(left.dtype)


def of_svdvals(ct: Term, _out: Term, x: Term) -> Sequence[Any]:
    """Rule of singular values: U diag(ct) V^H."""

    def cotangent() -> Term:
        left, _, right = reduced_svd(x)
        return matmul(left * row_of(ct), right)

    return (cotangent,)
