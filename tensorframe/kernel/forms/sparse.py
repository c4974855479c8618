"""Products with sparse matrices in compressed rows, for threads that run ranges of a loop.

A unit of the outermost loop is a piece of the matrices: so many rows that they and their elements together are a given
number (the merge path of Merrill and Garland, 2016, cut at whole rows). So neither long rows nor many empty ones make
one unit much longer than the others. A row is one thread's, and its products are added up in order, so bits do not
depend on threads. Where transposes multiply, a row is added to any part of the result: several results are made side
by side, as many as sizes allow, and added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.dtypes import COMPLEX, FLOAT, bool_
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import (
    BEGIN,
    END,
    ENTRY,
    Matrix,
    SparseRows,
    Statements,
    Value,
    added,
    cleared,
    join,
    plus,
    product,
    size_of,
    total,
)
from tensorframe.kernel.ir.formula import both, either, equal, negation, not_equal, where
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, assembled
from tensorframe.kernel.nest.axes import summed
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.ops.sparse import (
    ROW_NUMBERS,
    SAMPLED_MATMUL,
    SPARSE_MATMUL,
    TRANSPOSED_SPARSE_MATMUL,
)

# Rows and elements of a piece, multiplied with so many columns.
_PIECE = 1 << 14
# Results that are made side by side at most, and how many products there are for each element of them.
_RESULTS, _REUSED = 8, 4
# Elements of a result that a thread adds up at a time.
_SUMS = 1 << 14

_UNIT, _ROW, _COLUMN = [ir.index(name) for name in ("unit", "row", "column")]
_WRONG = ir.variable("wrong", bool_)
_FIRST, _STOP = [ir.variable(name, ir.INDEX) for name in ("first", "last")]


def build_sparse(region: Region, strides: Sequence[Strides]) -> Built:
    """Return the kernels of one of the rows of `ops/sparse.py`; inputs have these strides, in elements."""
    (op,) = region.ops
    real = [
        (*[2 * step for step in own[:-1]], 1) if dtype in COMPLEX else own
        for own, (_, dtype) in zip(strides, region.inputs, strict=True)
    ]
    kernel = _Pieces(region, real)
    launches = kernel.launches()
    partials = (
        ((kernel.result.buffer.dtype, kernel.results * kernel.real_size, 0),)
        if kernel.results > 1
        else ()
    )
    return Built(launches, partials, (tuple(range(len(op.shape))),))


class _Pieces:
    """The loops over pieces of sparse matrices."""

    def __init__(self, region: Region, strides: Sequence[Strides]) -> None:
        (op,) = region.ops
        self._region, self._numbers = region, Numbers()
        self._rows = rows = SparseRows(region, strides, self._numbers)
        dtype = op.dtype
        parts = 2 if dtype in COMPLEX else 1
        self.real_size = parts * size_of(region)
        work = rows.row_count + rows.entry_count
        width = 1 if op.op is ROW_NUMBERS else rows.width
        self.results, piece = 1, max(_PIECE // max(width, 1), 64)
        if op.op is TRANSPOSED_SPARSE_MATMUL:
            products = rows.entry_count * width
            most = min(products // (_REUSED * max(size_of(region), 1)), products // _PIECE)
            self.results = max(1, min(most, _RESULTS))
            piece = -(-work // self.results)
        self._units = -(-work // piece)
        self._piece = self._numbers.take(piece, "piece")
        self._count = self._numbers.take(self._units, "units")
        steps = tuple([parts * step for step in strides_of(op.shape)])
        size = self._size = self._numbers.take(self.real_size, "size")
        several = self.results > 1
        self._start = _UNIT * size if several else ZERO
        name = "p0" if several else "y0"
        self.result = Matrix(name, dtype, steps, ir.Role.OUTPUT, self._numbers, self._start)

    def launches(self) -> tuple[Launch, ...]:
        """Return the kernel over pieces, and the one that adds several results up."""
        of_row = _ROWS[self._rows.op](self)
        pointers = (
            ir.Set(BEGIN, self._rows.pointer(_ROW)),
            ir.Set(END, self._rows.pointer(_ROW + 1)),
        )
        piece = (
            *self._search(_FIRST, _UNIT),
            *self._search(_STOP, _UNIT + 1),
            *self._check(),
            *self._begin(),
            ir.If(negation(_WRONG), (ir.Loop(_ROW, _FIRST, _STOP, (*pointers, *of_row)),)),
        )
        loop = ir.Loop(_UNIT, ir.START, ir.STOP, piece, parallel=True)
        op = self._region.ops[0]
        notes = (f"{op.op.name}: {op.dtype}",)
        kernel = assembled((loop,), self._numbers, (), notes)
        first = Launch(kernel, tuple(self._numbers.values), self._units, 1)
        return (first,) if self.results == 1 else (first, self._sum())

    def _search(self, found: ir.Variable, unit: ir.Expr) -> Statements:
        """Return how the row is found in which a piece begins: with all elements and rows before it, it is the last."""
        count = self._rows.row_count
        halvings = max(count - 1, 0).bit_length()
        most, steps = (
            self._numbers.take(1 << halvings, "most"),
            self._numbers.take(halvings + 1, "steps"),
        )
        search = ir.index("search")
        upto = smaller(found + ir.apply("bitwise_right_shift", most, search), self._rows.rows)
        before = self._rows.pointer(upto - 1) + (upto - 1) < unit * self._piece
        end = where(equal(unit, self._count), self._rows.rows, found)
        return (
            ir.Set(found, ZERO),
            ir.Loop(search, ZERO, steps, (ir.Set(found, where(before, upto, found)),)),
            ir.Set(found, end),
        )

    def _check(self) -> Statements:
        """Return how the pointers and columns of a piece are looked at before any of them is followed.

        They are read twice, but in loops that run on vectors; the others need not look at each one.
        """
        rows, column = self._rows, ir.variable("largest", ir.INDEX)
        begin, end = rows.pointer(_ROW), rows.pointer(_ROW + 1)
        falls = ir.Set(_WRONG, either(_WRONG, begin > end))
        ends = both(equal(_STOP, rows.rows), not_equal(rows.pointer(_STOP), rows.entries))
        outside = either(rows.pointer(_STOP) > rows.entries, ends)
        starts = both(equal(_FIRST, ZERO), not_equal(rows.pointer(_FIRST), ZERO))
        check: Statements = (
            ir.Set(_WRONG, either(outside, starts)),
            ir.Loop(_ROW, _FIRST, _STOP, (falls,)),
        )
        if rows.op is not ROW_NUMBERS:
            largest = ir.Set(column, ir.apply("maximum", column, rows.column()))
            look = (
                ir.Set(column, ZERO),
                ir.Set(BEGIN, rows.pointer(_FIRST)),
                ir.Set(END, rows.pointer(_STOP)),
                rows.for_each_entry(largest),
                ir.Set(_WRONG, column >= rows.columns),
            )
            check = (*check, ir.If(both(negation(_WRONG), _FIRST < _STOP), look))
        return (*check, ir.If(_WRONG, (ir.Store(MARK, ZERO, ir.literal(1, bool_)),)))

    def _begin(self) -> Statements:
        """Return how a result that rows are added to begins."""
        if self._rows.op is not TRANSPOSED_SPARSE_MATMUL:
            return ()
        buffer = self.result.buffer
        at = summed(self._start, _COLUMN)
        zero = ir.Store(buffer, at, ir.literal(0, buffer.dtype))
        return (ir.Loop(_COLUMN, ZERO, self._size, (zero,), long=True),)

    def _for_each_column(self, make: Callable[[ir.Expr], Statements]) -> Statements:
        """Return the loop over the columns of dense factors; none where they have one."""
        if self._rows.width == 1:
            return make(ZERO)
        width = self._numbers.take(self._rows.width, "width")
        return (ir.Loop(_COLUMN, ZERO, width, make(_COLUMN)),)

    # --- rows

    def product(self) -> Statements:
        """Return how a row of the product is made."""
        rows, (x,) = self._rows, self._rows.dense
        matrix, row = rows.matrix_and_row(_ROW)
        data, place = rows.data(), rows.column()
        sums = total(data)
        if rows.width == 1:
            taken = join(sums, product(data, x.element(matrix, place, ZERO)))
            store = self.result.store(sums, matrix, row, ZERO)
            return (*cleared(sums), rows.for_each_entry(*taken), *store)

        def add(column: ir.Expr) -> Statements:
            so_far = self.result.element(matrix, row, column)
            return self.result.store(
                added(so_far, product(data, x.element(matrix, place, column))), matrix, row, column
            )

        zero = tuple([ir.literal(0, own.dtype) for own in data])
        begin = self._for_each_column(lambda column: self.result.store(zero, matrix, row, column))
        return (*begin, rows.for_each_entry(*self._for_each_column(add)))

    def transposed(self) -> Statements:
        """Return how a row is added to the rows of the result that its elements name."""
        rows, (x,) = self._rows, self._rows.dense
        matrix, row = rows.matrix_and_row(_ROW)
        data, place, result = rows.data(), rows.column(), self.result

        def add(column: ir.Expr) -> Statements:
            so_far = result.element(matrix, place, column)
            return result.store(
                added(so_far, product(data, x.element(matrix, row, column))), matrix, place, column
            )

        return (rows.for_each_entry(*self._for_each_column(add)),)

    def sampled(self) -> Statements:
        """Return how the elements of a row are made of rows of both factors."""
        rows, (x, y) = self._rows, self._rows.dense
        matrix, row = rows.matrix_and_row(_ROW)
        place = rows.column()

        def pair(column: ir.Expr) -> Value:
            return product(x.element(matrix, row, column), y.element(matrix, place, column))

        if rows.width == 1:
            return (rows.for_each_entry(*self.result.store(pair(ZERO), ENTRY)),)
        sums = total(pair(ZERO))
        with_ = _in_lanes if sums[0].dtype in FLOAT else plus
        taken = self._for_each_column(lambda column: join(sums, pair(column), with_))
        return (rows.for_each_entry(*cleared(sums), *taken, *self.result.store(sums, ENTRY)),)

    def numbers(self) -> Statements:
        """Return how the elements of a row get its number."""
        number = ir.apply("from_index", _ROW, dtype=self.result.buffer.dtype)
        return (self._rows.for_each_entry(*self.result.store((number,), ENTRY)),)

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


def _in_lanes(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return a sum in the order of lanes, which vectors have."""
    return ir.apply("accumulate_add", x, y, dtype=x.dtype)


# how each of the products, and the numbers, are made of a row
_ROWS: dict[Op, Callable[[_Pieces], Statements]] = {
    SPARSE_MATMUL: _Pieces.product,
    TRANSPOSED_SPARSE_MATMUL: _Pieces.transposed,
    SAMPLED_MATMUL: _Pieces.sampled,
    ROW_NUMBERS: _Pieces.numbers,
}
