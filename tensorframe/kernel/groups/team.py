"""Teams: how a group of threads takes in rows, and what every pass over them is put together from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, accumulator, reductions_in
from tensorframe.kernel.groups.order import (
    Order,
    Place,
    Span,
    Total,
    Turns,
    Work,
    divided,
)
from tensorframe.kernel.ir.loops import ZERO, digits, digits_after, smaller
from tensorframe.kernel.nest.nest import Nest
from tensorframe.quick_tuples import NamedTuple

_ONE = ir.literal(1, ir.INDEX)
Totals = Mapping[int, Total]  # by the reductions that they are of


class Numbers(NamedTuple):
    """The length of a row, a strip and a chunk, how many chunks rows and strips have, and how many rows there are.

    `apart` says whether loops over strips are apart from those along them.
    """

    order: Order
    length: ir.Expr
    strip: ir.Expr
    chunk: ir.Expr
    chunks: ir.Expr
    pieces: ir.Expr
    rows: ir.Expr
    apart: bool

    @property
    def row(self) -> Span:
        """Where a row begins and ends."""
        return ZERO, self.length, self.order.length

    @property
    def all_chunks(self) -> Span:
        """Where the chunks of a row begin and end."""
        return ZERO, self.chunks, self.order.chunks

    def span(self, chunk: ir.Expr) -> Span:
        """Where a chunk begins and ends: in its strip, if it has one, see `strip_of`."""
        if self.order.chunks == 1:
            return self.row
        if self.strip_of(chunk) is not None:
            first, last = self._piece(chunk) * self.chunk, self.strip
        elif self.order.strip < self.order.length and self.order.pieces > 1:
            begin = self._number(chunk) * self.strip
            first, last = begin + self._piece(chunk) * self.chunk, begin + self.strip
        else:
            first, last = chunk * self.chunk, self.length
        return first, smaller(first + self.chunk, last), self.order.chunk

    def strip_of(self, chunk: ir.Expr) -> ir.Expr | None:
        """Return the strip that a chunk is in; None where it has several, or loops run along strips and across."""
        if not self.apart or not self.order.in_one_strip or self.order.chunks == 1:
            return None
        return self._number(chunk)

    def _number(self, chunk: ir.Expr) -> ir.Expr:
        if self.order.pieces == 1:
            return chunk
        return ir.apply("floor_divide", chunk, self.pieces)

    def _piece(self, chunk: ir.Expr) -> ir.Expr:
        return ZERO if self.order.pieces == 1 else ir.apply("remainder", chunk, self.pieces)


def numbers_of(form: Form, order: Order) -> Numbers:
    """Return the numbers of rows, as arguments."""
    take = form.body.numbers.take
    return Numbers(
        order,
        take(order.length, "length"),
        take(order.strip, "strip"),
        take(order.chunk, "chunk"),
        take(order.chunks, "chunks"),
        take(order.pieces, "pieces"),
        take(form.body.nest.rows, "rows"),
        has_strips(form.body.nest, order),
    )


def has_strips(nest: Nest, order: Order) -> bool:
    """Whether loops over strips are apart from those along them."""
    return len(nest.outer) > 0 and prod(nest.sizes[nest.outer.stop :]) == order.strip


def set_indices(
    form: Form, row: ir.Expr, place: ir.Expr | Place, strip: ir.Expr | None = None
) -> None:
    """Put a form at an element of a row, or of a strip of it."""
    body = form.body
    first = len(body.nest.kept)
    body.indices = digits(row, body.sizes[:first])
    if strip is not None:
        last = body.nest.outer.stop
        body.indices += digits(strip, body.sizes[first:last])
        first = last
    if not isinstance(place, Place):
        body.indices += digits(place, body.sizes[first:])
    elif body.nest.sizes[-1] < place.most:
        body.indices += digits(place.start + place.step, body.sizes[first:])
    else:
        body.indices += digits_after(place.start, place.step, body.sizes[first:])


def totals_in(form: Form, number: int) -> Totals:
    """Return the totals of the reductions that run in a pass."""
    return {value: total_of(form, value) for value in reductions_in(form, number)}


def total_of(form: Form, value: int) -> Total:
    """Return the total of a reduction."""
    return Total(form.accumulation(value), accumulator(form, value))


def begun(totals: Totals) -> list[ir.Statement]:
    """Return the statements that empty totals."""
    return [total.begin() for total in totals.values()]


def parts_of(totals: Totals, name: str) -> Totals:
    """Return what parts of totals are accumulated in."""
    return {value: total.part(name) for value, total in totals.items()}


def taken(form: Form, totals: Totals) -> list[ir.Statement]:
    """Return the statements that take the elements at the form's indices into totals."""
    return [
        total.take(total.how.take(form.body.operand(value, 0))) for value, total in totals.items()
    ]


def joined(totals: Totals, parts: Totals) -> list[ir.Statement]:
    """Return the statements that take parts into totals."""
    return [total.take(parts[value].variable) for value, total in totals.items()]


def stored(form: Form, number: int) -> list[ir.Statement]:
    """Return the statements that write what a pass has for each element."""
    return [form.store(value) for value in form.stages.stores[number]]


def combined(total: Total, width: int = 0) -> ir.Combine:
    """Return the statement that joins the totals of a group's threads, or of so many neighbours."""
    other = ir.variable(f"{total.variable.name}_other", total.variable.dtype)
    return ir.Combine(total.variable, other, total.how.join(total.variable, other), width)


def by_one_lane(stores: Sequence[ir.Statement]) -> list[ir.Statement]:
    """Return the statements for one thread of the group."""
    if not stores:
        return []
    return [ir.Loop(ir.index("once"), ZERO, _ONE, tuple(stores), over=ir.ParallelAxis.LANES)]


class Team:
    """How a group takes in rows: neighbouring threads for each, every one of them a slot.

    `row` is a thread's row and `slot` its slot; `place` is the element whose turn it is, of `span`. Threads take it in
    `in_runs`, as sums have to be, or by neighbouring elements.
    """

    def __init__(
        self, lanes: int, slots: int, span: Span, height: ir.Expr = ZERO, *, in_runs: bool = True
    ) -> None:
        self.lanes = lanes
        self.rows = lanes // slots
        """How many rows a group takes in, of `height`."""
        self._slots = slots
        self._height = height
        self._span = span
        self._lane, self.index = ir.index("lane"), ir.index("row" if self.rows == 1 else "block")
        self.row: ir.Expr = self.index
        self.slot: ir.Expr = self._lane
        if self.rows > 1:
            count = ir.literal(slots, ir.INDEX)
            self.slot = ir.apply("remainder", self._lane, count)
            self.row = self.index * self.rows + ir.apply("floor_divide", self._lane, count)
        self._turns = Turns("k", slots, span, self.slot) if in_runs else None
        if self._turns is not None:
            self.place = self._turns.place
        elif self.rows > 1:
            self.place = self.slot + ir.index("turn") * slots
        else:
            self.place = ir.index("k")

    @property
    def in_run(self) -> ir.Expr | Place:
        """The element whose turn it is, in steps along a run if it has one."""
        return self.place if self._turns is None else self._turns.in_run

    def nth(self, before: ir.Expr = ZERO) -> ir.Expr:
        """Return a number of the element in its group: that of the thread after all threads' earlier ones.

        The thread has had so many elements `before` those of the span. Only where it takes them `in_runs`.
        """
        assert self._turns is not None
        own = self._turns.nth if before is ZERO else before + self._turns.nth
        return own * self.lanes + self._lane

    def all(self, *statements: ir.Statement) -> ir.Loop:
        """Return statements for every thread."""
        count = ir.literal(self.lanes, ir.INDEX)
        return ir.Loop(self._lane, ZERO, count, statements, over=ir.ParallelAxis.LANES)

    def guarded(self, *statements: ir.Statement) -> tuple[ir.Statement, ...]:
        """Return statements for the threads that have a row."""
        return statements if self.rows == 1 else (ir.If(self.row < self._height, statements),)

    def each(self, *statements: ir.Statement) -> ir.Loop:
        """Return the loop of statements for the threads that have a row."""
        return self.all(*self.guarded(*statements))

    def once(self, statements: Sequence[ir.Statement]) -> list[ir.Statement]:
        """Return statements for one thread of each row: all have the results."""
        if not statements:
            return []
        if self.rows == 1:
            return by_one_lane(statements)
        return [self.each(ir.If(ir.compare("equal", self.slot, ZERO), tuple(statements)))]

    def along(self, work: Work) -> ir.Loop:
        """Return the loop over elements that are `work` for the threads of a row; `each` alone if not `in_runs`."""
        if self._turns is not None:
            return self.each(self._turns.loops(work))
        first, last, _ = self._span
        if self.rows == 1:
            return ir.Loop(ir.index("k"), first, last, tuple(work.each), over=ir.ParallelAxis.LANES)
        turn = ir.Loop(
            ir.index("turn"), ZERO, divided(last - self.slot, self._slots), tuple(work.each)
        )
        return self.each(turn)

    def combined(self, total: Total) -> ir.Combine:
        """Return the statement that joins the slots of each row."""
        return combined(total, self._slots if self.rows > 1 else 0)

    def groups(self, statements: Sequence[ir.Statement]) -> tuple[ir.Statement, ...]:
        """Return the loop over all groups' rows."""
        over = ir.ParallelAxis.GROUPS
        return (
            ir.Loop(self.index, ir.START, ir.STOP, tuple(statements), parallel=True, over=over),
        )
