"""Products with sparse matrices in compressed rows, for threads that run ranges of a loop.

Rows come in pieces (`sparse_pieces.py`). A row is one thread's, and its products are added up in order, so bits do not
depend on threads. Where transposes multiply, a row is added to any part of the result. Dense factors of several columns
are multiplied a block of columns at a time (`sparse_columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tensorframe.dtypes import COMPLEX, FLOAT
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_columns import in_blocks, in_separate_blocks
from tensorframe.kernel.forms.sparse_entries import side_by_side
from tensorframe.kernel.forms.sparse_pieces import COLUMN, ROW, Pieces
from tensorframe.kernel.forms.sparse_rows import ENTRY, Statements, Value
from tensorframe.kernel.forms.sparse_sums import (
    added,
    assigned,
    cleared,
    in_lanes,
    join,
    plus,
    product,
    total,
)
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.nest.layout import Strides
from tensorframe.ops.sparse import (
    ROW_NUMBERS,
    SAMPLED_MATMUL,
    SPARSE_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
)


def build_sparse(region: Region, strides: Sequence[Strides]) -> Built:
    """Return the kernels of one of the rows of `ops/sparse.py`; inputs have these strides, in elements."""
    (op,) = region.ops
    real = [
        (*[2 * step for step in own[:-1]], 1) if dtype in COMPLEX else own
        for own, (_, dtype) in zip(strides, region.inputs, strict=True)
    ]
    pieces = Pieces(region, real)
    launches = pieces.launches(_ROWS[op.op](pieces))
    partials = (
        ((pieces.result.buffer.dtype, pieces.results * pieces.real_size, 0),)
        if pieces.results > 1
        else ()
    )
    return Built(launches, partials, (tuple(range(len(op.shape))),))


def scratch_bytes(region: Region) -> int:
    """Return how much memory results that are made side by side take."""
    strides = [
        (*strides_of(shape), 1) if dtype in COMPLEX else strides_of(shape)
        for shape, dtype in region.inputs
    ]
    return sum(dtype.itemsize * size for dtype, size, _ in build_sparse(region, strides).partials)


def _product_of_row(pieces: Pieces) -> Statements:
    """Return how a row of the product is made."""
    rows, (x,) = pieces.rows, pieces.rows.dense
    matrix, row = rows.matrix_and_row(ROW)
    data, place = rows.data(), pieces.place()
    sums = total(data)
    if rows.width == 1:
        term = product(data, x.element(matrix, place, ZERO))
        store = pieces.result.store(sums, matrix, row, ZERO)
        loops = (
            side_by_side(sums, term)
            if pieces.side_by_side
            else pieces.for_each_entry(*join(sums, term))
        )
        return (*cleared(sums), *loops, *store)

    def add_up(columns: Iterable[ir.Expr]) -> Statements:
        of_columns = [
            (total(data, f"total{number}_"), column) for number, column in enumerate(columns)
        ]
        begin = [statement for sums, _ in of_columns for statement in cleared(sums)]
        taken = [
            statement
            for sums, column in of_columns
            for statement in join(sums, product(data, x.element(matrix, place, column)))
        ]
        stores = [
            statement
            for sums, column in of_columns
            for statement in pieces.result.store(sums, matrix, row, column)
        ]
        return (*begin, *pieces.for_each_entry(*taken, packed=True), *stores)

    return in_blocks(rows.width, pieces.numbers, add_up)


def _transposed_of_row(pieces: Pieces) -> Statements:
    """Return how a row is added to the rows of the result that its elements name."""
    rows, (x,) = pieces.rows, pieces.rows.dense
    matrix, row = rows.matrix_and_row(ROW)
    data, place, result = rows.data(), pieces.place(), pieces.result

    def add(column: ir.Expr, value: Value) -> Statements:
        so_far = result.element(matrix, place, column)
        return result.store(added(so_far, product(data, value)), matrix, place, column)

    def add_block(columns: Iterable[ir.Expr]) -> Statements:
        begin: list[ir.Statement] = []
        taken: list[ir.Statement] = []
        stores: list[ir.Statement] = []
        for number, column in enumerate(columns):
            value = x.element(matrix, row, column)
            own, sums = total(value, f"factor{number}_"), total(data, f"total{number}_")
            begin += assigned(own, value)
            so_far = result.element(matrix, place, column)
            taken += assigned(sums, added(so_far, product(data, own)))
            stores += result.store(sums, matrix, place, column)
        return (*begin, *pieces.for_each_entry(*taken, *stores, packed=True))

    def add_rest(first: ir.Expr) -> Statements:
        width = pieces.numbers.take(rows.width, "width")
        each = ir.Loop(COLUMN, first, width, add(COLUMN, x.element(matrix, row, COLUMN)))
        return pieces.for_each_entry(each)

    if rows.width == 1:
        return pieces.for_each_entry(*add(ZERO, x.element(matrix, row, ZERO)))
    return in_separate_blocks(rows.width, pieces.numbers, add_block, add_rest)


def _sampled_of_row(pieces: Pieces) -> Statements:
    """Return how the elements of a row are made of rows of both factors."""
    rows, (x, y) = pieces.rows, pieces.rows.dense
    matrix, row = rows.matrix_and_row(ROW)
    place = pieces.place()

    def pair(column: ir.Expr) -> Value:
        return product(x.element(matrix, row, column), y.element(matrix, place, column))

    if rows.width == 1:
        return pieces.for_each_entry(*pieces.result.store(pair(ZERO), ENTRY))
    sums = total(pair(ZERO))
    with_ = in_lanes if sums[0].dtype in FLOAT else plus
    taken = pieces.for_each_column(lambda column: join(sums, pair(column), with_))
    return pieces.for_each_entry(*cleared(sums), *taken, *pieces.result.store(sums, ENTRY))


def _numbers_of_row(pieces: Pieces) -> Statements:
    """Return how the elements of a row get its number."""
    number = ir.apply("from_index", ROW, dtype=pieces.result.buffer.dtype)
    return (pieces.rows.for_each_entry(*pieces.result.store((number,), ENTRY)),)


# how each of the products, and the numbers, are made of a row
_ROWS: dict[Op, Callable[[Pieces], Statements]] = {
    SPARSE_MATMUL: _product_of_row,
    TRANSPOSED_SPARSE_MATMUL: _transposed_of_row,
    SAMPLED_MATMUL: _sampled_of_row,
    ROW_NUMBERS: _numbers_of_row,
}
