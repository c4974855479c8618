"""Reductions by work-groups: rows by the threads of a group each, columns by a thread each, and parts of both.

All of them add what `order.py` says, so that the form tells in no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass, reductions_in
from tensorframe.kernel.forms.parts import begin_joining
from tensorframe.kernel.groups.order import (
    Order,
    Slots,
    Span,
    Total,
    Turns,
    divided,
    is_ordered,
    slot_of,
)
from tensorframe.kernel.ir.loops import ZERO, digits, named, nested, smaller

_ONE = ir.literal(1, ir.INDEX)
Totals = Mapping[int, Total]  # by the reductions that they are of


class Numbers(NamedTuple):
    """The length of a row and that of a chunk, how many chunks a row has, and how many rows there are."""

    order: Order
    length: ir.Expr
    chunk: ir.Expr
    chunks: ir.Expr
    rows: ir.Expr

    @property
    def row(self) -> Span:
        """Where a row begins and ends."""
        return ZERO, self.length, self.order.length

    @property
    def all_chunks(self) -> Span:
        """Where the chunks of a row begin and end."""
        return ZERO, self.chunks, self.order.chunks

    def span(self, chunk: ir.Expr) -> Span:
        """Where a chunk begins and ends."""
        if self.order.chunks == 1:
            return self.row
        first = chunk * self.chunk
        return first, smaller(first + self.chunk, self.length), self.order.chunk


def numbers_of(form: Form, order: Order) -> Numbers:
    """Return the numbers of rows, as arguments."""
    take = form.body.numbers.take
    return Numbers(
        order,
        take(order.length, "length"),
        take(order.chunk, "chunk"),
        take(order.chunks, "chunks"),
        take(form.body.nest.rows, "rows"),
    )


def stand(form: Form, row: ir.Expr, place: ir.Expr) -> None:
    """Put a form at an element of a row."""
    body = form.body
    count = len(body.nest.kept)
    body.indices = [*digits(row, body.sizes[:count]), *digits(place, body.sizes[count:])]


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

    `row` is a thread's row and `slot` its slot; `place` is the element whose turn it is, of `span`.
    """

    def __init__(
        self, lanes: int, slots: int, span: Span, height: ir.Expr = ZERO, *, ordered: bool = True
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
        self._turns = self._turns_in_order() if ordered else None
        if self._turns is not None:
            self.place = self._turns.place
        elif self.rows > 1:
            self.place = self.slot + ir.index("turn") * slots
        else:
            self.place = ir.index("k")

    def _turns_in_order(self) -> Turns:
        size = ir.literal(min(ir.CLASS, self._slots), ir.INDEX)
        which, number = [ir.apply(op, self.slot, size) for op in ("floor_divide", "remainder")]
        return Turns("k", self._slots, self._span, which, number)

    def each(self, *statements: ir.Statement) -> ir.Loop:
        """Return statements for every thread that has a row."""
        lanes = ir.literal(self.lanes, ir.INDEX)
        inside = statements if self.rows == 1 else (ir.If(self.row < self._height, statements),)
        return ir.Loop(self._lane, ZERO, lanes, inside, over=ir.ParallelAxis.LANES)

    def once(self, statements: Sequence[ir.Statement]) -> list[ir.Statement]:
        """Return statements for one thread of each row: all have the results."""
        if not statements:
            return []
        if self.rows == 1:
            return by_one_lane(statements)
        return [self.each(ir.If(ir.compare("equal", self.slot, ZERO), tuple(statements)))]

    def along(self, work: Sequence[ir.Statement]) -> ir.Loop:
        """Return the loop over elements that are `work` for the threads of a row."""
        if self._turns is not None:
            return self.each(self._turns.loops(work))
        first, last, _ = self._span
        if self.rows == 1:
            return ir.Loop(ir.index("k"), first, last, tuple(work), over=ir.ParallelAxis.LANES)
        turn = ir.Loop(ir.index("turn"), ZERO, divided(last - self.slot, self._slots), tuple(work))
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


def groups_of(order: Order, rows: int) -> int:
    """Return how many groups so many rows take."""
    return -(-rows * order.slots // order.lanes)


def rows_of(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """The threads of a work-group for each row, or for several, in as many passes as the reductions need."""
    body, stages = form.body, form.stages
    numbers = numbers_of(form, order)
    team = Team(order.lanes, order.slots, numbers.row, numbers.rows)
    statements: list[ir.Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        ordered = is_ordered(form, number)
        if order.chunks > 1 and ordered:
            statements += _row_in_chunks(form, number, numbers)
        else:
            one = Team(order.lanes, order.slots, numbers.row, numbers.rows, ordered=ordered)
            statements += _by_team(form, one, team.row, number, totals_in(form, number))
        finish_pass(form, number)
    body.begin_pass()
    stand(form, team.row, team.place)
    statements += team.once(form.row_stores())
    return team.groups(statements)


def _by_team(
    form: Form, team: Team, row: ir.Expr, number: int, totals: Totals
) -> list[ir.Statement]:
    """Return the loops of a pass over a row, or a chunk of it, and the joining of slots."""
    stand(form, row, team.place)
    work = (*taken(form, totals), *stored(form, number))
    if not work:
        return []
    return [*begun(totals), team.along(work), *map(team.combined, totals.values())]


def _row_in_chunks(form: Form, number: int, numbers: Numbers) -> list[ir.Statement]:
    """Return a pass over a row of several chunks: thread by thread takes the total of a chunk into its slot."""
    chunk, order = ir.index("chunk"), numbers.order
    team = Team(order.lanes, order.slots, numbers.span(chunk))
    totals = totals_in(form, number)
    parts = parts_of(totals, "chunk")
    inside = (*_by_team(form, team, team.row, number, parts), in_turn(team, chunk, totals, parts))
    loop = ir.Loop(chunk, ZERO, numbers.chunks, inside)
    return [*begun(totals), loop, *map(team.combined, totals.values())]


def in_turn(team: Team, chunk: ir.Expr, totals: Totals, parts: Totals) -> ir.Loop:
    """Return the statement with which the thread whose turn it is takes what the chunk has into its slot."""
    mine = ir.compare("equal", team.slot, slot_of(chunk, team.lanes))
    return team.each(ir.If(mine, tuple(joined(totals, parts))))


def columns_of(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """A thread for each result, or each row of a scan."""
    body, stages = form.body, form.stages
    row = ir.index("row")
    numbers = numbers_of(form, order)
    statements: list[ir.Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        if order.in_sequence or stages.scans[number] or not is_ordered(form, number):
            statements += _in_sequence(form, number, row)
        else:
            statements += _in_slots(form, number, row, numbers)
        finish_pass(form, number)
    body.begin_pass()
    statements += form.row_stores()
    return (
        ir.Loop(
            row, ir.START, ir.STOP, tuple(statements), parallel=True, over=ir.ParallelAxis.GRID
        ),
    )


def _in_sequence(form: Form, number: int, row: ir.Expr) -> list[ir.Statement]:
    """Return a pass over a column, one element after the other."""
    body = form.body
    count, along = len(body.nest.kept), named("k", len(body.nest.reduced))
    body.indices = [*digits(row, body.sizes[:count]), *along]
    before, scanned = _scans(form, number)
    totals = totals_in(form, number)
    work = (*scanned, *taken(form, totals), *stored(form, number))
    loops = nested(along, body.sizes[count:], work) if work else ()
    return [*before, *begun(totals), *loops]


def _scans(form: Form, number: int) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """Return how the scans of a pass begin, and their steps."""
    totals = {value: total_of(form, value) for value in form.stages.scans[number]}
    work: list[ir.Statement] = []
    for value, total in totals.items():
        work += taken(form, {value: total})
        form.body.define_element(value, form.finished(value, total.variable))
    return begun(totals), work


def _in_slots(form: Form, number: int, row: ir.Expr, numbers: Numbers) -> list[ir.Statement]:
    """Return a pass over a column, chunk by chunk and slot by slot."""
    order, totals = numbers.order, totals_in(form, number)
    if order.chunks == 1:
        slots = Slots("k", order.slots, numbers.row)
        work = _taken_in_slots(form, number, row, slots, totals)
        return [*begun(totals), *slots.joined([*totals.values()], work)]
    several = Slots("chunk", order.lanes, numbers.all_chunks)
    slots = Slots("k", order.slots, numbers.span(several.place))
    parts = parts_of(totals, "chunk")
    work = _taken_in_slots(form, number, row, slots, parts)
    own = {value: several.slot(total) for value, total in totals.items()}
    inside = (*begun(parts), *slots.joined([*parts.values()], work), *joined(own, parts))
    return [*begun(totals), *several.joined([*totals.values()], inside)]


def _taken_in_slots(
    form: Form, number: int, row: ir.Expr, slots: Slots, totals: Totals
) -> list[ir.Statement]:
    """Return the work of a pass for the element whose turn it is."""
    stand(form, row, slots.place)
    own = {value: slots.slot(total) for value, total in totals.items()}
    return [*taken(form, own), *stored(form, number)]


def row_parts(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """The totals of chunks of rows, one from each group."""
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    ordered = is_ordered(form, 0)
    team = Team(order.lanes, order.slots, numbers.span(chunk), ordered=ordered)
    totals = totals_in(form, 0)
    inside = _by_team(form, team, row, 0, totals)
    ends = by_one_lane(_partial_stores(form, part, totals))
    return (
        ir.Loop(
            part, ir.START, ir.STOP, (*inside, *ends), parallel=True, over=ir.ParallelAxis.GROUPS
        ),
    )


def column_parts(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """The totals of the classes of chunks of columns, one from each thread."""
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, which, row = digits(
        part, [numbers.chunks, ir.literal(order.classes, ir.INDEX), numbers.rows]
    )
    slots = Slots("k", order.slots, numbers.span(chunk), which)
    totals = totals_in(form, 0)
    work = _taken_in_slots(form, 0, row, slots, totals)
    statements = (
        *begun(totals),
        slots.joined_in_class([*totals.values()], work),
        *_partial_stores(form, part, totals),
    )
    return (ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GRID),)


def _partial_stores(form: Form, part: ir.Expr, totals: Totals) -> list[ir.Statement]:
    return [ir.Store(form.partials[value], part, total.variable) for value, total in totals.items()]


def joined_parts(
    form: Form, order: Order, each: int, *, in_groups: bool
) -> tuple[ir.Statement, ...]:
    """The totals of chunks, each of which has so many parts, joined, and what is computed from the results."""
    row, _, height, chunks = begin_joining(form, order.chunks)
    totals = {value: total_of(form, value) for value in form.partials}
    span = (ZERO, chunks, order.chunks)
    if in_groups:
        team = Team(order.lanes, order.lanes, span)
        work = _chunk_joined(form, totals, team.place, row, height, each)
        statements: list[ir.Statement] = [team.along(work), *map(combined, totals.values())]
    else:
        slots = Slots("chunk", order.lanes, span)
        own = {value: slots.slot(total) for value, total in totals.items()}
        work = _chunk_joined(form, own, slots.place, row, height, each)
        statements = slots.joined([*totals.values()], work)
    finish_pass(form, 0)
    stores = form.row_stores()
    ends = by_one_lane(stores) if in_groups else stores
    over = ir.ParallelAxis.GROUPS if in_groups else ir.ParallelAxis.GRID
    inside = (*begun(totals), *statements, *ends)
    return (ir.Loop(row, ir.START, ir.STOP, inside, parallel=True, over=over),)


def _chunk_joined(
    form: Form,
    totals: Totals,
    chunk: ir.Expr,
    row: ir.Expr,
    height: ir.Expr,
    each: int,
) -> list[ir.Statement]:
    """Return the statements that take the total of a chunk, which has so many parts, into totals."""
    if each == 1:
        return [
            total.take(ir.load(form.partials[value], chunk * height + row))
            for value, total in totals.items()
        ]
    part = ir.index("part")
    wholes = {value: total.part("whole") for value, total in totals.items()}
    place = (chunk * each + part) * height + row
    work = [whole.take(ir.load(form.partials[value], place)) for value, whole in wholes.items()]
    return [
        *[whole.begin() for whole in wholes.values()],
        ir.Loop(part, ZERO, ir.literal(each, ir.INDEX), tuple(work)),
        *[total.take(wholes[value].variable) for value, total in totals.items()],
    ]
