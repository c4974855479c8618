"""Scratch of linear algebra: the bytes that NumPy's functions and the routines of LAPACK beneath them take at most.

NumPy computes in double precision. Of stacks in single precision it makes a copy as a whole, and results as a whole,
which are rounded afterwards; half precision is made single before that. Of one matrix at a time it makes a copy in
LAPACK's order, and beside it lies the routine's workspace: formulas are those of LAPACK's documentation, block sizes
those of its `ilaenv`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod

from tensorframe.backends.numpy.scratch.calls import Call, Estimate
from tensorframe.dtypes import COMPLEX, NARROW
from tensorframe.graph.op import Kind
from tensorframe.quick_tuples import NamedTuple

# Columns that routines work on at a time, and those that eigenvectors are transformed back in.
_BLOCK, _BACK = 64, 128
# Rows of the smallest problems of a divide and conquer, and how much taller than wide matrices are reduced first.
_LEAST, _TALL = 25, 11 / 6


class _Matrices(NamedTuple):
    """Matrices that a routine takes one of at a time: sizes, and elements of the right-hand sides."""

    rows: int
    columns: int
    right: int
    is_complex: bool
    attrs: tuple[object, ...]

    @property
    def elements(self) -> int:
        """Elements of one of them."""
        return self.rows * self.columns

    @property
    def least(self) -> int:
        """The smaller size."""
        return min(self.rows, self.columns)

    @property
    def most(self) -> int:
        """The larger size."""
        return max(self.rows, self.columns)


Workspace = Callable[[_Matrices], float]


def _of_routine(call: Call) -> int:
    """Return what a row of linear algebra takes beside its operands and results."""
    (shape, dtype), *_ = call.operands
    is_complex = dtype in COMPLEX
    size = 16 if is_complex else 8
    right = call.operands[1][0] if len(call.operands) > 1 else ()
    columns = right[-1] if len(right) > 1 else 1
    rows, across = shape[-2:]
    matrix = _Matrices(rows, across, rows * columns, is_complex, call.attrs)
    single = 4 * sum(prod(shape) for shape, _ in call.operands) if dtype in NARROW else 0
    results = [(prod(shape), kind) for shape, kind in call.results]
    given = sum(count * kind.itemsize for count, kind in results)
    wide = sum(count * max(8, 2 * kind.itemsize) for count, kind in results)
    rounded = sum(4 * count for count, kind in results if kind in NARROW)
    is_exact = dtype.itemsize == size
    work = int(_WORK[call.name](matrix)) * size
    if call.name == "qr":
        copy, rest = call.elements * size, _of_qr(call, work, size)
        return single + copy + max(rest - given, 0) + rounded
    if call.name == "lstsq":
        work += _beside_least_squares(matrix) * size
    if is_exact:
        return work
    in_double = size * sum(prod(shape) for shape, _ in call.operands)
    return single + max(in_double + work + wide - given, wide + rounded)


def _of_qr(call: Call, work: int, size: int) -> int:
    """Return what lies beside a copy of the whole stack: columns are made of it, and the triangle is cut out of it."""
    (left, dtype), (triangle, _) = call.results
    columns = prod(left) * size
    rounded = columns // 2 if dtype.itemsize < size else 0
    return max(columns + work + prod(left[-2:]) * size, columns + rounded + prod(triangle) * size)


def _least_squares(matrices: _Matrices) -> float:
    """Both sides, and what divides and conquers; what is wider than tall is reduced to a square."""
    least = matrices.least
    columns = matrices.right // max(matrices.rows, 1)
    levels = max(int(log2(max(least, 1) / (_LEAST + 1))) + 1, 0)
    divided = least * (12 + 2 * _LEAST + 8 * levels + columns) + (_LEAST + 1) ** 2
    indices = least * (3 * levels + 11)
    square = least**2 if matrices.columns > matrices.rows else 0
    sides = matrices.elements + matrices.most * columns
    return sides + square + divided + indices + _BLOCK * (matrices.most + columns)


def _beside_least_squares(matrices: _Matrices) -> int:
    """Return the elements of a copy of the solution, or of residuals that LAPACK leaves out."""
    columns = matrices.right // max(matrices.rows, 1)
    return max(matrices.columns * columns, 3 * matrices.right)


def _singular_vectors(matrices: _Matrices) -> float:
    rows, columns, least = matrices.rows, matrices.columns, matrices.least
    full = matrices.attrs[0]
    factors = rows**2 + columns**2 if full else (rows + columns) * least
    squares = (
        2.5 + 1 if matrices.is_complex else 3.0
    )  # real numbers of divide and conquer, halves of complex ones
    if matrices.most >= _TALL * least:
        squares += 1
    return matrices.elements + factors + squares * least**2 + _BLOCK * (rows + columns)


_WORK: dict[str, Workspace] = {
    "det": lambda matrix: matrix.elements,
    "slogdet": lambda matrix: matrix.elements,
    "cholesky": lambda matrix: matrix.elements,
    "inv": lambda matrix: 2 * matrix.elements,
    "solve": lambda matrix: matrix.elements + matrix.right,
    "eigvalsh": lambda matrix: matrix.elements + (_BLOCK + 2) * matrix.rows,
    "eigh": lambda matrix: 3 * matrix.elements + 8 * matrix.rows,
    "eigvals": lambda matrix: matrix.elements + _BLOCK * matrix.rows,
    # vectors are complex, and those of real matrices made of real ones
    "eig": lambda matrix: (
        (2 if matrix.is_complex else 4) * matrix.elements + (_BACK + 8) * matrix.rows
    ),
    "svdvals": lambda matrix: matrix.elements + _BLOCK * (matrix.rows + matrix.columns),
    "svd": _singular_vectors,
    "qr": lambda matrix: matrix.elements + _BLOCK * matrix.columns,
    "lstsq": _least_squares,
}
ESTIMATES: dict[str | Kind, Estimate] = dict.fromkeys(_WORK, _of_routine)
