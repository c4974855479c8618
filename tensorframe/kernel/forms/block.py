"""Blocks of columns: neighbouring columns advance together, each with accumulators of its own in scratch memory.

A sum has 32 rows of accumulators, the lanes of `kernel/ir/order.py`; `pieces.py` has the loops that share rows out.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.dtypes import DType, float32, float64
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.forms.parts import sample
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.walk import substituted, substituted_in
from tensorframe.kernel.math.accumulate import Accumulation
from tensorframe.kernel.math.scalars import converted
from tensorframe.quick_dataclasses import dataclass, field

# Elements of a column that are taken in while its accumulator is in a register.
GROUP = 8
# Operations for an element up to which that pays.
_LIGHT = 12.0
# The row of accumulators that a loop over lanes is at.
LANE_ROW = ir.index("at")
# Elements whose mean is the pivot of a chunk of a column: see kernel/forms/deviations.py.
COLUMN_SAMPLE = 32


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


def strided_rows(step: int, first: ir.Expr, count: int) -> list[ir.Expr]:
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
        loops, count = sample(body, self.along, first, last, (take,), COLUMN_SAMPLE)
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

    def place(self, row: ir.Expr) -> ir.Expr:
        """Return where in scratch memory the column of a row of accumulators is."""
        return row * self.width + self.slot

    def take_in_rows(
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
                memory, place = total.lanes, self.place(LANE_ROW)
            value: ir.Expr = total.neutral if empty and total.lanes else ir.load(memory, place)
            for row in rows:
                value = total.joined_to(value, row)
            statements.append(ir.Store(memory, place, value))
        return [*statements, *[made for row in rows for made in substituted_in(stores, row)]]

    def in_turn(self) -> bool:
        """Whether rows are taken in one after the other: in scans, where groups would be cut up, or would not pay."""
        divided = any(piece.steps[-1] for piece in self.form.body.nest.pieces.values())
        return divided or self.form.cost > _LIGHT or any(self.form.stages.scans)

    def take_in(self, accumulator: Total, element: ir.Expr) -> ir.Store:
        """Return the statement that takes one element into its column's accumulator."""
        total = ir.load(accumulator.memory, self.slot)
        return ir.Store(
            accumulator.memory,
            self.slot,
            accumulator.how.join(total, accumulator.how.take(element)),
        )
