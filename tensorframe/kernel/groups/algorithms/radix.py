"""Radix counts: how many elements of a part of a row have each digit, by threads that count for themselves.

Elements are taken as unsigned integers in their order, of which four bits are a digit. A thread has a count for each
digit in shared memory, so no two of them write to one; threads add these up afterwards. Counts are integers: nothing
depends on the order in which threads come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.groups.order import divided
from tensorframe.kernel.ir.formula import both, equal
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.quick_dataclasses import dataclass

# Bits of a digit, and digits that there are.
BITS = 4
DIGITS = 1 << BITS
# Threads of a group at most, for shared memory of 16 KiB, and elements that one of them reads before it counts them.
THREADS = 128
_AT_ONCE = 4

LANE, TURN = ir.index("lane"), ir.index("turn")
Statements = tuple[ir.Statement, ...]


@dataclass(frozen=True, slots=True)
class RadixCounts:
    """The counts of a group of `lanes` threads, which have a dtype, of digits of numbers of dtype `key`."""

    lanes: int
    key: DType
    dtype: DType

    @property
    def memory(self) -> ir.Buffer:
        """A count for each thread and digit."""
        return ir.Buffer("counts", self.dtype, ir.Role.SHARED)

    @property
    def sums(self) -> ir.Buffer:
        """Those of all threads, where the group itself has a use for them."""
        return ir.Buffer("sums", self.dtype, ir.Role.SHARED)

    def slot(self, digit: ir.Expr) -> ir.Expr:
        """Return where a thread counts a digit."""
        return digit * self.lanes + LANE

    def cleared(self) -> list[ir.Statement]:
        """Return what a thread begins with."""
        zero = ir.literal(0, self.dtype)
        slots = [LANE + digit * self.lanes if digit else LANE for digit in range(DIGITS)]
        return [ir.Store(self.memory, slot, zero) for slot in slots]

    def one_more(self, digit: ir.Expr) -> ir.Statement:
        """Return how a thread counts a digit."""
        slot = self.slot(digit)
        return ir.Store(self.memory, slot, ir.load(self.memory, slot) + 1)

    def counted(
        self,
        number: Callable[[ir.Expr], ir.Expr],
        shift: ir.Expr,
        prefix: ir.Expr,
        first: ir.Expr,
        stop: ir.Expr,
    ) -> Statements:
        """Return how threads count the digits `shift` bits from the end, where the digits before are those of `prefix`.

        `number` is that at a place from `first` on; beyond `stop` it may be any.
        """
        low = ir.apply("from_index", shift, dtype=self.key)
        mask, end = ir.variable("mask", self.key), ir.variable("end", ir.INDEX)
        begin = LANE if first is ZERO else first + LANE
        read: list[ir.Statement] = []
        counted: list[ir.Statement] = []
        for turn in range(_AT_ONCE):
            place = begin + (TURN * _AT_ONCE + turn) * self.lanes
            ordinal = ir.variable(f"ordinal{turn}", self.key)
            read.append(ir.Set(ordinal, number(place)))
            digit = ir.apply("to_index", (ordinal >> low) & (DIGITS - 1), dtype=ir.INDEX)
            agrees = equal((ordinal ^ prefix) & mask, 0)
            counted.append(ir.If(both(place < end, agrees), (self.one_more(digit),)))
        turns = divided(end - first, self.lanes * _AT_ONCE)
        return (
            # of the digits before; there is nothing above the first
            ir.Set(mask, ~((ir.literal(2, self.key) << (low + (BITS - 1))) - 1)),
            ir.Set(end, stop),
            self.by_lanes(
                *self.cleared(), ir.Loop(TURN, ZERO, turns, (*read, *counted), rolled=True)
            ),
            ir.Barrier(),
        )

    def summed(self, goal: ir.Buffer, position_of: Callable[[ir.Expr], ir.Expr]) -> Statements:
        """Return how the counts of all threads are added up, and written to where each digit is; then they may go."""
        total, other = [ir.variable(name, self.dtype) for name in ("total", "others")]
        threads = max(self.lanes // DIGITS, 1)  # that add up those of one digit
        digit, number = digits(LANE, [ZERO, ir.literal(threads, ir.INDEX)])
        turns = ir.literal(self.lanes // threads, ir.INDEX)
        count = ir.load(self.memory, digit * self.lanes + TURN * threads + number)
        added = (
            ir.Set(total, ir.literal(0, self.dtype)),
            ir.Loop(TURN, ZERO, turns, (ir.Set(total, total + count),)),
        )
        store = ir.Store(goal, position_of(digit), total)
        if threads == 1:  # some have several digits
            every = ir.literal(DIGITS, ir.INDEX)
            loop = ir.Loop(LANE, ZERO, every, (*added, store), over=ir.ParallelAxis.LANES)
            return (loop, ir.Barrier())
        return (
            self.by_lanes(*added),
            ir.Combine(total, other, total + other, threads),
            self.by_lanes(ir.If(equal(number, 0), (store,))),
        )

    def chosen(self, shift: ir.Expr, prefix: ir.Variable, rank: ir.Variable) -> Statements:
        """Return how every thread finds the next digit of an element by `sums`, and its place among those that have it.

        The element is at place `rank` of those whose digits are `prefix` so far.
        """
        digit, here = ir.variable("chosen", self.key), ir.index("here")
        upto, before = [ir.variable(name, self.dtype) for name in ("upto", "before")]
        zero = ir.literal(0, self.dtype)
        step = (
            ir.Set(upto, upto + ir.load(self.sums, here)),
            ir.If(upto <= rank, (ir.Set(digit, digit + 1), ir.Set(before, upto))),
        )
        low = ir.apply("from_index", shift, dtype=self.key)
        return (
            ir.Set(digit, ir.literal(0, self.key)),
            ir.Set(upto, zero),
            ir.Set(before, zero),
            ir.Loop(here, ZERO, ir.literal(DIGITS, ir.INDEX), step),
            ir.Set(prefix, prefix | (digit << low)),
            ir.Set(rank, rank - before),
        )

    def allocated(self, *, sums: bool) -> list[ir.Statement]:
        """Return the statements that make shared memory of the counts, and of sums of them."""
        made = [ir.Allocate(self.memory, ir.literal(self.lanes * DIGITS, ir.INDEX))]
        return [*made, ir.Allocate(self.sums, ir.literal(DIGITS, ir.INDEX))] if sums else [*made]

    def by_lanes(self, *statements: ir.Statement) -> ir.Statement:
        """Return statements for every thread of a group."""
        count = ir.literal(self.lanes, ir.INDEX)
        return ir.Loop(LANE, ZERO, count, statements, over=ir.ParallelAxis.LANES)


def by_one(*statements: ir.Statement) -> ir.Statement:
    """Return statements for one thread of a group."""
    once = ir.literal(1, ir.INDEX)
    return ir.Loop(ir.index("once"), ZERO, once, statements, over=ir.ParallelAxis.LANES)


def by_groups(index: ir.Index, memory: Sequence[ir.Statement], body: Statements) -> Statements:
    """Return the loop over all that groups do, with the memory of one."""
    over = ir.ParallelAxis.GROUPS
    return (*memory, ir.Loop(index, ir.START, ir.STOP, body, parallel=True, over=over))


def by_threads(index: ir.Index, body: Statements) -> Statements:
    """Return the loop over all that single threads do."""
    over = ir.ParallelAxis.GRID
    return (ir.Loop(index, ir.START, ir.STOP, body, parallel=True, over=over),)
