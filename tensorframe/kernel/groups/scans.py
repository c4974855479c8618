"""Scans of long rows by work-groups: a row is taken in block by block, the threads' elements are scanned together.

Within a block every thread takes in what a thread 1, 2, 4 ... before it has, in shared memory; what comes before the
block is carried along. Of few long rows, groups scan pieces: the totals of pieces first, then the totals themselves,
then each piece after what comes before it. Blocks and pieces depend on sizes alone: the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass
from tensorframe.kernel.groups.reductions import by_one_lane, combined, stored, taken, totals_in
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.math.accumulate import Accumulation

_ONE = ir.literal(1, ir.INDEX)


@dataclass(slots=True)
class Blocks:
    """The blocks of `lanes` elements between `first` and `last` that a group takes in, and the memory it scans in."""

    lanes: int
    first: ir.Expr
    last: ir.Expr
    memory: dict[str, ir.Buffer] = field(default_factory=dict)

    @property
    def place(self) -> ir.Expr:
        """Return where in its row a thread is: only before the end there is an element."""
        return self.first + ir.index("block") * self.lanes + ir.index("lane")

    def allocated(self) -> list[ir.Statement]:
        """Return the statements that make the memory."""
        return [ir.Allocate(one, ir.literal(self.lanes, ir.INDEX)) for one in self.memory.values()]

    def lanewise(self, *statements: ir.Statement) -> ir.Loop:
        """Return statements for every thread; `lane` is its number."""
        count = ir.literal(self.lanes, ir.INDEX)
        return ir.Loop(ir.index("lane"), ZERO, count, statements, over=ir.ParallelAxis.LANES)

    def inside(self, statements: Iterable[ir.Statement]) -> ir.If:
        """Return statements for the threads that have an element."""
        return ir.If(self.place < self.last, tuple(statements))

    def loop(self, statements: Iterable[ir.Statement]) -> ir.Loop:
        """Return the loop over blocks."""
        length = ir.apply("maximum", self.last, self.first) - self.first
        count = ir.apply(
            "floor_divide", length + (self.lanes - 1), ir.literal(self.lanes, ir.INDEX)
        )
        return ir.Loop(ir.index("block"), ZERO, count, tuple(statements))

    def scanned(
        self, how: Accumulation, total: ir.Variable, carry: ir.Variable, element: ir.Expr
    ) -> list[ir.Statement]:
        """Return the statements after which `total` is the scan up to a thread's element, and `carry` of the block."""
        memory = self.memory.setdefault(
            how.dtype.name, ir.Buffer(f"scan_{how.dtype.name}", how.dtype, ir.Role.SHARED)
        )
        other = ir.variable(f"{total.name}_other", total.dtype)
        lane, level = ir.index("lane"), ir.index("level")
        shift = ir.apply("bitwise_left_shift", _ONE, level)
        fetch = (
            ir.Set(other, how.start()),
            ir.If(lane >= shift, (ir.Set(other, ir.load(memory, lane - shift)),)),
        )
        add = (ir.Set(total, how.join(other, total)), ir.Store(memory, lane, total))
        turn = (self.lanewise(*fetch), ir.Barrier(), self.lanewise(*add), ir.Barrier())
        levels = ir.literal(self.lanes.bit_length() - 1, ir.INDEX)
        return [
            self.lanewise(
                ir.Set(total, how.start()),
                self.inside([ir.Set(total, element)]),
                ir.Store(memory, lane, total),
            ),
            ir.Barrier(),
            ir.Loop(level, ZERO, levels, turn),
            self.lanewise(
                ir.Set(total, how.join(carry, total)),
                ir.Set(
                    carry, how.join(carry, ir.load(memory, ir.literal(self.lanes - 1, ir.INDEX)))
                ),
            ),
            ir.Barrier(),
        ]


def scan_pass(
    form: Form, number: int, blocks: Blocks, before: Mapping[int, ir.Expr]
) -> list[ir.Statement]:
    """Return a pass over the blocks of a row; `before` is what comes before the first one, if it is not the row's."""
    begin: list[ir.Statement] = []
    work: list[ir.Statement] = []
    for value in form.stages.scans[number]:
        how, total = form.accumulation(value), accumulator(form, value)
        carry = ir.variable(f"{total.name}_carry", total.dtype)
        begin.append(ir.Set(carry, before.get(value, how.start())))
        element = how.take(form.body.operand(value, 0))
        work += blocks.scanned(how, total, carry, element)
        form.body.define_element(value, form.finished(value, total))
    totals = totals_in(form, number)
    others = [*taken(form, totals), *stored(form, number)]
    if others:
        work.append(blocks.lanewise(blocks.inside(others)))
    begin += [total.begin() for total in totals.values()]
    return [*begin, blocks.loop(work), *map(combined, totals.values())] if work else []


def scanned_rows(form: Form, lanes: int) -> tuple[ir.Statement, ...]:
    """A work-group for each row, in as many passes as there are."""
    body, stages = form.body, form.stages
    row, count = ir.index("row"), len(body.nest.kept)
    length = body.numbers.take(body.nest.row_length, "length")
    blocks = Blocks(lanes, ZERO, length)
    body.indices = [
        *digits(row, body.sizes[:count]),
        *digits(blocks.place, body.sizes[count:]),
    ]
    statements: list[ir.Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        statements += scan_pass(form, number, blocks, {})
        finish_pass(form, number)
    body.begin_pass()
    statements += by_one_lane(form.row_stores())
    loop = ir.Loop(
        row, ir.START, ir.STOP, tuple(statements), parallel=True, over=ir.ParallelAxis.GROUPS
    )
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


def totals_of_pieces(form: Form, piece: int) -> tuple[ir.Statement, ...]:
    """Totals of pieces of rows, one from each group."""
    body = form.body
    part, along = ir.index("part"), ir.index("k")
    first, last, _, row = _piece(form, part, piece)
    count = len(body.nest.kept)
    body.indices = [*digits(row, body.sizes[:count]), *digits(along, body.sizes[count:])]
    before: list[ir.Statement] = []
    work: list[ir.Statement] = []
    after: list[ir.Statement] = []
    stores: list[ir.Statement] = []
    for value, buffer in form.partials.items():
        how, total = form.accumulation(value), accumulator(form, value)
        before.append(ir.Set(total, how.start()))
        work.append(ir.Set(total, how.join(total, how.take(body.operand(value, 0)))))
        other = ir.variable(f"{total.name}_other", total.dtype)
        after.append(ir.Combine(total, other, how.join(total, other)))
        stores.append(ir.Store(buffer, part, total))
    loop = ir.Loop(along, first, last, tuple(work), over=ir.ParallelAxis.LANES)
    statements = (*before, loop, *after, *by_one_lane(stores))
    return (
        ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GROUPS),
    )


def scanned_totals(
    form: Form, pieces: int, lanes: int, results: Mapping[int, ir.Buffer]
) -> tuple[ir.Statement, ...]:
    """The totals of each row's pieces scanned, by a group for each row; `results` say where to."""
    body, row = form.body, ir.index("row")
    height = body.numbers.take(body.nest.rows, "rows")
    blocks = Blocks(lanes, ZERO, body.numbers.take(pieces, "pieces"))
    position = blocks.place * height + row
    begin: list[ir.Statement] = []
    work: list[ir.Statement] = []
    for value, buffer in form.partials.items():
        how, total = form.accumulation(value), accumulator(form, value)
        carry = ir.variable(f"{total.name}_carry", total.dtype)
        begin.append(ir.Set(carry, how.start()))
        work += blocks.scanned(how, total, carry, ir.load(buffer, position))
        store = ir.Store(results[value], position, total)
        work.append(blocks.lanewise(blocks.inside([store])))
    loop = ir.Loop(
        row,
        ir.START,
        ir.STOP,
        (*begin, blocks.loop(work)),
        parallel=True,
        over=ir.ParallelAxis.GROUPS,
    )
    return (*blocks.allocated(), loop)


def scanned_pieces(form: Form, piece: int, lanes: int) -> tuple[ir.Statement, ...]:
    """Each piece of each row scanned, after what comes before it."""
    body, part = form.body, ir.index("part")
    first, last, at, row = _piece(form, part, piece)
    blocks = Blocks(lanes, first, last)
    count = len(body.nest.kept)
    body.indices = [
        *digits(row, body.sizes[:count]),
        *digits(blocks.place, body.sizes[count:]),
    ]
    height = body.numbers.take(body.nest.rows, "rows")
    earlier = (ir.apply("maximum", at, _ONE) - 1) * height + row
    before = {
        value: where(at > ZERO, ir.load(buffer, earlier), form.accumulation(value).first)
        for value, buffer in form.partials.items()
    }
    statements = tuple(scan_pass(form, 0, blocks, before))
    loop = ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GROUPS)
    return (*blocks.allocated(), loop)


def _piece(form: Form, part: ir.Expr, piece: int) -> tuple[ir.Expr, ir.Expr, ir.Expr, ir.Expr]:
    """Return where a piece begins and ends in its row, which one it is, and the number of the row."""
    numbers, nest = form.body.numbers, form.body.nest
    step, length = numbers.take(piece, "piece"), numbers.take(nest.row_length, "length")
    at, row = digits(part, [ZERO, numbers.take(nest.rows, "height")])
    return at * step, smaller(at * step + step, length), at, row
