"""Sparse matrices in compressed rows: products with dense ones, and what their gradients need.

The stored elements of a stack of matrices lie row after row in one vector: those of row r, counted through the whole
stack, from `indptr[r]` on to before `indptr[r + 1]`, each in the column that `indices` says. Columns come in any order;
elements in one place add up. The transposed product serves compressed columns, which are the rows of the transpose.
"""

from __future__ import annotations

from tensorframe.dtypes import INTEGER, NARROW, NUMERIC
from tensorframe.errors import ShapeError
from tensorframe.graph.op import NONE, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.rules.sparse import (
    of_sampled_matmul,
    of_sparse_matmul,
    of_transposed_sparse_matmul,
    transposed_product,
)


def _check(name: str, rows: int, indptr: Shape, *entries: Shape) -> None:
    if indptr != (rows + 1,) or any(shape != entries[0] for shape in entries):
        listed = ", ".join(map(str, (*entries, indptr)))
        raise ShapeError(f"{name}: {rows} rows do not have elements and row pointers of shapes {listed}")


def _product(shapes: tuple[Shape, ...]) -> Shape:
    data, indices, (pointers,), (stack, _, width) = shapes
    rows = (pointers - 1) // stack if stack else 0
    _check("sparse_matmul", stack * rows, (pointers,), data, indices)
    return (stack, rows, width)


def _transposed(shapes: tuple[Shape, ...], columns: int) -> Shape:
    data, indices, indptr, (stack, rows, width) = shapes
    _check("transposed_sparse_matmul", stack * rows, indptr, data, indices)
    return (stack, columns, width)


def _sampled(shapes: tuple[Shape, ...]) -> Shape:
    (stack, rows, width), (others, _, depth), indices, indptr = shapes
    if (stack, width) != (others, depth):
        raise ShapeError(f"sampled_matmul: factors of shapes {shapes[0]} and {shapes[1]} have no common axis")
    _check("sampled_matmul", stack * rows, indptr, indices)
    return indices


def _numbers(_shapes: tuple[Shape, ...], count: int) -> Shape:
    return (count,)


def _row(name: str, arity: int, doc: str, **facts: object) -> Op:
    fields: dict[str, object] = {"accepts": NUMERIC - NARROW, "result": same, "in_standard": False, "public": False, "costly": True, "cost": 8.0, **facts}
    return register(Op(name=name, kind=Kind.LIBRARY, arity=arity, doc=doc, **fields))  # type: ignore[arg-type]


# Operands: elements, columns and row pointers of a stack of sparse matrices, and a stack (stack, columns, width).
SPARSE_MATMUL = _row("sparse_matmul", 4, "Sparse matrices times dense ones.", shape=_product, vjp=of_sparse_matmul)
# The same, of a stack (stack, rows, width), which the transposes multiply; `columns` is how many rows these have.
TRANSPOSED_SPARSE_MATMUL = _row("transposed_sparse_matmul", 4, "Transposed sparse matrices times dense ones.", shape=_transposed, attributes=("columns",), expand=transposed_product, whole=True, vjp=of_transposed_sparse_matmul)
# Operands: stacks (stack, rows, width) and (stack, columns, width), and columns and row pointers of the elements.
SAMPLED_MATMUL = _row("sampled_matmul", 4, "Those elements of products of a matrix and a transposed one that sparse matrices store.", shape=_sampled, vjp=of_sampled_matmul)




# Operand: row pointers.
ROW_NUMBERS = _row("row_numbers", 1, "The row of each of so many stored elements.", accepts=INTEGER, shape=_numbers, attributes=("count",), vjp=NONE)

SPARSE = frozenset({SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL, SAMPLED_MATMUL, ROW_NUMBERS})
