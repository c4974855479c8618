"""Matrices in the last two axes of terms: what rules of solvers and decompositions are made of."""

from __future__ import annotations

from tensorframe.dtypes import real_of
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.term import Term, arange, call, equal, where

Parts = tuple[Term | None, ...]


def adjoint(x: Term) -> Term:
    """Return the conjugate transpose."""
    return conjugate(transposed(x))


def transposed(x: Term) -> Term:
    count = len(x.shape)
    return x.permuted((*range(count - 2), count - 1, count - 2))


def column_of(x: Term) -> Term:
    return x.reshaped((*x.shape, 1))


def row_of(x: Term) -> Term:
    return x.reshaped((*x.shape[:-1], 1, x.shape[-1]))


def each(x: Term) -> Term:
    """Return one number for each matrix of a stack as matrices of one element."""
    return x.reshaped((*x.shape, 1, 1))


def grid(like: Term, rows: int, columns: int) -> tuple[Term, Term]:
    """Return the numbers of rows, and of columns, of a matrix."""
    return arange(like, rows).reshaped((rows, 1)), arange(like, columns).reshaped((1, columns))


def diagonal(values: Term) -> Term:
    """Return matrices with these numbers on their diagonals."""
    size = values.shape[-1]
    return where(equal(*grid(values, size, size)), row_of(values), 0)


def diagonal_of(x: Term) -> Term:
    """Return the numbers on the diagonals of square matrices."""
    size = x.shape[-1]
    return where(equal(*grid(x, size, size)), x, 0).sum((len(x.shape) - 1,), False)


def lower_half(x: Term) -> Term:
    """Return what is below the diagonal, and half of what is on it: Phi of Giles and Murray."""
    row, column = grid(x, *x.shape[-2:])
    return where(equal(row, column), x * 0.5, where(row > column, x, 0))


def hermitian(x: Term) -> Term:
    return (x + adjoint(x)) * 0.5


def skew(x: Term) -> Term:
    return x - adjoint(x)


def solved(matrix: Term, right: Term) -> Term:
    """Return matrix^-1 right."""
    return call("solve", matrix, right, attrs=())


def divided(left: Term, matrix: Term) -> Term:
    """Return left matrix^-1."""
    return adjoint(solved(adjoint(matrix), adjoint(left)))


def gaps(values: Term) -> Term:
    """Return one over the differences of values, column less row: 0 on the diagonal."""
    size = values.shape[-1]
    same = equal(*grid(values, size, size))
    return where(same, 0, 1 / where(same, 1, row_of(values) - column_of(values)))


def reduced_svd(x: Term) -> tuple[Term, Term, Term]:
    """Return the reduced factors."""
    whole = call("svd", x, attrs=(False,))
    return factors_of(whole, x)


def factors_of(whole: Term, x: Term) -> tuple[Term, Term, Term]:
    *stack, rows, columns = x.shape
    size = min(rows, columns)
    return (
        whole.part(0, (*stack, rows, size), x.dtype),
        whole.part(1, (*stack, size), real_of(x.dtype)),
        whole.part(2, (*stack, size, columns), x.dtype),
    )
