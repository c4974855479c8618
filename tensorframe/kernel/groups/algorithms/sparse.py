"""Products with sparse matrices in compressed rows: a thread for each element of the result.

An element of a product is the sum over one row, in its order. A stored element finds its row by binary search.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import COMPLEX, uint32
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import (
    Matrix,
    SparseRows,
    Statements,
    in_stack,
)
from tensorframe.kernel.forms.sparse_sums import cleared, join, product, total
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import with_bounds_checks
from tensorframe.ops.sparse import ROW_NUMBERS, SAMPLED_MATMUL, SPARSE_MATMUL

_THREAD, _COLUMN, _SEARCH = [ir.index(name) for name in ("thread", "column", "search")]
_FOUND = ir.variable("found", ir.INDEX)


def build_sparse(region: Region, strides: Sequence[Strides], target: Target) -> Built:
    """Return the kernel of one of the rows of `ops/sparse.py`; inputs have these strides, in real elements."""
    (op,) = region.ops
    numbers = Numbers()
    rows = SparseRows(region, strides, numbers)
    parts = 2 if op.dtype in COMPLEX else 1
    steps = tuple([parts * step for step in strides_of(op.shape)])
    if op.op is SPARSE_MATMUL:
        steps = in_stack(steps)
    result = Matrix("y0", op.dtype, steps, ir.Role.OUTPUT, numbers)
    make = {SPARSE_MATMUL: _product, SAMPLED_MATMUL: _sampled, ROW_NUMBERS: _number}[op.op]
    loop = ir.Loop(
        _THREAD,
        ir.START,
        ir.STOP,
        make(rows, result, numbers),
        parallel=True,
        over=ir.ParallelAxis.GRID,
    )
    notes = (f"{op.op.name}: {op.dtype}",)
    kernel = assembled(
        with_bounds_checks((loop,)), numbers, (), notes, lanes=target.lanes, index=target.index
    )
    launch = Launch(kernel, tuple(numbers.values), prod(op.shape), 1)
    return Built((launch,), (), (tuple(range(len(op.shape))),))


def _product(rows: SparseRows, result: Matrix, numbers: Numbers) -> Statements:
    """Return how an element of a product is added up."""
    width, (x,) = numbers.take(rows.width, "width"), rows.dense
    line, column = digits(_THREAD, [ZERO, width])
    matrix, row = rows.matrix_and_row(line)
    data = rows.data()
    sums = total(data)
    taken = join(sums, product(data, x.element(matrix, rows.place(), column)))
    return (
        *rows.bounds(line),
        *cleared(sums),
        rows.for_each_entry(*taken),
        *result.store(sums, matrix, row, column),
    )


def _sampled(rows: SparseRows, result: Matrix, numbers: Numbers) -> Statements:
    """Return how a stored element of a product is made of a row of both factors."""
    x, y = rows.dense
    width = numbers.take(rows.width, "width")
    line, place = rows.row_of(_THREAD, _FOUND), rows.place(_THREAD)
    matrix, row = rows.matrix_and_row(line)
    pair = product(x.element(matrix, row, _COLUMN), y.element(matrix, place, _COLUMN))
    sums = total(pair)
    return (
        *_search(rows, numbers),
        *cleared(sums),
        ir.Loop(_COLUMN, ZERO, width, join(sums, pair)),
        *result.store(sums, _THREAD),
    )


def _number(rows: SparseRows, result: Matrix, numbers: Numbers) -> Statements:
    """Return how a stored element gets the number of its row."""
    number = ir.apply("from_index", rows.row_of(_THREAD, _FOUND), dtype=result.buffer.dtype)
    return (*_search(rows, numbers), *result.store((number,), _THREAD))


def _search(rows: SparseRows, numbers: Numbers) -> Statements:
    """Return how the last row is found that begins at the thread's stored element or before."""
    halvings = max(rows.row_count - 1, 0).bit_length()
    most, steps = numbers.take(1 << halvings, "most"), numbers.take(halvings + 1, "steps")
    upto = smaller(_FOUND + ir.apply("bitwise_right_shift", most, _SEARCH), rows.rows)
    begins = rows.pointer(upto - 1) <= _THREAD
    return (
        ir.Set(_FOUND, ir.apply("to_index", ir.literal(0, uint32), dtype=ir.INDEX)),
        ir.Loop(_SEARCH, ZERO, steps, (ir.Set(_FOUND, where(begins, upto, _FOUND)),)),
    )
