"""Arrays of special values: NaN, both infinities, both zeros, the ends of the integers; empty and of one element."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import inf, nan
from typing import Any

import numpy as np

from tensorframe.dtypes import BOOL, BY_NAME, COMPLEX, INTEGER, LIMITS, UNSIGNED, DType

Array = np.ndarray[Any, Any]
Arguments = tuple[Array, ...]

FLOATS = (nan, inf, -inf, 0.0, -0.0, 1.0, 2.5, -3.0)
COMPLEXES = (complex(nan, 0), complex(inf, 0), complex(-inf, 1), 0j, 1 + 0j, 2.5 - 1j, -3 + 2j)


@cache
def specials(dtype: DType) -> Array:
    """Return what is special in `dtype`, with a few numbers that are not."""
    if dtype in BOOL:
        return np.array([False, True])
    if dtype in INTEGER:
        low, high = LIMITS[dtype]
        small = (0, 1, 2, 5) if dtype in UNSIGNED else (0, 1, 2, -3)
        return np.array([*small, low, high], dtype)
    return np.array(COMPLEXES if dtype in COMPLEX else FLOATS).astype(dtype)


def tuples(dtype: DType, length: int) -> Array:
    """Return every tuple of special values, as the rows of a matrix."""
    rows = list(product(specials(dtype), repeat=length))
    return np.array(rows, dtype).reshape(-1, length) if length else np.zeros((2, 0), dtype)


def lines(dtype: DType) -> Iterator[Arguments]:
    """Rows of nothing, of one element, two and three: every combination."""
    return ((tuples(dtype, length),) for length in range(4))


def lines_with_numbers(dtype: DType) -> Iterator[Arguments]:
    """Rows of one element, two and three, but for those of NaN alone."""
    for (rows,) in lines(dtype):
        if rows.shape[1]:
            yield (rows[~np.isnan(rows).all(axis=1)],)


def longer_lines(dtype: DType) -> Iterator[Arguments]:
    """Rows of two elements and three."""
    return ((tuples(dtype, length),) for length in (2, 3))


def pairs(dtype: DType) -> Iterator[Arguments]:
    """Every special value against every other, and nothing against nothing."""
    values = specials(dtype)
    yield values[:, None], values
    yield values[:0], values[:0]


def mixed(dtype: DType) -> Iterator[Arguments]:
    """Every special value against those of every other dtype."""
    for other in BY_NAME.values():
        if other != dtype:
            yield specials(dtype)[:, None], specials(other)


@cache
def _vectors(dtype: DType) -> tuple[Array, ...]:
    values = specials(dtype)
    rising = np.sort(values[np.isfinite(values)])
    picked = np.random.default_rng(0).integers(0, values.size, (6, 5))
    return (values[:0], values[-1:], values[:1], values[::-1], rising, *(values[p] for p in picked))


def vectors(dtype: DType) -> Iterator[Arguments]:
    """Vectors without an element, with one, and with several."""
    return ((vector,) for vector in _vectors(dtype))


def nonempty_vectors(dtype: DType) -> Iterator[Arguments]:
    """Vectors with an element or several."""
    return ((vector,) for vector in _vectors(dtype) if vector.size)


def mixed_vectors(dtype: DType) -> Iterator[Arguments]:
    """A vector, and one of as many elements in every other dtype."""
    values = specials(dtype)
    for other in BY_NAME.values():
        if other != dtype:
            yield values, np.resize(specials(other), values.shape)
            yield values[:0], specials(other)[:0]


def two_vectors(dtype: DType) -> Iterator[Arguments]:
    """Vectors of equal length, and all of them beside one vector of another."""
    some = _vectors(dtype)
    yield from ((some[index], some[index - 1]) for index in range(6, len(some)))
    yield from ((vector, some[4]) for vector in some)
    yield from ((vector, vector) for vector in some)


def equal_vectors(dtype: DType) -> Iterator[Arguments]:
    """Two vectors of one length."""
    yield from ((vector, vector[::-1].copy()) for vector in _vectors(dtype))


def matrices(dtype: DType) -> Iterator[Arguments]:
    """Square matrices: singular, regular, with special values; none and one element."""
    values = specials(dtype)
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    yield (np.zeros((0, 0), dtype),)
    yield from ((values[index : index + 1].reshape(1, 1),) for index in range(values.size))
    yield (np.zeros((3, 3), dtype),)
    yield (np.ones((2, 2), dtype),)
    yield (np.eye(3, dtype=dtype),)
    yield (np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype),)
    for value in values:
        yield (np.array([[value, zero], [zero, one]], dtype),)
        yield (np.array([[one, value], [one, one]], dtype),)


def finite_matrices(dtype: DType) -> Iterator[Arguments]:
    """The matrices without NaN and infinities: what a library makes of these is its own affair."""
    return (matrix for matrix in matrices(dtype) if np.isfinite(matrix[0]).all())


def oblong(dtype: DType) -> Iterator[Arguments]:
    """Matrices of all kinds, and those that are not square."""
    yield from matrices(dtype)
    values = specials(dtype)
    yield (np.resize(values, (3, 4)),)
    yield (np.resize(values[::-1], (4, 2)),)
    yield (np.zeros((0, 3), dtype),)
    yield (np.zeros((3, 0), dtype),)


def two_matrices(dtype: DType) -> Iterator[Arguments]:
    """Square matrices of one shape."""
    found = list(matrices(dtype))
    for shape in {one[0].shape for one in found}:
        alike = [one[0] for one in found if one[0].shape == shape]
        yield from ((one, alike[-1 - index]) for index, one in enumerate(alike[::2]))


def two_finite_matrices(dtype: DType) -> Iterator[Arguments]:
    """Square matrices of one shape, without NaN and infinities."""
    return (pair for pair in two_matrices(dtype) if all(np.isfinite(one).all() for one in pair))


def stacks(dtype: DType) -> Iterator[Arguments]:
    """Tensors of one to three axes, some without elements."""
    values = specials(dtype)
    for shape in ((3,), (1,), (0,), (2, 3), (1, 1), (0, 2), (2, 2, 2), (2, 1, 3)):
        yield (np.resize(values, shape),)


def nothing(_: DType) -> Iterator[Arguments]:
    """No array: what is made of numbers alone."""
    yield ()
