"""Blocks: what is added to what in a scan, which follows from the length as for sums (see `order.py`).

- No more than half a group's threads: one after the other.
- More: a block has as many elements as a row has slots, and each run of neighbours in it is a *class*. A result joins
  what is before its block, what is before its class in there, and its class up to itself, each of them added in order.
- More than two chunks: each is scanned on its own, and so are their totals, which come before all that.
"""

from __future__ import annotations

from collections.abc import Iterable

from tensorframe.dtypes import wide_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.order import Place, Span, Total, Work, divided, run_in
from tensorframe.kernel.groups.team import Team
from tensorframe.kernel.ir.loops import ZERO, larger, smaller
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.quick_tuples import NamedTuple

NO_WORK = Work(())


class Scan(NamedTuple):
    """A scan: its result so far, the totals of the blocks before, of the classes before in this one, and of its class.

    `offset` is all that comes before its class, and `before` the total of the chunks before, if there are several.
    """

    result: Total
    blocks: Total
    classes: Total
    own: Total
    offset: Total
    before: Total | None

    def begin_class(self, classes: ir.Expr) -> ir.Set:
        """Return the statement that sets the offset, of what is before a class in its block."""
        join = self.result.how.join
        blocks: ir.Expr = self.blocks.variable
        if self.before is not None:
            blocks = join(self.before.variable, blocks)
        return ir.Set(self.offset.variable, join(blocks, classes))

    def take(self, value: ir.Expr) -> list[ir.Statement]:
        """Return the statements that take the next value of a class, and set the result."""
        result = self.result.how.join(self.offset.variable, self.own.variable)
        return [self.own.take(value), ir.Set(self.result.variable, result)]


def scan_of(total: Total, *, chunked: bool) -> Scan:
    blocks, classes, own, offset = map(total.part, ("blocks", "classes", "own", "offset"))
    return Scan(total, blocks, classes, own, offset, total.part("before") if chunked else None)


class Steps:
    """A scan by one thread, of what is numbered in a span, in blocks of `count`; `place` has its turn.

    `name` tells nests of loops apart.
    """

    def __init__(self, name: str, count: int, span: Span) -> None:
        first, last, _ = span
        self._count, self._size = count, run_in(count)
        self._length = last - first
        self._block, self._class = ir.index(f"{name}_block"), ir.index(f"{name}_class")
        self._number = ir.index(f"{name}_number")
        self._begin = self._block * count + self._class * self._size
        self.place = first + self._begin + self._number

    def loops(self, scans: Iterable[Scan], work: Iterable[ir.Statement]) -> list[ir.Statement]:
        """Return the loops around `work`, which takes what has its turn."""
        scans = list(scans)
        numbers = smaller(self._length - self._begin, ir.literal(self._size, ir.INDEX))
        in_block = smaller(
            self._length - self._block * self._count, ir.literal(self._count, ir.INDEX)
        )
        in_class: tuple[ir.Statement, ...] = (
            *[scan.own.begin() for scan in scans],
            *[scan.begin_class(scan.classes.variable) for scan in scans],
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
class Tiles:
    """The tiles of a span that the threads of each row take in, a class each: as many blocks as a class has elements.

    So threads read and write their elements by wide accesses, and add those of their class up themselves: they meet for
    the totals of classes only. A class is also a run, which `order.py` gives to the slot of the same thread. Elements
    that are scanned are needed twice: they are held in so many bytes of `room`, or made again.
    """

    team: Team
    slots: int
    span: Span
    room: int = 0
    buffers: dict[ir.Buffer, int] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """The element whose turn it is, in steps along its class."""
        return Place(self.span[0] + self._begin, ir.index("k"), self._size)

    @property
    def _size(self) -> int:
        return run_in(self.slots)

    @property
    def _classes(self) -> int:
        """How many classes a block has."""
        return self.slots // self._size

    @property
    def _begin(self) -> ir.Expr:
        return (ir.index("part_of_row") * self.slots + self.team.slot) * self._size

    def allocated(self) -> list[ir.Statement]:
        """Return the statements that make the memory."""
        counts = self.buffers.items()
        return [ir.Allocate(buffer, ir.literal(count, ir.INDEX)) for buffer, count in counts]

    def loop(self, statements: Iterable[ir.Statement]) -> ir.Loop:
        """Return the loop over tiles."""
        length = larger(self.span[1], self.span[0]) - self.span[0]
        count = divided(length, self.slots * self._size)
        return ir.Loop(ir.index("part_of_row"), ZERO, count, tuple(statements))

    def each(self, work: Work) -> tuple[ir.Statement, ...]:
        """Return the loop over a thread's elements, if it has any."""
        length, size = self.span[1] - self.span[0], ir.literal(self._size, ir.INDEX)
        count = smaller(length - self._begin, size)
        loop = ir.Loop(ir.index("k"), ZERO, count, tuple(work.each), width=self._size)
        inside = (*work.before, loop, *work.after)
        return self.team.guarded(ir.If(self._begin < length, inside))

    def scanned(
        self, scan: Scan, element: ir.Expr, earlier: Work = NO_WORK
    ) -> tuple[list[ir.Statement], Work]:
        """Return the statements that find what comes before each class of a tile, and the work that sets the results.

        An element may be made of the results of `earlier` scans.
        """
        how, lane = scan.own.how, ir.index("lane")
        memory = ir.Buffer(f"scan_{how.dtype.name}", how.dtype, ir.Role.SHARED)
        self.buffers[memory] = self.team.lanes // self._classes * (self._classes + 1)
        own = ir.apply("floor_divide", lane, ir.literal(self._classes, ir.INDEX)) + lane
        keep, again = self._held(scan, element)
        added = Work(
            [*earlier.each, *keep, scan.own.take(how.take(element))], earlier.before, earlier.after
        )
        statements: list[ir.Statement] = [
            self.team.all(
                scan.own.begin(), *self.each(added), ir.Store(memory, own, scan.own.variable)
            ),
            ir.Barrier(),
            self._over_blocks(memory, scan),
            ir.Barrier(),
            self.team.all(*self._offset(memory, scan, ir.load(memory, own))),
        ]
        each = [*earlier.each, *scan.take(how.take(again))]
        return statements, Work(each, [*earlier.before, scan.own.begin()], earlier.after)

    def _held(self, scan: Scan, element: ir.Expr) -> tuple[list[ir.Statement], ir.Expr]:
        """Return the statements that hold an element, and what it is afterwards."""
        count = self._size * self.team.lanes
        self.room -= count * wide_of(element.dtype).itemsize
        if self.room < 0:
            return [], element
        name = f"held_{scan.result.variable.name}"
        buffer = ir.Buffer(name, element.dtype, ir.Role.SHARED)
        self.buffers[buffer] = count
        place = ir.index("k") * self.team.lanes + ir.index("lane")
        return [ir.Store(buffer, place, element)], ir.load(buffer, place)

    def _over_blocks(self, memory: ir.Buffer, scan: Scan) -> ir.Loop:
        """Return the scans of the totals of classes, by a thread for each block; its own total comes after these."""
        lane, number, classes = ir.index("lane"), ir.index("number"), scan.classes
        begin = lane * (self._classes + 1)
        step = (
            ir.Set(scan.own.variable, ir.load(memory, begin + number)),
            ir.Store(memory, begin + number, classes.variable),
            classes.take(scan.own.variable),
        )
        loop = ir.Loop(number, ZERO, ir.literal(self._classes, ir.INDEX), step)
        end = ir.Store(memory, begin + self._classes, classes.variable)
        count = ir.literal(self.team.lanes // self._classes, ir.INDEX)
        return ir.Loop(lane, ZERO, count, (classes.begin(), loop, end), over=ir.ParallelAxis.LANES)

    def _offset(self, memory: ir.Buffer, scan: Scan, classes: ir.Expr) -> tuple[ir.Statement, ...]:
        """Return the statements that join what is before a class, and take in the blocks of the tile."""
        lane, number = ir.index("lane"), ir.index("number")
        size, count = ir.literal(self._size, ir.INDEX), ir.literal(self._classes, ir.INDEX)
        block = ir.apply("floor_divide", lane, count)
        first = ir.apply("floor_divide", lane, ir.literal(self.slots, ir.INDEX)) * self._size
        total = ir.load(memory, (first + number) * (self._classes + 1) + self._classes)
        mine = ir.compare("equal", first + number, block)
        step = (ir.If(mine, (scan.begin_class(classes),)), scan.blocks.take(total))
        return (scan.offset.begin(), ir.Loop(number, ZERO, size, step))
