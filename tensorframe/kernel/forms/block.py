"""Blocks of columns: neighbouring columns advance together, each with accumulators of its own in scratch memory.

A sum has 32 rows of accumulators, the lanes of `kernel/ir/order.py`: of the rows of operands, each lane takes every
32nd one, eight of them while it is in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tensorframe.dtypes import DType, bool_, float32, float64
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.parts import PIECE, sample
from tensorframe.kernel.ir import (
    INDEX,
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
from tensorframe.kernel.ir.loops import ZERO, nested, smaller
from tensorframe.kernel.ir.walk import substituted, substituted_in
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
class Total:
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
class Block:
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

    def total(self, value: int) -> Total:
        """Return the accumulators of a reduction."""
        element = self.form.body.operand(value, 0)
        return self._total(value, "", element, self.form.partials.get(value))

    def _total(self, value: int, mark: str, element: Expr, partial: Buffer | None = None) -> Total:
        how, short = self.form.accumulation(value), self.form.is_short_sum(value)
        name = f"{value}{mark}"
        if not how.ordered:
            return Total(self.scratch(f"r{name}", how.dtype), how, element, short)
        dtype = float32 if short else how.dtype
        lanes = self.scratch(f"lanes{name}", dtype, order.LANES)
        tail = self.scratch(f"tail{name}", dtype, order.TAIL)
        if partial is not None and self.form.unit is not None:
            return Total(partial, how, element, short, lanes, tail, partial)
        return Total(self.scratch(f"r{name}", how.dtype), how, element, short, lanes, tail)

    def distances(self, value: int) -> tuple[Total, Total]:
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

    def begin(self, totals: Sequence[Total]) -> tuple[Statement, ...]:
        """Return the loop that empties accumulators."""
        work = [
            Store(one.memory, self.slot, one.how.start()) for one in totals if one.partial is None
        ]
        return (self.across(work),) if work else ()

    def down(
        self, totals: Sequence[Total], stores: list[Statement], first: Expr, last: Expr
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
        self, totals: Sequence[Total], stores: list[Statement], first: Expr, last: Expr
    ) -> tuple[Statement, ...]:
        nest = self.form.body.nest
        count = prod(nest.reduced[len(nest.reduced) - nest.inner :])
        if not self._in_turn() and count < _GROUP * order.LANES:
            if count <= order.TAIL:
                return self._written_out(totals, stores, count)
            return self._short(totals, stores, first, count)
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
            self.across([self._ended(one, self._tail(one)) for one in ordered]),
        )
        return (Loop(PIECE, ZERO, pieces, body),)

    def _short(
        self, totals: Sequence[Total], stores: list[Statement], first: Expr, count: int
    ) -> tuple[Statement, ...]:
        """Take in so few rows that each lane takes all of its own at once: their number is part of the text."""
        ordered = [one for one in totals if one.lanes]
        blocks = count // order.LANES
        end = first + blocks * order.LANES
        if blocks:
            group = self._rows(
                order.LANES, self._several(totals, stores, first, blocks, empty=True)
            )
            found = [group, self._rows(order.TAIL, self._narrowed(ordered))]
        else:
            found = [self._rows(order.TAIL, self._emptied(ordered, lanes=False))]
        if count % order.LANES:
            last = first + self.lengths[-1]
            found.append(self._one_by_one(totals, stores, first, end, last))
        found.append(self.across([self._ended(one, self._tail(one)) for one in ordered]))
        return tuple(substituted_in(found, {PIECE: ZERO}))

    def _written_out(
        self, totals: Sequence[Total], stores: list[Statement], count: int
    ) -> tuple[Statement, ...]:
        """Take in the few rows there are, one for each lane, without accumulators in memory."""
        along = self.along[-1]
        rows: list[dict[Expr, Expr]] = [{along: literal(row, INDEX)} for row in range(count)]
        work = [one for row in rows for one in substituted_in(stores, row)]
        for one in totals:
            if one.lanes is None:
                work += substituted_in([self._added(one, one.element)], rows[0])
                work += [self._added(one, substituted(one.element, row)) for row in rows[1:]]
                continue
            taken = [substituted(one.taken(), row) for row in rows]
            taken += [one.neutral] * (order.TAIL - count)
            work.append(self._ended(one, taken))
        return (self.across(substituted_in(work, {PIECE: ZERO})),)

    def _rows(self, count: int, work: Sequence[Statement]) -> Statement:
        return Loop(_AT, ZERO, literal(count, INDEX), (self.across(work),))

    def _place(self, row: Expr) -> Expr:
        """Return where in scratch memory the column of a row of accumulators is."""
        return row * self.width + self.slot

    def _emptied(self, totals: Sequence[Total], *, lanes: bool) -> list[Statement]:
        place = self._place(_AT)
        return [
            Store(buffer, place, one.neutral)
            for one in totals
            if (buffer := one.lanes if lanes else one.tail) is not None
        ]

    def _narrowed(self, totals: Sequence[Total]) -> list[Statement]:
        found: list[Statement] = []
        for one in totals:
            assert one.lanes is not None
            assert one.tail is not None
            rows = range(0, order.LANES, order.TAIL)
            parts = [load(one.lanes, self._place(_AT + at)) for at in rows]
            found.append(Store(one.tail, self._place(_AT), order.halves(parts, one.op)))
        return found

    def _tail(self, one: Total) -> list[Expr]:
        assert one.tail is not None
        return [load(one.tail, self._place(literal(at, INDEX))) for at in range(order.TAIL)]

    def _ended(self, one: Total, parts: list[Expr]) -> Store:
        """Return the statement that joins what a piece gives to what there is, or leaves it as a partial result."""
        whole = order.halves(parts, one.op)
        whole = apply(one.op, literal(one.how.first, whole.dtype), whole)
        taken = one.how.take(whole) if one.short else whole
        if one.partial is not None:
            assert self.form.unit is not None
            return Store(one.partial, self.form.unit, taken)
        return Store(one.memory, self.slot, one.how.then(load(one.memory, self.slot), taken))

    def _lane(self, one: Total, buffer: Buffer | None, row: Expr) -> Store:
        """Return the statement that takes an element into the accumulator in this row."""
        if buffer is None:
            return self._added(one, one.element)
        place = self._place(row)
        return Store(buffer, place, apply(one.op, load(buffer, place), one.taken()))

    def _one_by_one(
        self,
        totals: Sequence[Total],
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
        self, totals: Sequence[Total], stores: list[Statement], start: Expr, blocks: Expr
    ) -> tuple[Statement, ...]:
        """Take in whole blocks; of each lane several elements at a time, while its accumulator is in a register."""
        end = start + blocks * order.LANES
        if self._in_turn():
            return (self._one_by_one(totals, stores, start, start, end, whole=True),)
        group = index("group")
        groups = apply("floor_divide", blocks, literal(_GROUP, INDEX))
        first = start + group * (_GROUP * order.LANES)
        several = self._several(totals, stores, first, _GROUP)
        rest = start + groups * (_GROUP * order.LANES)
        return (
            Loop(group, ZERO, groups, (self._rows(order.LANES, several),)),
            self._one_by_one(totals, stores, start, rest, end, whole=True),
        )

    def _several(
        self,
        totals: Sequence[Total],
        stores: list[Statement],
        first: Expr,
        blocks: int,
        *,
        empty: bool = False,
    ) -> tuple[Statement, ...]:
        """Take in a lane's elements of several blocks; if lanes are `empty`, nothing is in them yet."""
        turn = index("turn")
        few = [self._few(one, empty=empty) for one in totals]
        row: dict[Expr, Expr] = {self.along[-1]: first + turn * order.LANES + _AT}
        takes = substituted_in([*[one.take for one in few], *stores], row)
        return (
            *[one.begin for one in few],
            Loop(turn, ZERO, literal(blocks, INDEX), takes),
            *[one.end for one in few],
        )

    def _in_turn(self) -> bool:
        """Whether rows are taken in one after the other, in their order."""
        return self._take_one() or any(self.form.stages.scans)

    # --- everything else, in any order ---

    def _take_one(self) -> bool:
        """Whether loading and storing accumulators for each element does not matter, or groups would be cut up."""
        divided = any(one.steps[-1] for one in self.form.body.nest.pieces.values())
        return divided or self.form.cost > _LIGHT

    def _in_groups(
        self, totals: Sequence[Total], stores: list[Statement], first: Expr, last: Expr
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

    def _added(self, one: Total, element: Expr) -> Store:
        """Return the statement that takes one element into its column's accumulator."""
        total = load(one.memory, self.slot)
        return Store(one.memory, self.slot, one.how.join(total, one.how.take(element)))

    def _few(self, one: Total, *, empty: bool = False) -> _Few:
        """Return the statements around and in a loop over a few elements of a column."""
        name = f"a{one.memory.name[1:]}"
        if one.lanes is not None:
            few, place = variable(name, one.lanes.dtype), self._place(_AT)
            return _Few(
                Set(few, one.neutral if empty else load(one.lanes, place)),
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
