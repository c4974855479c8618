"""Sparse matrices in compressed rows: products with dense ones, and what their gradients need.

The stored elements of a stack of matrices lie row after row in one vector: those of row r, counted through the whole
stack, from `indptr[r]` on to before `indptr[r + 1]`, each in the column that `indices` says. Columns come in any order;
elements in one place add up. The transposed product serves compressed columns, which are the rows of the transpose.

Who records a product may have checked the integers: then `checked` says that all of them are in order and within
bounds, and kernels follow them as they are. Any others are checked each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import INTEGER, NARROW, NUMERIC
from tensorframe.errors import ShapeError
from tensorframe.graph.op import NONE, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.term import Term, call


def _check(name: str, rows: int, indptr: Shape, *entries: Shape) -> None:
    if indptr != (rows + 1,) or any(shape != entries[0] for shape in entries):
        listed = ", ".join(map(str, (*entries, indptr)))
        raise ShapeError(f"{name}: {rows} rows do not have elements and row pointers of shapes {listed}")


def as_stack(shape: Shape) -> Shape:
    """Return the shape (stack, rows, columns) of a stack of matrices, a matrix, or a vector, which is a column."""
    return shape if len(shape) == 3 else (1, shape[0], shape[1] if len(shape) == 2 else 1)


def rows_of(shape: Shape) -> int:
    """Return how many rows each matrix of a dense factor has."""
    return as_stack(shape)[1]


def _with_rows(shape: Shape, rows: int) -> Shape:
    """Return the shape of a product, of as many axes as the dense factor has."""
    return (rows,) if len(shape) == 1 else (*shape[:-2], rows, shape[-1])


def _product(shapes: tuple[Shape, ...], _checked: bool) -> Shape:
    data, indices, (pointers,), x = shapes
    stack, *_ = as_stack(x)
    rows = (pointers - 1) // stack if stack else 0
    _check("sparse_matmul", stack * rows, (pointers,), data, indices)
    return _with_rows(x, rows)


def _transposed(shapes: tuple[Shape, ...], columns: int, _ordered: bool, _checked: bool) -> Shape:
    data, indices, indptr, x = shapes
    stack, rows, _ = as_stack(x)
    _check("transposed_sparse_matmul", stack * rows, indptr, data, indices)
    return _with_rows(x, columns)


def _arranged(shapes: tuple[Shape, ...], _transposed: bool) -> Shape:
    places, x = shapes[3], shapes[-1]
    return _with_rows(x, places[0])


def _sampled(shapes: tuple[Shape, ...], _checked: bool) -> Shape:
    x, y, indices, indptr = shapes
    (stack, rows, width), (others, _, depth) = as_stack(x), as_stack(y)
    if len(x) != len(y) or (stack, width) != (others, depth):
        raise ShapeError(f"sampled_matmul: factors of shapes {x} and {y} have no common axis")
    _check("sampled_matmul", stack * rows, indptr, indices)
    return indices


def _numbers(_shapes: tuple[Shape, ...], count: int) -> Shape:
    return (count,)


# --- gradients: each is one of the same three products


def _of_sparse_matmul(
    ct: Term, _out: Term, data: Term, indices: Term, indptr: Term, x: Term, checked: bool
) -> Sequence[Any]:
    """Rule of sparse matrices times dense ones."""
    return (
        lambda: call("sampled_matmul", ct, conjugate(x), indices, indptr, attrs=(checked,)),
        None,
        None,
        lambda: call(
            "transposed_sparse_matmul", conjugate(data), indices, indptr, ct, attrs=(rows_of(x.shape), False, checked)
        ),
    )


def _of_transposed_sparse_matmul(
    ct: Term, _out: Term, data: Term, indices: Term, indptr: Term, x: Term, _columns: int, _ordered: bool, checked: bool
) -> Sequence[Any]:
    """Rule of transposed sparse matrices times dense ones."""
    return (
        lambda: call("sampled_matmul", conjugate(x), ct, indices, indptr, attrs=(checked,)),
        None,
        None,
        lambda: call("sparse_matmul", conjugate(data), indices, indptr, ct, attrs=(checked,)),
    )


def _of_arranged_sparse_matmul(
    ct: Term,
    out: Term,
    _data: Term,
    _indices: Term,
    _indptr: Term,
    _places: Term,
    data: Term,
    indices: Term,
    indptr: Term,
    x: Term,
    transposed: bool,
) -> Sequence[Any]:
    """Rule of products with arranged rows: that of the matrix they were made of."""
    if transposed:
        rule = _of_transposed_sparse_matmul(ct, out, data, indices, indptr, x, 0, True, True)
    else:
        rule = _of_sparse_matmul(ct, out, data, indices, indptr, x, True)
    return (*[None] * 4, *rule)


def _of_sampled_matmul(
    ct: Term, _out: Term, x: Term, y: Term, indices: Term, indptr: Term, checked: bool
) -> Sequence[Any]:
    """Rule of sampled products: the cotangents are the elements of a sparse matrix."""
    return (
        lambda: call("sparse_matmul", ct, indices, indptr, conjugate(y), attrs=(checked,)),
        lambda: call(
            "transposed_sparse_matmul", ct, indices, indptr, conjugate(x), attrs=(rows_of(y.shape), False, checked)
        ),
        None,
        None,
    )


def _transposed_product(
    data: Term, indices: Term, indptr: Term, x: Term, columns: int, _ordered: bool, _checked: bool
) -> Term:
    """Return the rows of `x`, each multiplied by the elements of its sparse row, added up by columns."""
    stack, rows, width = as_stack(x.shape)
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
    return total.reshaped(_with_rows(x.shape, columns))


def _arranged_product(
    data: Term, indices: Term, indptr: Term, places: Term, *others: Any
) -> Term:
    """Return the product of arranged rows, in the order of the matrix."""
    *_, x, _transposed = others
    product = call("sparse_matmul", data, indices, indptr, x, attrs=(True,))
    return call("gather", product, places, attrs=((0,), 0))


# --- rows


def _row(name: str, arity: int, doc: str, **facts: Any) -> Op:
    facts = {"in_standard": False, "public": False, "costly": True, "cost": 8.0, **facts}
    return register(Op(name, Kind.LIBRARY, arity, facts.pop("accepts", NUMERIC - NARROW), facts.pop("result", same), doc, **facts))


# Operands: elements, columns and row pointers of a stack of sparse matrices, and a dense factor: a stack
# (stack, columns, width), a matrix or a vector.
SPARSE_MATMUL = _row("sparse_matmul", 4, "Sparse matrices times dense ones.", shape=_product, attributes=("checked",), vjp=_of_sparse_matmul)
# The same, of a dense factor (stack, rows, width), which the transposes multiply; `columns` is how many rows these have.
# Where it is `ordered`, products are added to each element of the result in the order of rows, as `SPARSE_MATMUL` of the
# other format's rows adds them while these are short.
TRANSPOSED_SPARSE_MATMUL = _row("transposed_sparse_matmul", 4, "Transposed sparse matrices times dense ones.", shape=_transposed, attributes=("columns", "ordered", "checked"), expand=_transposed_product, whole=True, vjp=_of_transposed_sparse_matmul)
# Operands: the elements, columns and pointers of a matrix whose rows were put in another order, and where each row of the
# result is among them; then the matrix itself, checked, of which this, or where it says `transposed`, the transpose, is
# another form; and a vector. Gradients are those of the matrix: what was prepared of its elements passes none on to them.
ARRANGED_SPARSE_MATMUL = _row("arranged_sparse_matmul", 8, "A sparse matrix whose rows were put in order times a vector.", shape=_arranged, attributes=("transposed",), expand=_arranged_product, vjp=_of_arranged_sparse_matmul)
# Operands: dense factors (stack, rows, width) and (stack, columns, width), of equally many axes, and columns and row pointers of the elements.
SAMPLED_MATMUL = _row("sampled_matmul", 4, "Those elements of products of a matrix and a transposed one that sparse matrices store.", shape=_sampled, attributes=("checked",), vjp=_of_sampled_matmul)


# Operand: row pointers.
ROW_NUMBERS = _row("row_numbers", 1, "The row of each of so many stored elements.", accepts=INTEGER, shape=_numbers, attributes=("count",), vjp=NONE)

SPARSE = frozenset({SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL, ARRANGED_SPARSE_MATMUL, SAMPLED_MATMUL, ROW_NUMBERS})
