"""Gradients of products with sparse matrices: each is one of the same three products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.term import Term, call


def of_sparse_matmul(
    ct: Term, _out: Term, data: Term, indices: Term, indptr: Term, x: Term
) -> Sequence[Any]:
    """Rule of sparse matrices times dense ones."""
    return (
        lambda: call("sampled_matmul", ct, conjugate(x), indices, indptr, attrs=()),
        None,
        None,
        lambda: call(
            "transposed_sparse_matmul", conjugate(data), indices, indptr, ct, attrs=(x.shape[1],)
        ),
    )


def of_transposed_sparse_matmul(
    ct: Term, _out: Term, data: Term, indices: Term, indptr: Term, x: Term, _columns: int
) -> Sequence[Any]:
    """Rule of transposed sparse matrices times dense ones."""
    return (
        lambda: call("sampled_matmul", conjugate(x), ct, indices, indptr, attrs=()),
        None,
        None,
        lambda: call("sparse_matmul", conjugate(data), indices, indptr, ct, attrs=()),
    )


def of_sampled_matmul(
    ct: Term, _out: Term, x: Term, y: Term, indices: Term, indptr: Term
) -> Sequence[Any]:
    """Rule of sampled products: the cotangents are the elements of a sparse matrix."""
    return (
        lambda: call("sparse_matmul", ct, indices, indptr, conjugate(y), attrs=()),
        lambda: call(
            "transposed_sparse_matmul", ct, indices, indptr, conjugate(x), attrs=(y.shape[1],)
        ),
        None,
        None,
    )


def transposed_product(data: Term, indices: Term, indptr: Term, x: Term, columns: int) -> Term:
    """Return the rows of `x`, each multiplied by the elements of its sparse row, added up by columns."""
    stack, rows, width = x.shape
    count = data.shape[0]
    numbers = call("row_numbers", indptr, attrs=(count,))
    flat = x.reshaped((stack * rows, width))
    values = call("gather", flat, numbers, attrs=((0,), 0)) * data.reshaped((count, 1))
    if stack == 1:
        places = indices
    else:
        matrix = call("floor_divide", numbers, numbers.filled(rows, ()), attrs=())
        places = matrix * columns + indices
    total = call("scatter_add", x.filled(0, (stack * columns, width)), values, places, attrs=((0,), 0))
    return total.reshaped((stack, columns, width))
