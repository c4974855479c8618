"""Transposed sparse products whose result threads share by its rows: each adds up those of its own range of columns.

Lists say which elements lie in each range, see `ops/sparse.py`, so a range is one long loop: in each of many short rows
a loop over the elements of a range would end where no processor foresees it. A list has its elements in the order of
rows, in which products are added whoever runs a range, and however many ranges there are: bits depend on neither.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import COMPLEX
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_entries import unrolled
from tensorframe.kernel.forms.sparse_pieces import COLUMN
from tensorframe.kernel.forms.sparse_rows import (
    BEGIN,
    END,
    ENTRY,
    Matrix,
    SparseRows,
    Statements,
    in_stack,
)
from tensorframe.kernel.forms.sparse_sums import added, product
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.axes import times
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides


class Ranges:
    """The loop over the lists of ranges of columns."""

    def __init__(self, region: Region, strides: Sequence[Strides]) -> None:
        (op,) = region.ops
        self.region, self.numbers = region, Numbers()
        self.rows = rows = SparseRows(region, strides, self.numbers)
        _, self._count, _ = op.attrs
        parts = 2 if op.dtype in COMPLEX else 1
        steps = in_stack(tuple([parts * step for step in strides_of(op.shape)]))
        self.result = Matrix("y0", op.dtype, steps, ir.Role.OUTPUT, self.numbers)
        self._row_size = self.numbers.take(parts * rows.width, "row_size")
        # where each of what follows the pointers begins
        lengths = (rows.row_count + 1, *[self._count + 1] * 2, *[rows.entry_count] * 2)
        starts = [sum(lengths[: number + 1]) for number in range(len(lengths))]
        names = ("begins", "firsts", "entries_of", "rows_of", "columns_of")
        self._starts = [
            self.numbers.take(start, name) for start, name in zip(starts, names, strict=True)
        ]

    def launch(self) -> Launch:
        """Return the kernel that adds up the rows of the result in ranges that follow each other."""
        begins, firsts, *_ = self._starts
        begin, end = [
            times(self.rows.pointer(firsts + place), self._row_size)
            for place in (ir.START, ir.STOP)
        ]
        zero = ir.Store(self.result.buffer, COLUMN, ir.literal(0, self.result.buffer.dtype))
        body = (
            ir.Loop(COLUMN, begin, end, (zero,), long=True),
            ir.Set(BEGIN, self.rows.pointer(begins + ir.START)),
            ir.Set(END, self.rows.pointer(begins + ir.STOP)),
            *unrolled([self._of_entry()]),
        )
        op = self.region.ops[0]
        kernel = assembled(body, self.numbers, (), (f"{op.op.name} of lists: {op.dtype}",))
        return Launch(kernel, tuple(self.numbers.values), self._count, 1, even=True)

    def _of_entry(self) -> Statements:
        """Return how the product of an element of a list is added to the row of the result that its column names."""
        rows, (x,) = self.rows, self.rows.dense
        entry, row, place = [rows.pointer(start + ENTRY) for start in self._starts[2:]]
        column = COLUMN if rows.width > 1 else ZERO
        value = product(rows.data(entry), x.element(ZERO, row, column))
        so_far = self.result.element(ZERO, place, column)
        add = self.result.store(added(so_far, value), ZERO, place, column)
        if rows.width == 1:
            return add
        return (ir.Loop(COLUMN, ZERO, self.numbers.take(rows.width, "width"), add),)
