"""Pieces of columns: sums down a block of columns in the order of lanes, which `kernel/ir/order.py` gives.

Each lane has a row of accumulators, and takes in every 32nd row of the operands, eight of them while it is in
registers. Columns of few rows need no loop over pieces, and those of very few no accumulators in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import bool_
from tensorframe.kernel import ir
from tensorframe.kernel.forms.block import GROUP, LANE_ROW, Block, Total, strided_rows
from tensorframe.kernel.forms.parts import PIECE
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.ir.walk import in_order, substituted, substituted_in

# Columns of a row that is short for a loop of its own.
_NARROW = 128


class Pieces:
    """The loops that take rows into `totals`, of which some are ordered, and run the `stores` of each row.

    Where rows are `dense`, they follow each other as those of accumulators do, and one loop runs over several.
    """

    def __init__(self, block: Block, totals: Sequence[Total], stores: list[ir.Statement]) -> None:
        self.block = block
        self.totals = totals
        self.stores = stores
        self.ordered = [total for total in totals if total.lanes]
        self.dense = self._is_dense()

    def over(self, first: ir.Expr, last: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the loops that take in the rows from `first` to `last`."""
        nest = self.block.form.body.nest
        count = prod(nest.reduced[len(nest.reduced) - nest.inner :])
        if not self.block.in_turn() and count < GROUP * order.LANES:
            if count <= order.TAIL:
                return self._written_out(count)
            return self._short(first, count)
        length = order.PIECE
        pieces = ir.apply("floor_divide", last - first + (length - 1), ir.literal(length, ir.INDEX))
        start = first + PIECE * length
        stop = smaller(start + length, last)
        blocks = ir.apply("floor_divide", stop - start, ir.literal(order.LANES, ir.INDEX))
        end = start + blocks * order.LANES
        whole = (
            self._rows(order.LANES, self._emptied(lanes=True)),
            *self._blocks(start, blocks),
            self._rows(order.TAIL, self._narrowed()),
        )
        few = self._rows(order.TAIL, self._emptied(lanes=False))
        body: tuple[ir.Statement, ...] = (
            ir.If(ir.apply("less", ZERO, blocks, dtype=bool_), whole),
            ir.If(ir.apply("equal", blocks, ZERO, dtype=bool_), (few,)),
            self._one_by_one(start, end, stop),
            self.block.across([self._ended(total, self._tail(total)) for total in self.ordered]),
        )
        return (ir.Loop(PIECE, ZERO, pieces, body),)

    def _short(self, first: ir.Expr, count: int) -> tuple[ir.Statement, ...]:
        """Take in so few rows that each lane takes all of its own at once: their number is part of the text."""
        blocks = count // order.LANES
        end = first + blocks * order.LANES
        if blocks:
            group = self._rows(
                order.LANES,
                self.block.take_in_rows(
                    self.totals,
                    self.stores,
                    strided_rows(order.LANES, first + LANE_ROW, blocks),
                    empty=True,
                ),
            )
            statements = [group, self._rows(order.TAIL, self._narrowed())]
        else:
            statements = [self._rows(order.TAIL, self._emptied(lanes=False))]
        if count % order.LANES:
            last = first + self.block.lengths[-1]
            statements.append(self._one_by_one(first, end, last))
        statements.append(
            self.block.across([self._ended(total, self._tail(total)) for total in self.ordered])
        )
        return tuple(substituted_in(statements, {PIECE: ZERO}))

    def _written_out(self, count: int) -> tuple[ir.Statement, ...]:
        """Take in the few rows there are, one for each lane, without accumulators in memory."""
        along = self.block.along[-1]
        rows: list[dict[ir.Expr, ir.Expr]] = [
            {along: ir.literal(row, ir.INDEX)} for row in range(count)
        ]
        work = [statement for row in rows for statement in substituted_in(self.stores, row)]
        for total in self.totals:
            if total.lanes is None:
                work += substituted_in([self.block.take_in(total, total.element)], rows[0])
                work += [
                    self.block.take_in(total, substituted(total.element, row)) for row in rows[1:]
                ]
                continue
            taken = [substituted(total.taken(), row) for row in rows]
            taken += [total.neutral] * (order.TAIL - count)
            work.append(self._ended(total, taken))
        return (self.block.across(substituted_in(work, {PIECE: ZERO})),)

    def _is_dense(self) -> bool:
        """Whether narrow rows, of which all columns are in the block, may be taken as one (loop coalescing)."""
        body, nest = self.block.form.body, self.block.form.body.nest
        size, lane = nest.kept[-1], len(nest.kept) - 1
        if (
            not self.block.alone
            or size > _NARROW
            or nest.inner > 1
            or self.stores
            or self.block.in_turn()
            or body.lines
        ):
            return False
        if any(total.lanes is None for total in self.totals) or self.block.form.deviations:
            return False
        loads = [
            expr
            for expr in in_order([total.element for total in self.totals], {})
            if isinstance(expr, ir.Load) and expr.buffer.role is not ir.Role.INPUT
        ]
        return not loads and all(
            access.steps[-1] == access.steps[lane] * size
            for key, access in nest.accesses.items()
            if isinstance(key, tuple) and key[0] != "out"
        )

    def _rows(self, count: int, work: Sequence[ir.Statement]) -> ir.Statement:
        if self.dense:
            return self._together(
                ir.literal(count, ir.INDEX), substituted_in(work, {LANE_ROW: ZERO})
            )
        return ir.Loop(LANE_ROW, ZERO, ir.literal(count, ir.INDEX), (self.block.across(work),))

    def _together(self, rows: ir.Expr, work: Sequence[ir.Statement]) -> ir.Statement:
        """Return one loop over so many dense rows."""
        return ir.Loop(
            self.block.lane, self.block.base, self.block.base + rows * self.block.width, tuple(work)
        )

    def _emptied(self, *, lanes: bool) -> list[ir.Statement]:
        place = self.block.place(LANE_ROW)
        return [
            ir.Store(buffer, place, total.neutral)
            for total in self.ordered
            if (buffer := total.lanes if lanes else total.tail) is not None
        ]

    def _narrowed(self) -> list[ir.Statement]:
        statements: list[ir.Statement] = []
        for total in self.ordered:
            assert total.lanes is not None
            assert total.tail is not None
            rows = range(0, order.LANES, order.TAIL)
            parts = [ir.load(total.lanes, self.block.place(LANE_ROW + row)) for row in rows]
            statements.append(
                ir.Store(total.tail, self.block.place(LANE_ROW), order.halves(parts, total.op))
            )
        return statements

    def _tail(self, total: Total) -> list[ir.Expr]:
        assert total.tail is not None
        return [
            ir.load(total.tail, self.block.place(ir.literal(row, ir.INDEX)))
            for row in range(order.TAIL)
        ]

    def _ended(self, total: Total, parts: list[ir.Expr]) -> ir.Store:
        """Return the statement that joins what a piece gives to what there is, or leaves it as a partial result."""
        whole = order.halves(parts, total.op)
        whole = ir.apply(total.op, ir.literal(total.how.first, whole.dtype), whole)
        taken = total.how.take(whole) if total.short else whole
        if total.partial is not None:
            assert self.block.form.unit is not None
            return ir.Store(total.partial, self.block.form.unit, taken)
        return ir.Store(
            total.memory,
            self.block.slot,
            total.how.then(ir.load(total.memory, self.block.slot), taken),
        )

    def _lane(self, total: Total, buffer: ir.Buffer | None, row: ir.Expr) -> ir.Store:
        """Return the statement that takes an element into the accumulator in this row."""
        if buffer is None:
            return self.block.take_in(total, total.element)
        place = self.block.place(row)
        return ir.Store(buffer, place, ir.apply(total.op, ir.load(buffer, place), total.taken()))

    def _one_by_one(
        self,
        start: ir.Expr,
        first: ir.Expr,
        last: ir.Expr,
        *,
        whole: bool = False,
    ) -> ir.Statement:
        """Take in rows in their order; those of `whole` blocks go to lanes."""
        along = self.block.along[-1]
        count = order.LANES if whole else order.TAIL
        if self.dense:
            some = ir.index("rows")
            times = ir.apply(
                "floor_divide", last - first + (count - 1), ir.literal(count, ir.INDEX)
            )
            there = first + some * count
            taken = [
                self._lane(total, total.lanes if whole else total.tail, ZERO)
                for total in self.totals
            ]
            rows = smaller(ir.literal(count, ir.INDEX), last - there)
            inner = self._together(rows, substituted_in(taken, {along: there}))
            return ir.Loop(some, ZERO, times, (inner,))
        row = ir.apply("bitwise_and", along - start, ir.literal(count - 1, ir.INDEX))
        taken = [
            self._lane(total, total.lanes if whole else total.tail, row) for total in self.totals
        ]
        return ir.Loop(along, first, last, (self.block.across([*taken, *self.stores]),))

    def _blocks(self, start: ir.Expr, blocks: ir.Expr) -> tuple[ir.Statement, ...]:
        """Take in whole blocks; of each lane several elements at a time, while its accumulator is in a register."""
        end = start + blocks * order.LANES
        if self.block.in_turn():
            return (self._one_by_one(start, start, end, whole=True),)
        group = ir.index("group")
        groups = ir.apply("floor_divide", blocks, ir.literal(GROUP, ir.INDEX))
        first = start + group * (GROUP * order.LANES)
        several = self.block.take_in_rows(
            self.totals, self.stores, strided_rows(order.LANES, first + LANE_ROW, GROUP)
        )
        rest = start + groups * (GROUP * order.LANES)
        return (
            ir.Loop(group, ZERO, groups, (self._rows(order.LANES, several),)),
            self._one_by_one(start, rest, end, whole=True),
        )
