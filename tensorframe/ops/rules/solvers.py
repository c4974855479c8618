"""Gradients of inverses, solutions, determinants, pseudo-inverses and least squares.

Sources: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
2008; G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate", SIAM Journal on Numerical Analysis 10 (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import COMPLEX
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.rules.matrices import (
    Parts,
    adjoint,
    column_of,
    each,
    grid,
    reduced_svd,
    row_of,
    solved,
)
from tensorframe.ops.term import Term, call, equal, imag, matmul, where


def of_inv(ct: Term, out: Term, _x: Term) -> Sequence[Any]:
    """Rule of inverses: -A^-H ct A^-H."""

    def cotangent() -> Term:
        inverse = adjoint(out)
        return -matmul(matmul(inverse, ct), inverse)

    return (cotangent,)


def of_solve(ct: Term, out: Term, matrix: Term, right: Term) -> Sequence[Any]:
    """Rule of solutions X of A X = B: A^-H ct for B, and minus that times X^H for A."""
    is_vector = len(right.shape) == 1
    columns = solved(adjoint(matrix), column_of(ct) if is_vector else ct)
    of_right = columns.reshaped(columns.shape[:-1]) if is_vector else columns
    return (
        lambda: -matmul(columns, adjoint(column_of(out) if is_vector else out)),
        lambda: of_right,
    )


def of_det(ct: Term, out: Term, x: Term) -> Sequence[Any]:
    """Rule of determinants: ct times the conjugate of det(A) A^-T, and of the cofactors where a matrix is singular."""

    def cotangent() -> Term:
        size = x.shape[-1]
        if not size:
            return each(ct) * x
        slogdet = call("slogdet", x, attrs=())
        singular = each(equal(slogdet.part(0, x.shape[:-2], x.dtype), 0))
        row, column = grid(x, size, size)
        apart = where(equal(row, column), (row + 1).cast(x.dtype), 0)
        regular = where(singular, apart, x)
        inverse = call("inv", regular, attrs=())
        # matrices that are not singular have known singular values here, whose derivatives are finite
        cofactors = _cofactors(where(singular, x, apart))
        regular_ones = each(conjugate(out)) * adjoint(inverse)
        return each(ct) * where(singular, cofactors, regular_ones)

    return (cotangent,)


def _cofactors(x: Term) -> Term:
    """Return conjugated cofactors from singular values: conj(det(U V^H)) U diag(products of all but one) V^H."""
    size = x.shape[-1]
    left, values, right = reduced_svd(x)
    row, column = grid(x, size, size)
    others = where(equal(row, column), 1, row_of(values)).expanded((*values.shape, size))
    products = call("prod", others, attrs=((len(others.shape) - 1,), False))
    turn = call("det", left, attrs=()) * call("det", right, attrs=())
    return each(conjugate(turn)) * matmul(left * row_of(products), right)


def of_slogdet(ct: Parts, out: Term, x: Term) -> Sequence[Any]:
    """Rule of signs and logarithms of magnitudes: A^-H times the cotangent; a complex sign turns as well."""
    of_sign, of_logarithm = ct

    def cotangent() -> Term:
        inverse = adjoint(call("inv", x, attrs=()))
        factor = of_logarithm
        if x.dtype in COMPLEX and of_sign is not None:
            sign = out.part(0, x.shape[:-2], x.dtype)
            turn = imag(conjugate(of_sign) * sign).cast(x.dtype) * -1j
            factor = turn if factor is None else turn + factor
        if factor is None:  # real signs are constant
            return inverse * 0
        return each(factor) * inverse

    return (cotangent,)


def of_pinv(ct: Term, out: Term, x: Term, _rtol: float) -> Sequence[Any]:
    """Rule of pseudo-inverses P of matrices A whose rank does not change, after Golub and Pereyra."""
    return (lambda: _of_pinv(ct, out, x),)


def _of_pinv(ct: Term, out: Term, x: Term) -> Term:
    """Return -P^H ct P^H + (I - A P) ct^H P P^H + P^H P ct^H (I - P A)."""
    dual, given = adjoint(out), adjoint(ct)
    left = matmul(given, matmul(out, dual))
    right = matmul(matmul(dual, out), given)
    left = left - matmul(x, matmul(out, left))
    right = right - matmul(matmul(right, out), x)
    return left + right - matmul(matmul(dual, ct), dual)


def of_lstsq(ct: Parts, out: Term, matrix: Term, right: Term, rcond: float) -> Sequence[Any]:
    """Rule of least squares: the solution is the pseudo-inverse times b, residuals are those of its columns."""
    of_solution, of_residuals, _, of_values = ct
    columns = right if len(right.shape) == 2 else column_of(right)
    size = matrix.shape[1]
    inverse = call("pinv", matrix, attrs=(rcond,))
    given = None
    if of_solution is not None:
        given = of_solution.reshaped((size, columns.shape[1]))
    residuals = None
    solution = out.part(0, (size, *right.shape[1:]), right.dtype).reshaped((size, columns.shape[1]))
    if of_residuals is not None and of_residuals.shape != (0,):
        residuals = (columns - matmul(matrix, solution)) * row_of(of_residuals) * 2

    def of_matrix() -> Term:
        terms = []
        if given is not None:
            terms.append(_of_pinv(matmul(given, adjoint(columns)), inverse, matrix))
        if residuals is not None:
            terms.append(-matmul(residuals, adjoint(solution)))
        if of_values is not None:
            left, _, vh = reduced_svd(matrix)
            terms.append(matmul(left * row_of(of_values), vh))
        return sum(terms[1:], terms[0]) if terms else matrix * 0

    def of_right() -> Term:
        terms = [] if residuals is None else [residuals]
        if given is not None:
            terms.append(matmul(adjoint(inverse), given))
        return sum(terms[1:], terms[0]).reshaped(right.shape) if terms else right * 0

    return of_matrix, of_right
