"""Blocks: what is added to what in a scan, which follows from the length as for sums (see `order.py`).

- No more than half a group's threads: one after the other.
- More: a block has as many elements as a row has slots, and neighbours in it are a *class*. A result joins what is
  before its block, what is before its class in there, and its class up to itself, each of them added in order.
- More than two chunks: each is scanned on its own, and so are their totals, which come before all that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.groups.order import Span, Total, divided, run_in, run_in_block
from tensorframe.kernel.groups.team import (
    Team,
)
from tensorframe.kernel.ir.loops import ZERO, larger, smaller
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple


class Scan(NamedTuple):
    """A scan: its result so far, the totals of the blocks before, of the classes before in this one, and of its class.

    `before` is the total of the chunks before, if there are several.
    """

    result: Total
    blocks: Total
    classes: Total
    own: Total
    before: Total | None

    def joined(self, classes: ir.Expr, own: ir.Expr) -> ir.Set:
        """Return the statement that sets the result, of what is before its class in the block and its class."""
        join = self.result.how.join
        offset: ir.Expr = self.blocks.variable
        if self.before is not None:
            offset = join(self.before.variable, offset)
        return ir.Set(self.result.variable, join(join(offset, classes), own))


def scan_of(total: Total, *, chunked: bool) -> Scan:
    blocks, classes, own, before = map(total.part, ("blocks", "classes", "own", "before"))
    return Scan(total, blocks, classes, own, before if chunked else None)


class Steps:
    """A scan by one thread, of what is numbered in a span, in blocks of `count`; `place` has its turn.

    `name` tells nests of loops apart.
    """

    def __init__(self, name: str, count: int, span: Span) -> None:
        first, last, _ = span
        self._count, self._size = count, min(ir.CLASS, count)
        self._length = last - first
        self._block, self._class = ir.index(f"{name}_block"), ir.index(f"{name}_class")
        self._number = ir.index(f"{name}_number")
        self._begin = self._block * count + self._class * self._size
        self.place = first + self._begin + self._number

    def take(self, scan: Scan, value: ir.Expr) -> list[ir.Statement]:
        """Return the statements that scan the value whose turn it is."""
        return [scan.own.take(value), scan.joined(scan.classes.variable, scan.own.variable)]

    def loops(self, scans: Iterable[Scan], work: Iterable[ir.Statement]) -> list[ir.Statement]:
        """Return the loops around `work`, which takes what has its turn."""
        scans = list(scans)
        numbers = smaller(self._length - self._begin, ir.literal(self._size, ir.INDEX))
        in_block = smaller(
            self._length - self._block * self._count, ir.literal(self._count, ir.INDEX)
        )
        in_class: tuple[ir.Statement, ...] = (
            *[scan.own.begin() for scan in scans],
            ir.Loop(self._number, ZERO, numbers, tuple(work)),
            *[scan.classes.take(scan.own.variable) for scan in scans],
        )
        inside: tuple[ir.Statement, ...] = (
            *[scan.classes.begin() for scan in scans],
            ir.Loop(self._class, ZERO, divided(in_block, self._size), in_class),
            *[scan.blocks.take(scan.classes.variable) for scan in scans],
        )
        begin = [scan.blocks.begin() for scan in scans]
        return [*begin, ir.Loop(self._block, ZERO, divided(self._length, self._count), inside)]


@dataclass(slots=True)
class Blocks:
    """The blocks of a span that the threads of each row take in, an element each, and the memory they scan in."""

    team: Team
    slots: int
    span: Span
    memory: dict[str, ir.Buffer] = field(default_factory=dict)

    @property
    def place(self) -> ir.Expr:
        """Return where in its row a thread is: only before the end there is an element."""
        return self.span[0] + ir.index("part_of_row") * self.slots + self.team.slot

    def inside(self, *statements: ir.Statement) -> tuple[ir.Statement, ...]:
        """Return statements for the threads that have an element."""
        return self.team.guarded(ir.If(self.place < self.span[1], statements))

    def allocated(self) -> list[ir.Statement]:
        """Return the statements that make the memory: a class is followed by what is before it."""
        count = self.team.lanes // self._size * (self._size + 1)
        return [ir.Allocate(buffer, ir.literal(count, ir.INDEX)) for buffer in self.memory.values()]

    @property
    def _size(self) -> int:
        return min(ir.CLASS, self.slots)

    def loop(self, statements: Iterable[ir.Statement]) -> ir.Loop:
        """Return the loop over blocks."""
        length = larger(self.span[1], self.span[0]) - self.span[0]
        return ir.Loop(
            ir.index("part_of_row"), ZERO, divided(length, self.slots), tuple(statements)
        )

    def scanned(self, scan: Scan, element: ir.Expr) -> list[ir.Statement]:
        """Return the statements that scan the elements of a block, and add it to those before."""
        total, how = scan.result.variable, scan.result.how
        memory = self.memory.setdefault(
            how.dtype.name, ir.Buffer(f"scan_{how.dtype.name}", how.dtype, ir.Role.SHARED)
        )
        lane, size = ir.index("lane"), self._size
        pitch, classes = size + 1, self.slots // size
        which = ir.apply("floor_divide", lane, ir.literal(size, ir.INDEX))
        own, behind = lane + which, which * pitch + size
        row = ir.apply("floor_divide", lane, ir.literal(self.slots, ir.INDEX))
        last = row * (classes * pitch) + (classes * pitch - 1)
        block = how.join(ir.load(memory, last), ir.load(memory, last - 1))
        begin = (
            scan.result.begin(),
            *self.inside(ir.Set(total, element)),
            ir.Store(memory, own, total),
        )
        end = (scan.joined(ir.load(memory, behind), ir.load(memory, own)), scan.blocks.take(block))
        return [
            self.team.all(*begin),
            ir.Barrier(),
            self._over_classes(memory, scan.own),
            ir.Barrier(),
            self._over_rows(memory, scan),
            ir.Barrier(),
            self.team.all(*end),
            ir.Barrier(),
        ]

    def added(
        self,
        total: Total,
        element: ir.Expr,
        before: Sequence[ir.Statement],
        after: Sequence[ir.Statement],
    ) -> list[ir.Statement]:
        """Return the statements that take the runs of a block into `total`, each between `before` and `after`."""
        dtype = total.variable.dtype
        memory = self.memory.setdefault(
            f"added {dtype.name}", ir.Buffer(f"added_{dtype.name}", dtype, ir.Role.SHARED)
        )
        lane, turn, own = ir.index("lane"), ir.index("turn"), total.part("own")
        first, there = run_in_block(ir.index("part_of_row"), self.team.slot, self.slots)
        place = lane - self.team.slot + first + turn
        count = ir.literal(run_in(self.slots), ir.INDEX)
        loop = ir.Loop(turn, ZERO, count, (total.take(ir.load(memory, place)),))
        mine = ir.Set(own.variable, element)
        return [
            self.team.all(own.begin(), *self.inside(mine), ir.Store(memory, lane, own.variable)),
            ir.Barrier(),
            self.team.all(ir.If(there, (*before, loop, *after))),
            ir.Barrier(),
        ]

    def _over_classes(self, memory: ir.Buffer, own: Total) -> ir.Loop:
        """Return the scans of classes, by a thread each."""
        lane, number, size = ir.index("lane"), ir.index("number"), self._size
        position = lane * (size + 1) + number
        step = (own.take(ir.load(memory, position)), ir.Store(memory, position, own.variable))
        loop = ir.Loop(number, ZERO, ir.literal(size, ir.INDEX), step)
        count = ir.literal(self.team.lanes // size, ir.INDEX)
        return ir.Loop(lane, ZERO, count, (own.begin(), loop), over=ir.ParallelAxis.LANES)

    def _over_rows(self, memory: ir.Buffer, scan: Scan) -> ir.Loop:
        """Return the scans of the classes' totals, by a thread for each row."""
        lane, number, size = ir.index("lane"), ir.index("number"), self._size
        classes = self.slots // size
        behind = (lane * classes + number) * (size + 1) + size
        step = (
            ir.Set(scan.own.variable, ir.load(memory, behind - 1)),
            ir.Store(memory, behind, scan.classes.variable),
            scan.classes.take(scan.own.variable),
        )
        loop = ir.Loop(number, ZERO, ir.literal(classes, ir.INDEX), step)
        rows = ir.literal(self.team.rows, ir.INDEX)
        return ir.Loop(lane, ZERO, rows, (scan.classes.begin(), loop), over=ir.ParallelAxis.LANES)
