"""Products with sparse matrices by NumPy: elements are multiplied a block of them at a time, and added up by rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.errors import IndexingError
from tensorframe.graph.shape import Shape
from tensorframe.ops.sparse import as_stack

Array = Any

# Elements of a block: products that stay in the cache.
_BLOCK = 1 << 16


@spells("row_numbers")
def row_numbers(indptr: Array, count: int) -> Array:
    """Return the row of each element; IndexingError where rows do not follow each other."""
    _check_pointers(indptr, count)
    return np.repeat(np.arange(len(indptr) - 1, dtype=indptr.dtype), np.diff(indptr))


@spells("sparse_matmul")
def sparse_matmul(data: Array, indices: Array, indptr: Array, x: Array, checked: bool) -> Array:
    """Multiply, and add up the products of each row in order."""
    stack, columns, width = as_stack(x.shape)
    rows, count = len(indptr) - 1, len(data)
    places = _places(indices, indptr, count, stack, columns, checked)
    flat = x.reshape((stack * columns, width))
    result = np.zeros((rows, width), data.dtype)
    for first, stop in _blocks(indptr, width):
        begin, end = int(indptr[first]), int(indptr[stop])
        if begin == end:
            continue
        products = data[begin:end, None] * flat[places[begin:end]]
        starts = indptr[first:stop].astype(np.intp) - begin
        filled = np.flatnonzero(np.diff(indptr[first : stop + 1]))
        result[first + filled] = np.add.reduceat(products, starts[filled], axis=0)
    return result.reshape(_in_axes(x, (stack, rows // max(stack, 1), width)))


@spells("transposed_sparse_matmul")
def transposed_sparse_matmul(
    data: Array, indices: Array, indptr: Array, x: Array, columns: int, ordered: bool, checked: bool
) -> Array:
    """Multiply, and add the products to the rows of the result that columns name, in order."""
    stack, _, width = as_stack(x.shape)
    places = _places(indices, indptr, len(data), stack, columns, checked)
    flat = x.reshape((-1, width))
    result = np.zeros((stack * columns, width), data.dtype)
    for first, stop in _blocks(indptr, width):
        begin, end = int(indptr[first]), int(indptr[stop])
        counts = np.diff(indptr[first : stop + 1])
        products = data[begin:end, None] * np.repeat(flat[first:stop], counts, axis=0)
        np.add.at(result, places[begin:end], products)
    return result.reshape(_in_axes(x, (stack, columns, width)))


@spells("sampled_matmul")
def sampled_matmul(x: Array, y: Array, indices: Array, indptr: Array, checked: bool) -> Array:
    """Multiply rows of both factors, and add up the products."""
    stack, _, width = as_stack(x.shape)
    columns, count = as_stack(y.shape)[1], len(indices)
    places = _places(indices, indptr, count, stack, columns, checked)
    left, right = x.reshape((-1, width)), y.reshape((-1, width))
    result = np.empty(count, x.dtype)
    for first, stop in _blocks(indptr, width):
        begin, end = int(indptr[first]), int(indptr[stop])
        own = np.repeat(left[first:stop], np.diff(indptr[first : stop + 1]), axis=0)
        np.einsum("ij,ij->i", own, right[places[begin:end]], out=result[begin:end])
    return result


def _in_axes(x: Array, shape: Shape) -> Shape:
    """Return the shape of a product of a stack, of as many axes as its dense factor has."""
    return shape if x.ndim == 3 else shape[1 : 1 + x.ndim]


def _blocks(indptr: Array, width: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that together have about as many elements as a block has; one row may have more."""
    rows, each = len(indptr) - 1, max(_BLOCK // max(width, 1), 1)
    first = 0
    while first < rows:
        reached = int(np.searchsorted(indptr, int(indptr[first]) + each, "right")) - 1
        stop = min(max(reached, first + 1), rows)
        yield first, stop
        first = stop


def _places(
    indices: Array, indptr: Array, count: int, stack: int, columns: int, checked: bool
) -> Array:
    """Return the row of all dense matrices, one below the other, that each element meets."""
    if not checked:
        _check_places(indices, indptr, count, columns)
    if stack == 1:
        return indices
    height = (len(indptr) - 1) // max(stack, 1)
    matrix = np.repeat(np.arange(len(indptr) - 1) // max(height, 1), np.diff(indptr))
    return matrix * columns + indices


def _check_places(indices: Array, indptr: Array, count: int, columns: int) -> None:
    _check_pointers(indptr, count)
    if count and not (indices.min() >= 0 and indices.max() < columns):
        wrong = indices[(indices < 0) | (indices >= columns)][0]
        raise IndexingError(
            f"index {wrong} is out of bounds for the {columns} columns of a sparse matrix",
            suggestions=("indices from 0 to one less than the size of their axis",),
        )


def _check_pointers(indptr: Array, count: int) -> None:
    if indptr[0] != 0 or indptr[-1] != count or (indptr[1:] < indptr[:-1]).any():
        raise IndexingError(
            f"indptr of a sparse matrix rises from 0 to its {count} stored elements; "
            f"this one goes from {indptr[0]} to {indptr[-1]}"
            + (", and falls between" if (indptr[1:] < indptr[:-1]).any() else "")
        )
