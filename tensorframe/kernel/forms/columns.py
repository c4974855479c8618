"""Columns (strip mining): operands are contiguous along a kept axis, and neighbouring columns advance together.

The reduce loop is outside, so that rows are read as they are in memory: on 2048 rows of 1024, that is 91 times faster
than one column after the other. Where there are few columns, they are cut into chunks that give partial results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tensorframe.dtypes import DType, bool_, float32, float64
from tensorframe.kernel.forms.form import Form, reductions_in
from tensorframe.kernel.forms.parts import PIECE, sample, unit_of
from tensorframe.kernel.ir import (
    INDEX,
    START,
    STOP,
    Allocate,
    Apply,
    Buffer,
    Expr,
    If,
    Index,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    apply,
    index,
    literal,
    load,
    order,
    variable,
)
from tensorframe.kernel.ir.loops import ZERO, digits, flat, named, nested, smaller
from tensorframe.kernel.ir.walk import substituted_in
from tensorframe.kernel.math.accumulate import Accumulation
from tensorframe.kernel.math.scalars import converted

# Elements of a column that are taken in while its accumulator is in a register; the compiler writes them out.
_GROUP = 8
_AT = index("at")
# Operations for an element up to which that pays.
_LIGHT = 12.0
# Elements whose mean is the pivot of a chunk of a column: see kernel/forms/deviations.py.
_COLUMN_SAMPLE = 32


@dataclass(slots=True)
class _Total:
    """A reduction in a block of columns: one accumulator for each column, in scratch memory."""

    memory: Buffer
    how: Accumulation
    element: Expr  # of the operand
    short: bool  # whether pieces are summed in float32
    lanes: Buffer | None = None  # of an ordered one, in a piece: LANES accumulators for each column
    tail: Buffer | None = None  # and what they are joined to
    partial: Buffer | None = None  # where results of pieces go, if not to `memory`

    @property
    def op(self) -> str:
        """The op that joins lanes."""
        joined = self.how.join(self.element, self.element)
        assert isinstance(joined, Apply)
        return order.STRICT[joined.op]

    @property
    def neutral(self) -> Expr:
        """What a lane begins with."""
        assert self.lanes is not None
        value = {"add": -0.0, "multiply": 1.0}[self.op]
        return literal(value, self.lanes.dtype)

    def taken(self) -> Expr:
        """Return the element as a lane takes it in."""
        assert self.lanes is not None
        return converted(self.element, float32) if self.short else self.how.take(self.element)


@dataclass(slots=True)
class _Columns:
    """The loops of a block of columns: `lane` runs from `base` to `end`, `slot` is its place in scratch memory."""

    form: Form
    lane: Index
    base: Expr
    end: Expr
    width: Expr
    along: list[Index]
    lengths: list[Expr]  # of the loops over `along`
    memory: dict[Buffer, int] = field(default_factory=dict)  # and rows of as many columns

    @property
    def slot(self) -> Expr:
        return self.lane - self.base

    def across(self, work: Sequence[Statement]) -> Statement:
        return Loop(self.lane, self.base, self.end, tuple(work))

    def scratch(self, name: str, dtype: DType, rows: int = 1) -> Buffer:
        buffer = Buffer(name, dtype, Role.SCRATCH)
        self.memory.setdefault(buffer, rows)  # a scan may run in several passes
        return buffer

    def allocated(self) -> list[Statement]:
        """Return the statements that make scratch memory."""
        return [Allocate(one, self.width * rows) for one, rows in self.memory.items()]

    def total(self, value: int) -> _Total:
        """Return the accumulators of a reduction."""
        element = self.form.body.operand(value, 0)
        return self._total(value, "", element, self.form.partials.get(value))

    def _total(self, value: int, mark: str, element: Expr, partial: Buffer | None = None) -> _Total:
        how, short = self.form.accumulation(value), self.form.is_short_sum(value)
        name = f"{value}{mark}"
        if not how.ordered:
            return _Total(self.scratch(f"r{name}", how.dtype), how, element, short)
        dtype = float32 if short else how.dtype
        lanes = self.scratch(f"lanes{name}", dtype, order.LANES)
        tail = self.scratch(f"tail{name}", dtype, order.TAIL)
        if partial is not None and self.form.unit is not None:
            return _Total(partial, how, element, short, lanes, tail, partial)
        return _Total(self.scratch(f"r{name}", how.dtype), how, element, short, lanes, tail)

    def distances(self, value: int) -> tuple[_Total, _Total]:
        """Return the accumulators of distances from a pivot, and of their squares."""
        away = self.form.distance(value, load(self.pivot(value), self.slot))
        return self._total(value, "d", away), self._total(value, "q", away * away)

    def pivot(self, value: int) -> Buffer:
        """Return the memory of the columns' pivots."""
        return self.scratch(f"pivot{value}", self.form.operand_dtype(value))

    def pivots(self, value: int, first: Expr, last: Expr) -> tuple[Statement, ...]:
        """Return the loops that give each column its pivot: the mean of some elements, which float64 adds up."""
        total = self.scratch(f"r{value}d", float64)
        body = self.form.body
        element = converted(body.operand(self.form.deviations[value].centred, 0), float64)
        take = self.across([Store(total, self.slot, load(total, self.slot) + element)])
        loops, count = sample(body, self.along, first, last, (take,), _COLUMN_SAMPLE)
        mean = converted(load(total, self.slot) / count, self.form.operand_dtype(value))
        empty = self.across([Store(total, self.slot, literal(0, float64))])
        return (empty, *loops, self.across([Store(self.pivot(value), self.slot, mean)]))

    def begin(self, totals: Sequence[_Total]) -> tuple[Statement, ...]:
        """Return the loop that empties accumulators."""
        work = [
            Store(one.memory, self.slot, one.how.start()) for one in totals if one.partial is None
        ]
        return (self.across(work),) if work else ()

    def down(
        self, totals: Sequence[_Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        """Return the loops that take in all elements, along the outermost reduced axis from `first` to `last`."""
        if not totals and not stores:
            return ()
        rows = self._in_pieces if any(one.lanes for one in totals) else self._in_groups
        if len(self.along) == 1:
            return rows(totals, stores, first, last)
        inner = rows(totals, stores, ZERO, self.lengths[-1])
        middle = nested(self.along[1:-1], self.lengths[1:-1], inner)
        return (Loop(self.along[0], first, last, middle),)

    # --- pieces, of which lanes take every so many rows: see kernel/ir/order.py ---

    def _in_pieces(
        self, totals: Sequence[_Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        length = order.PIECE
        pieces = apply("floor_divide", last - first + (length - 1), literal(length, INDEX))
        start = first + PIECE * length
        stop = smaller(start + length, last)
        ordered = [one for one in totals if one.lanes]
        blocks = apply("floor_divide", stop - start, literal(order.LANES, INDEX))
        end = start + blocks * order.LANES
        whole = (
            self._rows(order.LANES, self._emptied(ordered, lanes=True)),
            *self._blocks(totals, stores, start, blocks),
            self._rows(order.TAIL, self._narrowed(ordered)),
        )
        few = self._rows(order.TAIL, self._emptied(ordered, lanes=False))
        body: tuple[Statement, ...] = (
            If(apply("less", ZERO, blocks, dtype=bool_), whole),
            If(apply("equal", blocks, ZERO, dtype=bool_), (few,)),
            self._one_by_one(totals, stores, start, end, stop),
            self.across([self._ended(one) for one in ordered]),
        )
        return (Loop(PIECE, ZERO, pieces, body),)

    def _rows(self, count: int, work: Sequence[Statement]) -> Statement:
        return Loop(_AT, ZERO, literal(count, INDEX), (self.across(work),))

    def _place(self, row: Expr) -> Expr:
        """Return where in scratch memory the column of a row of accumulators is."""
        return row * self.width + self.slot

    def _emptied(self, totals: Sequence[_Total], *, lanes: bool) -> list[Statement]:
        place = self._place(_AT)
        return [
            Store(buffer, place, one.neutral)
            for one in totals
            if (buffer := one.lanes if lanes else one.tail) is not None
        ]

    def _narrowed(self, totals: Sequence[_Total]) -> list[Statement]:
        found: list[Statement] = []
        for one in totals:
            assert one.lanes is not None
            assert one.tail is not None
            rows = range(0, order.LANES, order.TAIL)
            parts = [load(one.lanes, self._place(_AT + at)) for at in rows]
            found.append(Store(one.tail, self._place(_AT), order.halves(parts, one.op)))
        return found

    def _ended(self, one: _Total) -> Store:
        """Return the statement that joins what a piece gives to what there is, or leaves it as a partial result."""
        assert one.tail is not None
        rows = range(order.TAIL)
        parts = [load(one.tail, self._place(literal(at, INDEX))) for at in rows]
        whole = order.halves(parts, one.op)
        whole = apply(one.op, literal(one.how.first, whole.dtype), whole)
        taken = one.how.take(whole) if one.short else whole
        if one.partial is not None:
            assert self.form.unit is not None
            return Store(one.partial, self.form.unit, taken)
        return Store(one.memory, self.slot, one.how.then(load(one.memory, self.slot), taken))

    def _lane(self, one: _Total, buffer: Buffer | None, row: Expr) -> Store:
        """Return the statement that takes an element into the accumulator in this row."""
        if buffer is None:
            return self._added(one, one.element)
        place = self._place(row)
        return Store(buffer, place, apply(one.op, load(buffer, place), one.taken()))

    def _one_by_one(
        self,
        totals: Sequence[_Total],
        stores: list[Statement],
        start: Expr,
        first: Expr,
        last: Expr,
        *,
        whole: bool = False,
    ) -> Statement:
        """Take in rows in their order; those of `whole` blocks go to lanes."""
        along = self.along[-1]
        count = order.LANES if whole else order.TAIL
        row = apply("bitwise_and", along - start, literal(count - 1, INDEX))
        taken = [self._lane(one, one.lanes if whole else one.tail, row) for one in totals]
        return Loop(along, first, last, (self.across([*taken, *stores]),))

    def _blocks(
        self, totals: Sequence[_Total], stores: list[Statement], start: Expr, blocks: Expr
    ) -> tuple[Statement, ...]:
        """Take in whole blocks; of each lane several elements at a time, while its accumulator is in a register."""
        end = start + blocks * order.LANES
        if self._take_one() or any(self.form.stages.scans):
            return (self._one_by_one(totals, stores, start, start, end, whole=True),)
        group, turn, along = index("group"), index("turn"), self.along[-1]
        groups = apply("floor_divide", blocks, literal(_GROUP, INDEX))
        row = start + (group * _GROUP + turn) * order.LANES + _AT
        few = [self._few(one) for one in totals]
        takes = substituted_in([*[one.take for one in few], *stores], {along: row})
        several: tuple[Statement, ...] = (
            *[one.begin for one in few],
            Loop(turn, ZERO, literal(_GROUP, INDEX), takes),
            *[one.end for one in few],
        )
        rest = start + groups * (_GROUP * order.LANES)
        return (
            Loop(group, ZERO, groups, (self._rows(order.LANES, several),)),
            self._one_by_one(totals, stores, start, rest, end, whole=True),
        )

    # --- everything else, in any order ---

    def _take_one(self) -> bool:
        """Whether loading and storing accumulators for each element does not matter, or groups would be cut up."""
        divided = any(one.steps[-1] for one in self.form.body.nest.pieces.values())
        return divided or self.form.cost > _LIGHT

    def _in_groups(
        self, totals: Sequence[_Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        """Take in several elements of each column while its accumulator is in a register."""
        single = [self._added(one, one.element) for one in totals]
        if not totals or self._take_one() or any(self.form.stages.scans):
            return (Loop(self.along[-1], first, last, (self.across([*single, *stores]),)),)
        group, along = index("group"), self.along[-1]
        groups = apply("floor_divide", last - first, literal(_GROUP, INDEX))
        few = [self._few(one) for one in totals]
        start = first + group * _GROUP
        several: tuple[Statement, ...] = (
            *[one.begin for one in few],
            Loop(along, start, start + _GROUP, (*[one.take for one in few], *stores)),
            *[one.end for one in few],
        )
        return (
            Loop(group, ZERO, groups, (self.across(several),)),
            Loop(along, first + groups * _GROUP, last, (self.across([*single, *stores]),)),
        )

    def _added(self, one: _Total, element: Expr) -> Store:
        """Return the statement that takes one element into its column's accumulator."""
        total = load(one.memory, self.slot)
        return Store(one.memory, self.slot, one.how.join(total, one.how.take(element)))

    def _few(self, one: _Total) -> _Few:
        """Return the statements around and in a loop over a few elements of a column."""
        name = f"a{one.memory.name[1:]}"
        if one.lanes is not None:
            few, place = variable(name, one.lanes.dtype), self._place(_AT)
            return _Few(
                Set(few, load(one.lanes, place)),
                Set(few, apply(one.op, few, one.taken())),
                Store(one.lanes, place, few),
            )
        few = variable(name, one.how.dtype)
        return _Few(
            Set(few, load(one.memory, self.slot)),
            Set(few, one.how.join(few, one.how.take(one.element))),
            Store(one.memory, self.slot, few),
        )


@dataclass(frozen=True, slots=True)
class _Few:
    """What is done with a few elements of a column: before, with each, and afterwards."""

    begin: Set
    take: Set
    end: Store


def columns(form: Form, width: int) -> tuple[Statement, ...]:
    """Blocks of `width` neighbouring columns, each in as many passes as the reductions need."""
    body = form.body
    block = index("block")
    blocks = body.numbers.take(-(-body.nest.kept[-1] // width), "blocks")
    step = body.numbers.take(width, "width")
    lanes = body.sizes[len(body.nest.kept) - 1]
    *places, at = digits(block, [*body.sizes[: len(body.nest.kept) - 1], blocks])
    lane = index("lane")
    along, lengths, indices = _loops_down(form)
    base = at * step
    body.indices = [*places, lane, *indices]
    parts = _Columns(form, lane, base, smaller(base + step, lanes), step, along, lengths)
    statements: list[Statement] = []
    for number in range(form.stages.passes + 1):
        body.begin_pass()
        statements += _column_pass(parts, number)
    body.begin_pass()
    stores = form.row_stores()
    if stores:
        statements.append(parts.across(stores))
    return (*parts.allocated(), Loop(block, START, STOP, tuple(statements), parallel=True))


def _loops_down(form: Form) -> tuple[list[Index], list[Expr], list[Expr]]:
    """Return the loops over reduced axes, their lengths, and the indices in the nest; the inner axes have one loop."""
    nest, body = form.body.nest, form.body
    sizes: list[Expr] = [*body.sizes[len(nest.kept) :]]
    outer = len(sizes) - nest.inner
    along = named("k", outer + 1)
    if nest.inner == 1:
        return along, sizes, [*along]
    length = body.numbers.take(prod(nest.reduced[outer:]), "n")
    return along, [*sizes[:outer], length], [*along[:-1], *digits(along[-1], sizes[outer:])]


def _column_pass(parts: _Columns, number: int) -> list[Statement]:
    """Return one pass over a block of columns, and what of its results is kept for the next."""
    form, body = parts.form, parts.form.body
    reductions = reductions_in(form, number)
    scans = [_scanned(parts, value) for value in form.stages.scans[number]]
    totals = [parts.total(value) for value in reductions]
    stores: list[Statement] = [form.store(value) for value in form.stages.stores[number]]
    down = parts.down([*scans, *totals], stores, ZERO, parts.lengths[0])
    statements = [*parts.begin([*scans, *totals]), *down]
    for value, one in zip(reductions, totals, strict=True):
        body.known[value] = form.finished(value, load(one.memory, parts.slot))
    body.begin_pass()
    kept = {
        value: parts.scratch(f"v{value}", form.region.dtype_of(value))
        for value in _used_by_rows(form, number + 1)
    }
    if kept:
        work = [Store(buffer, parts.slot, body.element(value)) for value, buffer in kept.items()]
        statements.append(parts.across(work))
        body.known.update((value, load(buffer, parts.slot)) for value, buffer in kept.items())
    return statements


def _scanned(parts: _Columns, value: int) -> _Total:
    """Return the accumulators of a scan: after each element they hold its result."""
    found = parts.total(value)
    parts.form.body.define_element(
        value, parts.form.finished(value, load(found.memory, parts.slot))
    )
    return found


def _used_by_rows(form: Form, level: int) -> list[int]:
    """Return the values of one element per column, known after `level` passes, that elements down the columns need."""
    region, stages = form.region, form.stages
    first = len(region.inputs)
    used = {
        source
        for at, one in enumerate(region.ops)
        if stages.full[first + at]
        for source in one.inputs
    }
    return [
        value
        for value in sorted(used)
        if value >= first
        and not stages.full[value]
        and stages.level[value] == level
        and stages.inside[value]
        and value not in form.body.known
    ]


def column_parts(form: Form, width: int, chunk: int) -> tuple[Statement, ...]:
    """Partial results of blocks of columns: each iteration takes `chunk` indices of the outermost reduced loop."""
    body = form.body
    count = len(body.nest.kept)
    part, lane = index("part"), index("lane")
    along, lengths, indices = _loops_down(form)
    blocks = body.numbers.take(-(-body.nest.kept[-1] // width), "blocks")
    step, rise = body.numbers.take(width, "width"), body.numbers.take(chunk, "chunk")
    height = body.numbers.take(body.nest.rows, "rows")
    kept = body.sizes[:count]
    at, *places, block = digits(part, [ZERO, *kept[:-1], blocks])
    base = block * step
    body.indices = [*places, lane, *indices]
    parts = _Columns(form, lane, base, smaller(base + step, kept[-1]), step, along, lengths)
    unit = unit_of(form, at, chunk, along, lengths)
    form.unit = unit * height + flat([*places, lane], kept)
    totals = [parts.total(value) for value in form.partials]
    stores: list[Statement] = [form.store(value) for value in form.stages.stores[0]]
    top = at * rise
    bottom = smaller(top + rise, lengths[0])
    place = at * height + flat([*places, lane], kept)
    left = [
        (buffer, one.memory)
        for buffer, one in zip(form.partials.values(), totals, strict=True)
        if one.partial is None
    ]
    pivots: list[Statement] = []
    for value, deviation in form.deviations.items():
        pivots += parts.pivots(value, top, bottom)
        distances, squares = parts.distances(value)
        totals += [distances, squares]
        kept_there = (parts.pivot(value), distances.memory, squares.memory)
        left += zip(deviation.buffers, kept_there, strict=True)
    last = [Store(buffer, place, load(memory, parts.slot)) for buffer, memory in left]
    statements = (
        *pivots,
        *parts.begin(totals),
        *parts.down(totals, stores, top, bottom),
        *([parts.across(last)] if last else []),
    )
    return (*parts.allocated(), Loop(part, START, STOP, statements, parallel=True))
