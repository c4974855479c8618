"""Products with sparse matrices in compressed rows, for threads that run ranges of a loop.

A unit of the outermost loop is a piece of the matrices: so many rows that they and their elements together are a given
number (the merge path of Merrill and Garland, 2016, cut at whole rows). So neither long rows nor many empty ones make
one unit much longer than the others. A row is one thread's, and its products are added up in order, so bits do not
depend on threads. Where transposes multiply, a row is added to any part of the result: several results are made side
by side, as many as sizes allow, and added up. Dense factors of several columns are multiplied a block of columns at a
time (`sparse_columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tensorframe.dtypes import COMPLEX, FLOAT, bool_
from tensorframe.graph.op import Op
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_columns import in_blocks, in_separate_blocks
from tensorframe.kernel.forms.sparse_rows import (
    BEGIN,
    END,
    ENTRY,
    Matrix,
    SparseRows,
    Statements,
    Value,
    in_stack,
    size_of,
)
from tensorframe.kernel.forms.sparse_sums import (
    added,
    assigned,
    cleared,
    in_lanes,
    join,
    plus,
    product,
    side_by_side,
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
_PIECE = 1 << 16
# Results that are made side by side at most, and how many products there are for each element of them: fewer take
# less time than clearing a result, and adding it up.
_RESULTS, _REUSED = 8, 8
# Elements of a row, on average, from which several interleaved accumulators take them.
_LONG = 16
# Elements of a result that a thread adds up at a time.
_SUMS = 1 << 14

# those whose result is a dense factor
_DENSE = frozenset({SPARSE_MATMUL, TRANSPOSED_SPARSE_MATMUL})

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


def scratch_bytes(region: Region) -> int:
    """Return how much memory results that are made side by side take."""
    strides = [
        (*strides_of(shape), 1) if dtype in COMPLEX else strides_of(shape)
        for shape, dtype in region.inputs
    ]
    return sum(dtype.itemsize * size for dtype, size, _ in build_sparse(region, strides).partials)


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
        # so that no addition waits for the one before
        self._in_turns = width == 1 and rows.entry_count >= _LONG * rows.row_count
        # a loop of its own looks at the columns: it runs on vectors
        self._beside = not rows.checked and op.op is not ROW_NUMBERS and self._in_turns
        if op.op is not ROW_NUMBERS:
            self._largest = ir.variable("largest", rows.index_word().dtype)
        self._units = -(-work // piece)
        self._piece = self._numbers.take(piece, "piece")
        self._count = self._numbers.take(self._units, "units")
        steps = tuple([parts * step for step in strides_of(op.shape)])
        if op.op in _DENSE:
            steps = in_stack(steps)
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
        # one branch ends each of the short loops over elements, which is foreseen better than one of several
        every_row = ir.Loop(_ROW, _FIRST, _STOP, (*pointers, *of_row), rolled=True)
        checked: Statements = (
            *self._check(),
            *self._begin(),
            ir.If(negation(_WRONG), (every_row,)),
            ir.If(self._is_wrong(), (ir.Store(MARK, ZERO, ir.literal(1, bool_)),)),
        )
        piece = (
            *self._search(_FIRST, _UNIT),
            *self._search(_STOP, _UNIT + 1),
            *((*self._begin(), every_row) if self._rows.checked else checked),
        )
        loop = ir.Loop(_UNIT, ir.START, ir.STOP, piece, parallel=True)
        op = self._region.ops[0]
        notes = (f"{op.op.name}: {op.dtype}",)
        kernel = assembled((loop,), self._numbers, (), notes)
        first = Launch(kernel, tuple(self._numbers.values), self._units, 1)
        return (first,) if self.results == 1 else (first, self._sum())

    def _search(self, line: ir.Variable, unit: ir.Expr) -> Statements:
        """Return how the row is found in which a piece begins: with all elements and rows before it, it is the last."""
        count = self._rows.row_count
        halvings = max(count - 1, 0).bit_length()
        most, steps = (
            self._numbers.take(1 << halvings, "most"),
            self._numbers.take(halvings + 1, "steps"),
        )
        search = ir.index("search")
        upto = smaller(line + ir.apply("bitwise_right_shift", most, search), self._rows.rows)
        before = self._rows.pointer(upto - 1) + (upto - 1) < unit * self._piece
        end = where(equal(unit, self._count), self._rows.rows, line)
        return (
            ir.Set(line, ZERO),
            ir.Loop(search, ZERO, steps, (ir.Set(line, where(before, upto, line)),), rolled=True),
            ir.Set(line, end),
        )

    def _check(self) -> Statements:
        """Return how the pointers of a piece are looked at before any of them is followed, and, beside them, columns.

        A loop that runs on vectors reads the columns once more where the others have nothing else to wait for.
        """
        rows = self._rows
        begin, end = rows.pointer(_ROW), rows.pointer(_ROW + 1)
        falls = ir.Set(_WRONG, either(_WRONG, begin > end))
        ends = both(equal(_STOP, rows.rows), not_equal(rows.pointer(_STOP), rows.entries))
        outside = either(rows.pointer(_STOP) > rows.entries, ends)
        starts = both(equal(_FIRST, ZERO), not_equal(rows.pointer(_FIRST), ZERO))
        check: Statements = (
            ir.Set(_WRONG, either(outside, starts)),
            ir.Loop(_ROW, _FIRST, _STOP, (falls,)),
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
        word = self._rows.index_word()
        return (ir.Set(self._largest, ir.apply("maximum", self._largest, word)),)

    def _is_wrong(self) -> ir.Expr:
        """Return whether a pointer or a column of the piece is wrong."""
        return _WRONG if self._rows.op is ROW_NUMBERS else either(_WRONG, self._is_outside())

    def _is_outside(self) -> ir.Expr:
        """Return whether a column is none."""
        largest = ir.apply("to_index", self._largest, dtype=ir.INDEX)
        return largest >= self._rows.index_limit()

    def _for_each_entry(self, *body: ir.Statement, packed: bool = False) -> ir.Loop:
        """Return the loop over the elements of a row; where columns are not looked at beside it, it does that."""
        note = () if self._beside or self._rows.checked else self._note()
        return self._rows.for_each_entry(*note, *body, packed=packed)

    def _place(self) -> ir.Expr:
        """Return the column of the element that is looked at; the last one where it is none, and not known to be."""
        column = self._rows.column()
        known = self._beside or self._rows.checked
        return column if known else smaller(column, self._rows.columns - 1)

    def _begin(self) -> Statements:
        """Return how a result that rows are added to begins."""
        if self._rows.op is not TRANSPOSED_SPARSE_MATMUL:
            return ()
        buffer = self.result.buffer
        position = summed(self._start, _COLUMN)
        zero = ir.Store(buffer, position, ir.literal(0, buffer.dtype))
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
        data, place = rows.data(), self._place()
        sums = total(data)
        if rows.width == 1:
            term = product(data, x.element(matrix, place, ZERO))
            store = self.result.store(sums, matrix, row, ZERO)
            loops = (
                side_by_side(sums, term)
                if self._in_turns
                else (self._for_each_entry(*join(sums, term)),)
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
                for statement in self.result.store(sums, matrix, row, column)
            ]
            return (*begin, self._for_each_entry(*taken, packed=True), *stores)

        return in_blocks(rows.width, self._numbers, add_up)

    def transposed(self) -> Statements:
        """Return how a row is added to the rows of the result that its elements name."""
        rows, (x,) = self._rows, self._rows.dense
        matrix, row = rows.matrix_and_row(_ROW)
        data, place, result = rows.data(), self._place(), self.result

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
            return (*begin, self._for_each_entry(*taken, *stores, packed=True))

        def add_rest(first: ir.Expr) -> Statements:
            width = self._numbers.take(rows.width, "width")
            each = ir.Loop(_COLUMN, first, width, add(_COLUMN, x.element(matrix, row, _COLUMN)))
            return (self._for_each_entry(each),)

        if rows.width == 1:
            return (self._for_each_entry(*add(ZERO, x.element(matrix, row, ZERO))),)
        return in_separate_blocks(rows.width, self._numbers, add_block, add_rest)

    def sampled(self) -> Statements:
        """Return how the elements of a row are made of rows of both factors."""
        rows, (x, y) = self._rows, self._rows.dense
        matrix, row = rows.matrix_and_row(_ROW)
        place = self._place()

        def pair(column: ir.Expr) -> Value:
            return product(x.element(matrix, row, column), y.element(matrix, place, column))

        if rows.width == 1:
            return (self._for_each_entry(*self.result.store(pair(ZERO), ENTRY)),)
        sums = total(pair(ZERO))
        with_ = in_lanes if sums[0].dtype in FLOAT else plus
        taken = self._for_each_column(lambda column: join(sums, pair(column), with_))
        return (self._for_each_entry(*cleared(sums), *taken, *self.result.store(sums, ENTRY)),)

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


# how each of the products, and the numbers, are made of a row
_ROWS: dict[Op, Callable[[_Pieces], Statements]] = {
    SPARSE_MATMUL: _Pieces.product,
    TRANSPOSED_SPARSE_MATMUL: _Pieces.transposed,
    SAMPLED_MATMUL: _Pieces.sampled,
    ROW_NUMBERS: _Pieces.numbers,
}
