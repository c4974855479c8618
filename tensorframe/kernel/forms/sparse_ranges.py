"""Transposed sparse products whose result threads share by its rows: each adds up those of its own range of columns.

Pointers say where the elements of each range begin in every row, see `ops/sparse.py`. Whoever runs a range, and however
many of them at once, adds products in the order of rows: bits do not depend on threads, and one thread that runs all
ranges goes through each row once, from its begin to its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import COMPLEX
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_entries import unrolled
from tensorframe.kernel.forms.sparse_pieces import COLUMN, ROW, UNROLLED
from tensorframe.kernel.forms.sparse_rows import (
    BEGIN,
    END,
    Matrix,
    SparseRows,
    Statements,
    in_stack,
)
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.axes import times
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides

_ONE = ir.literal(1, ir.INDEX)


class Ranges:
    """The loops over the rows of a matrix, of which elements in a range of columns are taken."""

    def __init__(self, region: Region, strides: Sequence[Strides]) -> None:
        (op,) = region.ops
        self.region, self.numbers = region, Numbers()
        self.rows = rows = SparseRows(region, strides, self.numbers)
        self._count, _ = region.shape_of(op.inputs[2])
        self._unrolled = rows.width == 1 and rows.entry_count >= UNROLLED * rows.row_count
        parts = 2 if op.dtype in COMPLEX else 1
        steps = in_stack(tuple([parts * step for step in strides_of(op.shape)]))
        self.result = Matrix("y0", op.dtype, steps, ir.Role.OUTPUT, self.numbers)
        self._row_size = self.numbers.take(parts * rows.width, "row_size")

    def launches(self, of_row: Statements) -> tuple[Launch, ...]:
        """Return the kernel that makes this of each row, for ranges of columns that follow each other."""
        rows = self.rows
        to_the_end = equal(ir.STOP, self.numbers.take(self._count, "ranges"))
        # the row of pointers where the last range ends, which is the next row's begin where none follows
        after, moved = where(to_the_end, ZERO, ir.STOP), where(to_the_end, _ONE, ZERO)
        row = (
            ir.Set(BEGIN, rows.pointer(ir.START, ROW)),
            ir.Set(END, rows.pointer(after, ROW + moved)),
            *of_row,
        )
        first = where(equal(ir.START, ZERO), ZERO, rows.pointer(ir.START, rows.rows))
        last = where(to_the_end, rows.columns, rows.pointer(after, rows.rows))
        begin, end = times(first, self._row_size), times(last, self._row_size)
        zero = ir.Store(self.result.buffer, COLUMN, ir.literal(0, self.result.buffer.dtype))
        body = (
            ir.Loop(COLUMN, begin, end, (zero,), long=True),
            ir.Loop(ROW, ZERO, rows.rows, row, rolled=True),
        )
        op = self.region.ops[0]
        kernel = assembled(body, self.numbers, (), (f"{op.op.name}: {op.dtype}",))
        return (Launch(kernel, tuple(self.numbers.values), self._count, 1, even=True),)

    def for_each_entry(self, *body: ir.Statement, packed: bool = False) -> Statements:
        """Return the loops over the elements of a row that are in the range."""
        if self._unrolled:
            return unrolled([body])
        return (self.rows.for_each_entry(*body, packed=packed),)

    def place(self) -> ir.Expr:
        """Return the column of the element that is looked at."""
        return self.rows.column()
