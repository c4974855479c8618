"""Blocks of columns: neighbouring columns advance together, each with accumulators of its own in scratch memory.

A sum has 32 rows of accumulators, the lanes of `kernel/ir/order.py`: of the rows of operands, each lane takes every
32nd one, eight of them while it is in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tensorframe.dtypes import DType, bool_, float32, float64
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.parts import PIECE, sample
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.loops import ZERO, nested, smaller
from tensorframe.kernel.ir.walk import in_order, substituted, substituted_in
from tensorframe.kernel.math.accumulate import Accumulation
from tensorframe.kernel.math.scalars import converted

# Elements of a column that are taken in while its accumulator is in a register.
_GROUP = 8
_AT = ir.index("at")
# Columns of a row that is short for a loop of its own.
_NARROW = 128
# Operations for an element up to which that pays.
_LIGHT = 12.0
# Elements whose mean is the pivot of a chunk of a column: see kernel/forms/deviations.py.
_COLUMN_SAMPLE = 32


@dataclass(slots=True)
class Total:
    """A reduction in a block of columns: one accumulator for each column, in scratch memory."""

    memory: ir.Buffer
    how: Accumulation
    element: ir.Expr  # of the operand
    short: bool  # whether pieces are summed in float32
    lanes: ir.Buffer | None = (
        None  # of an ordered one, in a piece: LANES accumulators for each column
    )
    tail: ir.Buffer | None = None  # and what they are joined to
    partial: ir.Buffer | None = None  # where results of pieces go, if not to `memory`

    @property
    def op(self) -> str:
        """The op that joins lanes."""
        joined = self.how.join(self.element, self.element)
        assert isinstance(joined, ir.Apply)
        return order.STRICT[joined.op]

    @property
    def neutral(self) -> ir.Expr:
        """What a lane begins with."""
        assert self.lanes is not None
        value = {"add": -0.0, "multiply": 1.0}[self.op]
        return ir.literal(value, self.lanes.dtype)

    def joined_to(self, value: ir.Expr, row: dict[ir.Expr, ir.Expr]) -> ir.Expr:
        """Return a value, of a lane if there are any, joined to the element of a row."""
        if self.lanes is None:
            return self.how.join(value, self.how.take(substituted(self.element, row)))
        return ir.apply(self.op, value, substituted(self.taken(), row))

    def taken(self) -> ir.Expr:
        """Return the element as a lane takes it in."""
        assert self.lanes is not None
        return converted(self.element, float32) if self.short else self.how.take(self.element)


def _every(step: int, first: ir.Expr, count: int) -> list[ir.Expr]:
    """Return the places of so many rows, each so many after the one before."""
    return [first + step * number if number else first for number in range(count)]


@dataclass(slots=True)
class Block:
    """The loops of a block of columns: `lane` runs from `base` to `end`, `slot` is its place in scratch memory."""

    form: Form
    lane: ir.Index
    base: ir.Expr
    end: ir.Expr
    width: ir.Expr
    along: list[ir.Index]
    lengths: list[ir.Expr]  # of the loops over `along`
    alone: bool  # whether all columns are in this block
    memory: dict[ir.Buffer, int] = field(default_factory=dict)  # and rows of as many columns
    dense: bool = False  # whether rows follow each other, as those of accumulators do: one loop runs over several

    @property
    def slot(self) -> ir.Expr:
        return self.lane - self.base

    def across(self, work: Sequence[ir.Statement]) -> ir.Statement:
        return ir.Loop(self.lane, self.base, self.end, tuple(work))

    def scratch(self, name: str, dtype: DType, rows: int = 1) -> ir.Buffer:
        buffer = ir.Buffer(name, dtype, ir.Role.SCRATCH)
        self.memory.setdefault(buffer, rows)  # a scan may run in several passes
        return buffer

    def allocated(self) -> list[ir.Statement]:
        """Return the statements that make scratch memory."""
        return [ir.Allocate(buffer, self.width * rows) for buffer, rows in self.memory.items()]

    def total(self, value: int) -> Total:
        """Return the accumulators of a reduction."""
        element = self.form.body.operand(value, 0)
        return self._total(value, "", element, self.form.partials.get(value))

    def _total(
        self, value: int, mark: str, element: ir.Expr, partial: ir.Buffer | None = None
    ) -> Total:
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
        away = self.form.distance(value, ir.load(self.pivot(value), self.slot))
        return self._total(value, "d", away), self._total(value, "q", away * away)

    def pivot(self, value: int) -> ir.Buffer:
        """Return the memory of the columns' pivots."""
        return self.scratch(f"pivot{value}", self.form.operand_dtype(value))

    def pivots(self, value: int, first: ir.Expr, last: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the loops that give each column its pivot: the mean of some elements, which float64 adds up."""
        total = self.scratch(f"r{value}d", float64)
        body = self.form.body
        element = converted(body.operand(self.form.deviations[value].centred, 0), float64)
        take = self.across([ir.Store(total, self.slot, ir.load(total, self.slot) + element)])
        loops, count = sample(body, self.along, first, last, (take,), _COLUMN_SAMPLE)
        mean = converted(ir.load(total, self.slot) / count, self.form.operand_dtype(value))
        empty = self.across([ir.Store(total, self.slot, ir.literal(0, float64))])
        return (empty, *loops, self.across([ir.Store(self.pivot(value), self.slot, mean)]))

    def begin(self, totals: Sequence[Total]) -> tuple[ir.Statement, ...]:
        """Return the loop that empties accumulators."""
        work = [
            ir.Store(total.memory, self.slot, total.how.start())
            for total in totals
            if total.partial is None
        ]
        return (self.across(work),) if work else ()

    def down(
        self, totals: Sequence[Total], stores: list[ir.Statement], first: ir.Expr, last: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        """Return the loops that take in all elements, along the outermost reduced axis from `first` to `last`."""
        if not totals and not stores:
            return ()
        rows = self._in_pieces if any(total.lanes for total in totals) else self._in_groups
        if len(self.along) == 1:
            return rows(totals, stores, first, last)
        inner = rows(totals, stores, ZERO, self.lengths[-1])
        middle = nested(self.along[1:-1], self.lengths[1:-1], inner)
        return (ir.Loop(self.along[0], first, last, middle),)

    # --- pieces, of which lanes take every so many rows: see kernel/ir/order.py ---

    def _in_pieces(
        self, totals: Sequence[Total], stores: list[ir.Statement], first: ir.Expr, last: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        nest = self.form.body.nest
        self.dense = self._is_dense(totals, stores)
        count = prod(nest.reduced[len(nest.reduced) - nest.inner :])
        if not self._in_turn() and count < _GROUP * order.LANES:
            if count <= order.TAIL:
                return self._written_out(totals, stores, count)
            return self._short(totals, stores, first, count)
        length = order.PIECE
        pieces = ir.apply("floor_divide", last - first + (length - 1), ir.literal(length, ir.INDEX))
        start = first + PIECE * length
        stop = smaller(start + length, last)
        ordered = [total for total in totals if total.lanes]
        blocks = ir.apply("floor_divide", stop - start, ir.literal(order.LANES, ir.INDEX))
        end = start + blocks * order.LANES
        whole = (
            self._rows(order.LANES, self._emptied(ordered, lanes=True)),
            *self._blocks(totals, stores, start, blocks),
            self._rows(order.TAIL, self._narrowed(ordered)),
        )
        few = self._rows(order.TAIL, self._emptied(ordered, lanes=False))
        body: tuple[ir.Statement, ...] = (
            ir.If(ir.apply("less", ZERO, blocks, dtype=bool_), whole),
            ir.If(ir.apply("equal", blocks, ZERO, dtype=bool_), (few,)),
            self._one_by_one(totals, stores, start, end, stop),
            self.across([self._ended(total, self._tail(total)) for total in ordered]),
        )
        return (ir.Loop(PIECE, ZERO, pieces, body),)

    def _short(
        self, totals: Sequence[Total], stores: list[ir.Statement], first: ir.Expr, count: int
    ) -> tuple[ir.Statement, ...]:
        """Take in so few rows that each lane takes all of its own at once: their number is part of the text."""
        ordered = [total for total in totals if total.lanes]
        blocks = count // order.LANES
        end = first + blocks * order.LANES
        if blocks:
            group = self._rows(
                order.LANES,
                self._several(totals, stores, _every(order.LANES, first + _AT, blocks), empty=True),
            )
            statements = [group, self._rows(order.TAIL, self._narrowed(ordered))]
        else:
            statements = [self._rows(order.TAIL, self._emptied(ordered, lanes=False))]
        if count % order.LANES:
            last = first + self.lengths[-1]
            statements.append(self._one_by_one(totals, stores, first, end, last))
        statements.append(self.across([self._ended(total, self._tail(total)) for total in ordered]))
        return tuple(substituted_in(statements, {PIECE: ZERO}))

    def _written_out(
        self, totals: Sequence[Total], stores: list[ir.Statement], count: int
    ) -> tuple[ir.Statement, ...]:
        """Take in the few rows there are, one for each lane, without accumulators in memory."""
        along = self.along[-1]
        rows: list[dict[ir.Expr, ir.Expr]] = [
            {along: ir.literal(row, ir.INDEX)} for row in range(count)
        ]
        work = [statement for row in rows for statement in substituted_in(stores, row)]
        for total in totals:
            if total.lanes is None:
                work += substituted_in([self._added(total, total.element)], rows[0])
                work += [self._added(total, substituted(total.element, row)) for row in rows[1:]]
                continue
            taken = [substituted(total.taken(), row) for row in rows]
            taken += [total.neutral] * (order.TAIL - count)
            work.append(self._ended(total, taken))
        return (self.across(substituted_in(work, {PIECE: ZERO})),)

    def _is_dense(self, totals: Sequence[Total], stores: Sequence[ir.Statement]) -> bool:
        """Whether narrow rows, of which all columns are in the block, may be taken as one (loop coalescing)."""
        body, nest = self.form.body, self.form.body.nest
        size, lane = nest.kept[-1], len(nest.kept) - 1
        if (
            not self.alone
            or size > _NARROW
            or nest.inner > 1
            or stores
            or self._in_turn()
            or body.lines
        ):
            return False
        if any(total.lanes is None for total in totals) or self.form.deviations:
            return False
        loads = [
            expr
            for expr in in_order([total.element for total in totals], {})
            if isinstance(expr, ir.Load) and expr.buffer.role is not ir.Role.INPUT
        ]
        return not loads and all(
            access.steps[-1] == access.steps[lane] * size
            for key, access in nest.accesses.items()
            if isinstance(key, tuple) and key[0] != "out"
        )

    def _rows(self, count: int, work: Sequence[ir.Statement]) -> ir.Statement:
        if self.dense:
            return self._together(ir.literal(count, ir.INDEX), substituted_in(work, {_AT: ZERO}))
        return ir.Loop(_AT, ZERO, ir.literal(count, ir.INDEX), (self.across(work),))

    def _together(self, rows: ir.Expr, work: Sequence[ir.Statement]) -> ir.Statement:
        """Return one loop over so many dense rows."""
        return ir.Loop(self.lane, self.base, self.base + rows * self.width, tuple(work))

    def _place(self, row: ir.Expr) -> ir.Expr:
        """Return where in scratch memory the column of a row of accumulators is."""
        return row * self.width + self.slot

    def _emptied(self, totals: Sequence[Total], *, lanes: bool) -> list[ir.Statement]:
        place = self._place(_AT)
        return [
            ir.Store(buffer, place, total.neutral)
            for total in totals
            if (buffer := total.lanes if lanes else total.tail) is not None
        ]

    def _narrowed(self, totals: Sequence[Total]) -> list[ir.Statement]:
        statements: list[ir.Statement] = []
        for total in totals:
            assert total.lanes is not None
            assert total.tail is not None
            rows = range(0, order.LANES, order.TAIL)
            parts = [ir.load(total.lanes, self._place(_AT + row)) for row in rows]
            statements.append(ir.Store(total.tail, self._place(_AT), order.halves(parts, total.op)))
        return statements

    def _tail(self, total: Total) -> list[ir.Expr]:
        assert total.tail is not None
        return [
            ir.load(total.tail, self._place(ir.literal(row, ir.INDEX))) for row in range(order.TAIL)
        ]

    def _ended(self, total: Total, parts: list[ir.Expr]) -> ir.Store:
        """Return the statement that joins what a piece gives to what there is, or leaves it as a partial result."""
        whole = order.halves(parts, total.op)
        whole = ir.apply(total.op, ir.literal(total.how.first, whole.dtype), whole)
        taken = total.how.take(whole) if total.short else whole
        if total.partial is not None:
            assert self.form.unit is not None
            return ir.Store(total.partial, self.form.unit, taken)
        return ir.Store(
            total.memory, self.slot, total.how.then(ir.load(total.memory, self.slot), taken)
        )

    def _lane(self, total: Total, buffer: ir.Buffer | None, row: ir.Expr) -> ir.Store:
        """Return the statement that takes an element into the accumulator in this row."""
        if buffer is None:
            return self._added(total, total.element)
        place = self._place(row)
        return ir.Store(buffer, place, ir.apply(total.op, ir.load(buffer, place), total.taken()))

    def _one_by_one(
        self,
        totals: Sequence[Total],
        stores: list[ir.Statement],
        start: ir.Expr,
        first: ir.Expr,
        last: ir.Expr,
        *,
        whole: bool = False,
    ) -> ir.Statement:
        """Take in rows in their order; those of `whole` blocks go to lanes."""
        along = self.along[-1]
        count = order.LANES if whole else order.TAIL
        if self.dense:
            some = ir.index("rows")
            times = ir.apply(
                "floor_divide", last - first + (count - 1), ir.literal(count, ir.INDEX)
            )
            there = first + some * count
            taken = [
                self._lane(total, total.lanes if whole else total.tail, ZERO) for total in totals
            ]
            rows = smaller(ir.literal(count, ir.INDEX), last - there)
            inner = self._together(rows, substituted_in(taken, {along: there}))
            return ir.Loop(some, ZERO, times, (inner,))
        row = ir.apply("bitwise_and", along - start, ir.literal(count - 1, ir.INDEX))
        taken = [self._lane(total, total.lanes if whole else total.tail, row) for total in totals]
        return ir.Loop(along, first, last, (self.across([*taken, *stores]),))

    def _blocks(
        self, totals: Sequence[Total], stores: list[ir.Statement], start: ir.Expr, blocks: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        """Take in whole blocks; of each lane several elements at a time, while its accumulator is in a register."""
        end = start + blocks * order.LANES
        if self._in_turn():
            return (self._one_by_one(totals, stores, start, start, end, whole=True),)
        group = ir.index("group")
        groups = ir.apply("floor_divide", blocks, ir.literal(_GROUP, ir.INDEX))
        first = start + group * (_GROUP * order.LANES)
        several = self._several(totals, stores, _every(order.LANES, first + _AT, _GROUP))
        rest = start + groups * (_GROUP * order.LANES)
        return (
            ir.Loop(group, ZERO, groups, (self._rows(order.LANES, several),)),
            self._one_by_one(totals, stores, start, rest, end, whole=True),
        )

    def _several(
        self,
        totals: Sequence[Total],
        stores: list[ir.Statement],
        places: Sequence[ir.Expr],
        *,
        empty: bool = False,
    ) -> list[ir.Statement]:
        """Take in the elements of several rows, of one lane each; if lanes are `empty`, nothing is in them yet."""
        rows: list[dict[ir.Expr, ir.Expr]] = [{self.along[-1]: place} for place in places]
        statements: list[ir.Statement] = []
        for total in totals:
            memory, place = total.memory, self.slot
            if total.lanes is not None:
                memory, place = total.lanes, self._place(_AT)
            value: ir.Expr = total.neutral if empty and total.lanes else ir.load(memory, place)
            for row in rows:
                value = total.joined_to(value, row)
            statements.append(ir.Store(memory, place, value))
        return [*statements, *[made for row in rows for made in substituted_in(stores, row)]]

    def _in_turn(self) -> bool:
        """Whether rows are taken in one after the other, in their order."""
        return self._take_one() or any(self.form.stages.scans)

    # --- everything else, in any order ---

    def _take_one(self) -> bool:
        """Whether loading and storing accumulators for each element does not matter, or groups would be cut up."""
        divided = any(piece.steps[-1] for piece in self.form.body.nest.pieces.values())
        return divided or self.form.cost > _LIGHT

    def _in_groups(
        self, totals: Sequence[Total], stores: list[ir.Statement], first: ir.Expr, last: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        """Take in several elements of each column while its accumulator is in a register."""
        single = [self._added(total, total.element) for total in totals]
        if not totals or self._take_one() or any(self.form.stages.scans):
            return (ir.Loop(self.along[-1], first, last, (self.across([*single, *stores]),)),)
        group, along = ir.index("group"), self.along[-1]
        groups = ir.apply("floor_divide", last - first, ir.literal(_GROUP, ir.INDEX))
        several = self._several(totals, stores, _every(1, first + group * _GROUP, _GROUP))
        return (
            ir.Loop(group, ZERO, groups, (self.across(several),)),
            ir.Loop(along, first + groups * _GROUP, last, (self.across([*single, *stores]),)),
        )

    def _added(self, accumulator: Total, element: ir.Expr) -> ir.Store:
        """Return the statement that takes one element into its column's accumulator."""
        total = ir.load(accumulator.memory, self.slot)
        return ir.Store(
            accumulator.memory,
            self.slot,
            accumulator.how.join(total, accumulator.how.take(element)),
        )
