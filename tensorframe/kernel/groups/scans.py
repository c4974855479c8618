"""Scans of long rows by work-groups: a row is taken in block by block, the threads' elements are scanned together.

Within a block every thread takes in what a thread 1, 2, 4 ... before it has, in shared memory; what comes before the
block is carried along. Of few long rows, groups scan pieces: the totals of pieces first, then the totals themselves,
then each piece after what comes before it. Blocks and pieces depend on sizes alone: the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tensorframe.kernel.forms.form import Form, accumulator, finish_pass
from tensorframe.kernel.groups.reductions import by_one_lane, combined, stored, taken, totals_in
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Barrier,
    Buffer,
    Combine,
    Expr,
    If,
    Loop,
    ParallelAxis,
    Role,
    Set,
    Statement,
    Store,
    Variable,
    apply,
    index,
    literal,
    load,
    variable,
)
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.math.accumulate import Accumulation

_ONE = literal(1, INDEX)


@dataclass(slots=True)
class Blocks:
    """The blocks of `lanes` elements between `first` and `last` that a group takes in, and the memory it scans in."""

    lanes: int
    first: Expr
    last: Expr
    memory: dict[str, Buffer] = field(default_factory=dict)

    @property
    def place(self) -> Expr:
        """Return where in its row a thread is: only before the end there is an element."""
        return self.first + index("block") * self.lanes + index("lane")

    def allocated(self) -> list[Statement]:
        """Return the statements that make the memory."""
        return [Allocate(one, literal(self.lanes, INDEX)) for one in self.memory.values()]

    def lanewise(self, *statements: Statement) -> Loop:
        """Return statements for every thread; `lane` is its number."""
        count = literal(self.lanes, INDEX)
        return Loop(index("lane"), ZERO, count, statements, over=ParallelAxis.LANES)

    def inside(self, statements: Iterable[Statement]) -> If:
        """Return statements for the threads that have an element."""
        return If(self.place < self.last, tuple(statements))

    def loop(self, statements: Iterable[Statement]) -> Loop:
        """Return the loop over blocks."""
        length = apply("maximum", self.last, self.first) - self.first
        count = apply("floor_divide", length + (self.lanes - 1), literal(self.lanes, INDEX))
        return Loop(index("block"), ZERO, count, tuple(statements))

    def scanned(
        self, how: Accumulation, total: Variable, carry: Variable, element: Expr
    ) -> list[Statement]:
        """Return the statements after which `total` is the scan up to a thread's element, and `carry` of the block."""
        memory = self.memory.setdefault(
            how.dtype.name, Buffer(f"scan_{how.dtype.name}", how.dtype, Role.SHARED)
        )
        other = variable(f"{total.name}_other", total.dtype)
        lane, level = index("lane"), index("level")
        shift = apply("bitwise_left_shift", _ONE, level)
        fetch = (
            Set(other, how.start()),
            If(lane >= shift, (Set(other, load(memory, lane - shift)),)),
        )
        add = (Set(total, how.join(other, total)), Store(memory, lane, total))
        turn = (self.lanewise(*fetch), Barrier(), self.lanewise(*add), Barrier())
        levels = literal(self.lanes.bit_length() - 1, INDEX)
        return [
            self.lanewise(
                Set(total, how.start()),
                self.inside([Set(total, element)]),
                Store(memory, lane, total),
            ),
            Barrier(),
            Loop(level, ZERO, levels, turn),
            self.lanewise(
                Set(total, how.join(carry, total)),
                Set(carry, how.join(carry, load(memory, literal(self.lanes - 1, INDEX)))),
            ),
            Barrier(),
        ]


def scan_pass(
    form: Form, number: int, blocks: Blocks, before: Mapping[int, Expr]
) -> list[Statement]:
    """Return a pass over the blocks of a row; `before` is what comes before the first one, if it is not the row's."""
    begin: list[Statement] = []
    work: list[Statement] = []
    for value in form.stages.scans[number]:
        how, total = form.accumulation(value), accumulator(form, value)
        carry = variable(f"{total.name}_carry", total.dtype)
        begin.append(Set(carry, before.get(value, how.start())))
        element = how.take(form.body.operand(value, 0))
        work += blocks.scanned(how, total, carry, element)
        form.body.define_element(value, form.finished(value, total))
    totals = totals_in(form, number)
    others = [*taken(form, totals), *stored(form, number)]
    if others:
        work.append(blocks.lanewise(blocks.inside(others)))
    begin += [total.begin() for total in totals.values()]
    return [*begin, blocks.loop(work), *map(combined, totals.values())] if work else []


def scanned_rows(form: Form, lanes: int) -> tuple[Statement, ...]:
    """A work-group for each row, in as many passes as there are."""
    body, stages = form.body, form.stages
    row, count = index("row"), len(body.nest.kept)
    length = body.numbers.take(body.nest.row_length, "length")
    blocks = Blocks(lanes, ZERO, length)
    body.indices = [
        *digits(row, body.sizes[:count]),
        *digits(blocks.place, body.sizes[count:]),
    ]
    statements: list[Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        statements += scan_pass(form, number, blocks, {})
        finish_pass(form, number)
    body.begin_pass()
    statements += by_one_lane(form.row_stores())
    loop = Loop(row, START, STOP, tuple(statements), parallel=True, over=ParallelAxis.GROUPS)
    return (*blocks.allocated(), loop)


def can_be_cut(form: Form) -> bool:
    """Whether rows can be scanned in pieces: in one pass, without a scan that needs another one's results."""
    stages, region = form.stages, form.region
    first = len(region.inputs)
    scans = stages.scans[0]
    if stages.passes or not all(stages.full[value] for value in region.outputs):
        return False
    needed: set[int] = set()
    stack = [region.ops[value - first].inputs[0] for value in scans]
    while stack:
        value = stack.pop()
        if value >= first and value not in needed:
            needed.add(value)
            stack.extend(region.ops[value - first].inputs)
    return needed.isdisjoint(scans)


def totals_of_pieces(form: Form, piece: int) -> tuple[Statement, ...]:
    """Totals of pieces of rows, one from each group."""
    body = form.body
    part, along = index("part"), index("k")
    first, last, _, row = _piece(form, part, piece)
    count = len(body.nest.kept)
    body.indices = [*digits(row, body.sizes[:count]), *digits(along, body.sizes[count:])]
    before: list[Statement] = []
    work: list[Statement] = []
    after: list[Statement] = []
    stores: list[Statement] = []
    for value, buffer in form.partials.items():
        how, total = form.accumulation(value), accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, how.take(body.operand(value, 0)))))
        other = variable(f"{total.name}_other", total.dtype)
        after.append(Combine(total, other, how.join(total, other)))
        stores.append(Store(buffer, part, total))
    loop = Loop(along, first, last, tuple(work), over=ParallelAxis.LANES)
    statements = (*before, loop, *after, *by_one_lane(stores))
    return (Loop(part, START, STOP, statements, parallel=True, over=ParallelAxis.GROUPS),)


def scanned_totals(
    form: Form, pieces: int, lanes: int, results: Mapping[int, Buffer]
) -> tuple[Statement, ...]:
    """The totals of each row's pieces scanned, by a group for each row; `results` say where to."""
    body, row = form.body, index("row")
    height = body.numbers.take(body.nest.rows, "rows")
    blocks = Blocks(lanes, ZERO, body.numbers.take(pieces, "pieces"))
    position = blocks.place * height + row
    begin: list[Statement] = []
    work: list[Statement] = []
    for value, buffer in form.partials.items():
        how, total = form.accumulation(value), accumulator(form, value)
        carry = variable(f"{total.name}_carry", total.dtype)
        begin.append(Set(carry, how.start()))
        work += blocks.scanned(how, total, carry, load(buffer, position))
        store = Store(results[value], position, total)
        work.append(blocks.lanewise(blocks.inside([store])))
    loop = Loop(
        row, START, STOP, (*begin, blocks.loop(work)), parallel=True, over=ParallelAxis.GROUPS
    )
    return (*blocks.allocated(), loop)


def scanned_pieces(form: Form, piece: int, lanes: int) -> tuple[Statement, ...]:
    """Each piece of each row scanned, after what comes before it."""
    body, part = form.body, index("part")
    first, last, at, row = _piece(form, part, piece)
    blocks = Blocks(lanes, first, last)
    count = len(body.nest.kept)
    body.indices = [
        *digits(row, body.sizes[:count]),
        *digits(blocks.place, body.sizes[count:]),
    ]
    height = body.numbers.take(body.nest.rows, "rows")
    earlier = (apply("maximum", at, _ONE) - 1) * height + row
    before = {
        value: where(at > ZERO, load(buffer, earlier), form.accumulation(value).first)
        for value, buffer in form.partials.items()
    }
    statements = tuple(scan_pass(form, 0, blocks, before))
    loop = Loop(part, START, STOP, statements, parallel=True, over=ParallelAxis.GROUPS)
    return (*blocks.allocated(), loop)


def _piece(form: Form, part: Expr, piece: int) -> tuple[Expr, Expr, Expr, Expr]:
    """Return where a piece begins and ends in its row, which one it is, and the number of the row."""
    numbers, nest = form.body.numbers, form.body.nest
    step, length = numbers.take(piece, "piece"), numbers.take(nest.row_length, "length")
    at, row = digits(part, [ZERO, numbers.take(nest.rows, "height")])
    return at * step, smaller(at * step + step, length), at, row
