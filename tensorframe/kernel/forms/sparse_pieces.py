"""Pieces of sparse matrices in compressed rows, which threads share: where they begin, their checks, their results.

A unit of the outermost loop is a piece of the matrices: so many rows that they and their elements together are a given
number (the merge path of Merrill and Garland, 2016, cut at whole rows). So neither long rows nor many empty ones make
one unit much longer than the others. Where transposes multiply, a row is added to any part of the result: several
results are made side by side, as many as sizes allow, and added up. Sizes alone decide how many, so that bits do not
depend on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.dtypes import COMPLEX, bool_
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_entries import unrolled
from tensorframe.kernel.forms.sparse_rows import (
    BEGIN,
    END,
    Matrix,
    SparseRows,
    Statements,
    in_stack,
    size_of,
)
from tensorframe.kernel.ir.formula import both, either, equal, negation, not_equal, where
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.axes import summed
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.ops.sparse import ROW_NUMBERS, SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL

# Rows and elements of a piece, multiplied with so many columns.
_PIECE = 1 << 16
# Results that are made side by side at most, and how many products there are for each element of them: fewer take
# less time than clearing a result, and adding it up.
_RESULTS, _REUSED = 8, 4
# Elements of a row, on average, from which loops over them are unrolled, and from which each has an accumulator.
UNROLLED, _LONG = 4, 16
# Elements of a result that a thread adds up at a time.
_SUMS = 1 << 14

# those whose result is a dense factor
_DENSE = frozenset({SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL})

ROW, COLUMN = [ir.index(name) for name in ("row", "column")]
_UNIT = ir.index("unit")
_WRONG = ir.variable("wrong", bool_)
_FIRST, _STOP = [ir.variable(name, ir.INDEX) for name in ("first", "last")]


class Pieces:
    """The loops over pieces of sparse matrices."""

    def __init__(self, region: Region, strides: Sequence[Strides]) -> None:
        (op,) = region.ops
        self.region, self.numbers = region, Numbers()
        self.rows = rows = SparseRows(region, strides, self.numbers)
        dtype = op.dtype
        parts = 2 if dtype in COMPLEX else 1
        self.real_size = parts * size_of(region)
        work = rows.row_count + rows.entry_count
        width = 1 if op.op is ROW_NUMBERS else rows.width
        self.results, piece = 1, max(_PIECE // max(width, 1), 64)
        if op.op is TRANSPOSED_SPARSE_MATMUL:
            products = rows.entry_count * width
            most = min(products // (_REUSED * max(size_of(region), 1)), products // _PIECE)
            _, ordered, _ = op.attrs
            self.results = 1 if ordered else max(1, min(most, _RESULTS))
            piece = -(-work // self.results)
        # so that no addition waits for the one before
        self.side_by_side = width == 1 and rows.entry_count >= _LONG * rows.row_count
        self._unrolled = width == 1 and rows.entry_count >= UNROLLED * rows.row_count
        # a loop of its own looks at the columns: it runs on vectors
        self._beside = not rows.checked and op.op is not ROW_NUMBERS and self.side_by_side
        if op.op is not ROW_NUMBERS:
            self._largest = ir.variable("largest", rows.index_word().dtype)
        self._units = -(-work // piece)
        self._piece = self.numbers.take(piece, "piece")
        self._count = self.numbers.take(self._units, "units")
        steps = tuple([parts * step for step in strides_of(op.shape)])
        if op.op in _DENSE:
            steps = in_stack(steps)
        size = self._size = self.numbers.take(self.real_size, "size")
        several = self.results > 1
        self._start = _UNIT * size if several else ZERO
        name = "p0" if several else "y0"
        self.result = Matrix(name, dtype, steps, ir.Role.OUTPUT, self.numbers, self._start)

    def launches(self, of_row: Statements) -> tuple[Launch, ...]:
        """Return the kernel over pieces, which makes this of each row, and the one that adds several results up."""
        pointers = (
            ir.Set(BEGIN, self.rows.pointer(ROW)),
            ir.Set(END, self.rows.pointer(ROW + 1)),
        )
        # one branch ends each of the short loops over elements, which is foreseen better than one of several
        every_row = ir.Loop(ROW, _FIRST, _STOP, (*pointers, *of_row), rolled=True)
        checked: Statements = (
            *self._check(),
            *self._begin(),
            ir.If(negation(_WRONG), (every_row,)),
            ir.If(self._is_wrong(), (ir.Store(MARK, ZERO, ir.literal(1, bool_)),)),
        )
        piece = (
            *self._search(_FIRST, _UNIT),
            *self._search(_STOP, _UNIT + 1),
            *((*self._begin(), every_row) if self.rows.checked else checked),
        )
        loop = ir.Loop(_UNIT, ir.START, ir.STOP, piece, parallel=True)
        op = self.region.ops[0]
        notes = (f"{op.op.name}: {op.dtype}",)
        kernel = assembled((loop,), self.numbers, (), notes)
        first = Launch(kernel, tuple(self.numbers.values), self._units, 1)
        return (first,) if self.results == 1 else (first, self._sum())

    def _search(self, line: ir.Variable, unit: ir.Expr) -> Statements:
        """Return how the row is found in which a piece begins: with all elements and rows before it, it is the last."""
        count = self.rows.row_count
        halvings = max(count - 1, 0).bit_length()
        most, steps = (
            self.numbers.take(1 << halvings, "most"),
            self.numbers.take(halvings + 1, "steps"),
        )
        search = ir.index("search")
        upto = smaller(line + ir.apply("bitwise_right_shift", most, search), self.rows.rows)
        before = self.rows.pointer(upto - 1) + (upto - 1) < unit * self._piece
        end = where(equal(unit, self._count), self.rows.rows, line)
        return (
            ir.Set(line, ZERO),
            ir.Loop(search, ZERO, steps, (ir.Set(line, where(before, upto, line)),), rolled=True),
            ir.Set(line, end),
        )

    def _check(self) -> Statements:
        """Return how the pointers of a piece are looked at before any of them is followed, and, beside them, columns.

        A loop that runs on vectors reads the columns once more where the others have nothing else to wait for.
        """
        rows = self.rows
        begin, end = rows.pointer(ROW), rows.pointer(ROW + 1)
        falls = ir.Set(_WRONG, either(_WRONG, begin > end))
        ends = both(equal(_STOP, rows.rows), not_equal(rows.pointer(_STOP), rows.entries))
        outside = either(rows.pointer(_STOP) > rows.entries, ends)
        starts = both(equal(_FIRST, ZERO), not_equal(rows.pointer(_FIRST), ZERO))
        check: Statements = (
            ir.Set(_WRONG, either(outside, starts)),
            ir.Loop(ROW, _FIRST, _STOP, (falls,)),
        )
        if self._beside:
            look = (
                ir.Set(BEGIN, rows.pointer(_FIRST)),
                ir.Set(END, rows.pointer(_STOP)),
                rows.for_each_entry(*self._note()),
                ir.Set(_WRONG, self._is_outside()),
            )
            check = (*check, ir.If(both(negation(_WRONG), _FIRST < _STOP), look))
        if rows.op is ROW_NUMBERS:
            return check
        return (ir.Set(self._largest, ir.literal(0, self._largest.dtype)), *check)

    def _note(self) -> Statements:
        """Return how the largest column is kept."""
        word = self.rows.index_word()
        return (ir.Set(self._largest, ir.apply("maximum", self._largest, word)),)

    def _is_wrong(self) -> ir.Expr:
        """Return whether a pointer or a column of the piece is wrong."""
        return _WRONG if self.rows.op is ROW_NUMBERS else either(_WRONG, self._is_outside())

    def _is_outside(self) -> ir.Expr:
        """Return whether a column is none."""
        largest = ir.apply("to_index", self._largest, dtype=ir.INDEX)
        return largest >= self.rows.index_limit()

    def for_each_entry(self, *body: ir.Statement, packed: bool = False) -> Statements:
        """Return the loops over the elements of a row; where columns are not looked at beside them, they do that."""
        note = () if self._beside or self.rows.checked else self._note()
        body = (*note, *body)
        if self._unrolled:
            return unrolled([body])
        return (self.rows.for_each_entry(*body, packed=packed),)

    def place(self) -> ir.Expr:
        """Return the column of the element that is looked at; the last one where it is none, and not known to be."""
        column = self.rows.column()
        known = self._beside or self.rows.checked
        return column if known else smaller(column, self.rows.columns - 1)

    def _begin(self) -> Statements:
        """Return how a result that rows are added to begins."""
        if self.rows.op is not TRANSPOSED_SPARSE_MATMUL:
            return ()
        buffer = self.result.buffer
        position = summed(self._start, COLUMN)
        zero = ir.Store(buffer, position, ir.literal(0, buffer.dtype))
        return (ir.Loop(COLUMN, ZERO, self._size, (zero,), long=True),)

    def for_each_column(self, make: Callable[[ir.Expr], Statements]) -> Statements:
        """Return the loop over the columns of dense factors; none where they have one."""
        if self.rows.width == 1:
            return make(ZERO)
        width = self.numbers.take(self.rows.width, "width")
        return (ir.Loop(COLUMN, ZERO, width, make(COLUMN)),)

    def _sum(self) -> Launch:
        """Return the kernel that adds up the results that were made side by side."""
        numbers = Numbers()
        size = numbers.take(self.real_size, "size")
        dtype = self.result.buffer.dtype
        parts = ir.Buffer("p0", dtype, ir.Role.INPUT)
        loads = [
            ir.load(parts, _UNIT + size * part if part else _UNIT) for part in range(self.results)
        ]
        store = ir.Store(ir.Buffer("y0", dtype, ir.Role.OUTPUT), _UNIT, sum(loads[1:], loads[0]))
        loop = ir.Loop(_UNIT, ir.START, ir.STOP, (store,), parallel=True)
        kernel = assembled((loop,), numbers, (), (f"sums of {self.results}: {dtype}",))
        return Launch(kernel, tuple(numbers.values), self.real_size, _SUMS)
