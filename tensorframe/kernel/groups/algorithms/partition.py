"""Partition: rows with the elements at some places where sorting puts them, smaller ones before and larger ones behind.

These elements are selected first (`selection.py`). They make classes of the others: what is smaller than all of them,
what equals the first one, what is between it and the second, and so on. Groups count the classes of pieces of rows,
from which follows where each class of each piece begins, and write elements there in their order.
"""

from __future__ import annotations

from tensorframe.dtypes import DType, uint32
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.groups.algorithms.order import key_dtype, ordinal_of
from tensorframe.kernel.groups.algorithms.radix import (
    DIGITS,
    LANE,
    THREADS,
    TURN,
    RadixCounts,
    Statements,
    by_groups,
)
from tensorframe.kernel.groups.algorithms.selection import Selecting, selected
from tensorframe.kernel.groups.order import divided
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, Partials, assembled
from tensorframe.kernel.nest.body import Numbers

# Places whose classes are no more than a thread has counts for.
MOST_PLACES = (DIGITS - 1) // 2
# Elements of a piece of a row at least, and pieces of it at most.
_PIECE, _MOST_PIECES = 1 << 12, 1 << 10

_GROUP, _CLASS, _OTHER = [ir.index(name) for name in ("group", "part", "other")]


def piece_of(length: int) -> int:
    """Return how many elements of a row a group writes."""
    return min(length, max(_PIECE, -(-length // _MOST_PIECES)))


def partition_partials(selecting: Selecting) -> Partials:
    """Return what is in memory between launches: what selecting takes, and counts of classes."""
    pieces = -(-selecting.length // piece_of(selecting.length))
    counts = (selecting.counted, selecting.rows * DIGITS * pieces, 0)
    return (*selecting.partials, counts)


def build_partition(selecting: Selecting, places: DType | None, target: Target) -> Built:
    """Return the kernels that partition rows, or, with a dtype for them, the places of elements on the axis."""
    launches, known = selected(selecting, target)

    def kernel() -> _Kernel:
        return _Kernel(selecting, places, target, known)

    launches += [kernel().counted(), kernel().begun(), kernel().written()]
    layout = tuple(range(len(selecting.shape)))
    return Built(tuple(launches), partition_partials(selecting), (layout,))


class _Kernel:
    """One kernel of groups, each of which has a piece of a row; each of its threads has some neighbours of it."""

    def __init__(
        self, selecting: Selecting, places: DType | None, target: Target, known: int
    ) -> None:
        self._selecting, self._places, self._target = selecting, places, target
        numbers = self._numbers = Numbers()
        counts = self._counts = RadixCounts(
            min(THREADS, target.lanes), key_dtype(selecting.dtype), selecting.counted
        )
        piece = piece_of(selecting.length)
        pieces = -(-selecting.length // piece)
        self._known = numbers.take(known, "known")
        self._length = numbers.take(selecting.length, "length")
        self._pieces, self._piece = numbers.take(pieces, "pieces"), numbers.take(piece, "piece")
        self._each = numbers.take(-(-piece // counts.lanes), "each")
        self._groups = selecting.rows * pieces
        steps = [selecting.strides, strides_of(selecting.shape)]
        self._rows = Lines(selecting.shape, selecting.axis % len(selecting.shape), steps, numbers)
        self._row, self._number = digits(_GROUP, [ZERO, self._pieces])
        self._limits = [
            ir.variable(f"limit{number}", counts.key) for number in range(selecting.count)
        ]

    def counted(self) -> Launch:
        """Return the launch that counts the classes of pieces."""
        goal = self._between(ir.Role.OUTPUT)
        body = (*self._classes(), *self._counts.summed(goal, self._position))
        return self._launch(by_groups(_GROUP, self._counts.allocated(sums=False), body))

    def begun(self) -> Launch:
        """Return the launch that makes places of counts: where each class of each piece of a row begins."""
        counts, between = self._counts, self._between(ir.Role.OUTPUT)
        totals = ir.Buffer("totals", counts.dtype, ir.Role.SHARED)
        length = self._pieces * DIGITS
        each = divided(length, counts.lanes)
        total, count = [ir.variable(name, counts.dtype) for name in ("total", "count")]
        entry = LANE * each + TURN
        position = _GROUP * length + entry
        value, zero = ir.load(between, position), ir.literal(0, counts.dtype)
        added = (ir.If(entry < length, (ir.Set(total, total + value),)),)
        before = (ir.If(LANE > _OTHER, (ir.Set(total, total + ir.load(totals, _OTHER)),)),)
        left = (
            ir.Set(count, value),
            ir.Store(between, position, total),
            ir.Set(total, total + count),
        )
        body = (
            counts.by_lanes(
                ir.Set(total, zero), ir.Loop(TURN, ZERO, each, added), ir.Store(totals, LANE, total)
            ),
            ir.Barrier(),
            counts.by_lanes(
                ir.Set(total, zero),
                ir.Loop(_OTHER, ZERO, LANE, before),
                ir.Loop(TURN, ZERO, each, (ir.If(entry < length, left),)),
            ),
            ir.Barrier(),
        )
        memory = [ir.Allocate(totals, ir.literal(counts.lanes, ir.INDEX))]
        return self._launch(by_groups(_GROUP, memory, body), self._selecting.rows)

    def written(self) -> Launch:
        """Return the launch that writes elements where their classes begin, and after those before them."""
        counts = self._counts
        goal = ir.variable("goal", counts.dtype)
        slot = counts.slot(self._class())
        value = self._value()
        output = ir.Buffer("y0", value.dtype, ir.Role.OUTPUT)
        place = ir.apply("to_index", goal, dtype=ir.INDEX)
        write = (
            ir.Set(goal, ir.load(counts.memory, slot)),
            ir.Store(counts.memory, slot, goal + 1),
            ir.Store(output, self._rows.position(1, self._row, place), value),
        )
        body = (*self._classes(), self._offsets(), ir.Barrier(), self._each_of(*write))
        return self._launch(by_groups(_GROUP, counts.allocated(sums=False), body))

    def _between(self, role: ir.Role) -> ir.Buffer:
        return ir.Buffer(f"p{len(self._selecting.partials)}", self._counts.dtype, role)

    def _position(self, number: ir.Expr) -> ir.Expr:
        """Return where the count of a class of the group's piece is: those of a class are side by side."""
        return (self._row * DIGITS + number) * self._pieces + self._number

    def _classes(self) -> Statements:
        """Return how threads count the classes of their elements."""
        known = ir.Buffer("p0", self._counts.key, ir.Role.INPUT)
        first = self._known + self._row * self._selecting.count
        limits = [
            ir.Set(limit, ir.load(known, first + number if number else first))
            for number, limit in enumerate(self._limits)
        ]
        count = self._counts.one_more(self._class())
        return (
            *limits,
            self._counts.by_lanes(*self._counts.cleared()),
            self._each_of(count),
            ir.Barrier(),
        )

    def _each_of(self, *statements: ir.Statement) -> ir.Statement:
        """Return statements for each element of a thread."""
        first = self._number * self._piece
        end = smaller(first + self._piece, self._length)
        there = ir.If(self._place < end, statements)
        within = ir.If(self._each > TURN, (there,))
        return self._counts.by_lanes(ir.Loop(TURN, ZERO, self._each, (within,), rolled=True))

    @property
    def _place(self) -> ir.Expr:
        """The place in its row of the element whose turn it is."""
        return self._number * self._piece + LANE * self._each + TURN

    def _element(self) -> ir.Expr:
        source, _ = self._selecting.operands
        elements = ir.Buffer(f"x{source}", self._selecting.dtype, ir.Role.INPUT)
        return ir.load(elements, self._rows.position(0, self._row, self._place))

    def _value(self) -> ir.Expr:
        if self._places is None:
            return self._element()
        return ir.apply("from_index", self._place, dtype=self._places)

    def _class(self) -> ir.Expr:
        """Return the class of the element: how many of the selected ones it is not below, and how many it is above."""
        ordinal = ordinal_of(self._element())
        total: ir.Expr | None = None
        for limit in self._limits:
            for condition in (ordinal >= limit, ordinal > limit):
                more = where(condition, ir.literal(1, uint32), 0)
                total = more if total is None else total + more
        assert total is not None
        return ir.apply("to_index", total, dtype=ir.INDEX)

    def _offsets(self) -> ir.Statement:
        """Return how counts become places: those of a class follow each other, thread after thread."""
        counts = self._counts
        total, count = [ir.variable(name, counts.dtype) for name in ("total", "count")]
        slot = _CLASS * counts.lanes + _OTHER
        step = (
            ir.Set(count, ir.load(counts.memory, slot)),
            ir.Store(counts.memory, slot, total),
            ir.Set(total, total + count),
        )
        body = (
            ir.Set(total, ir.load(self._between(ir.Role.INPUT), self._position(_CLASS))),
            ir.Loop(_OTHER, ZERO, ir.literal(counts.lanes, ir.INDEX), step, rolled=True),
        )
        every = ir.literal(DIGITS, ir.INDEX)
        return ir.Loop(_CLASS, ZERO, every, body, over=ir.ParallelAxis.LANES)

    def _launch(self, statements: Statements, groups: int = 0) -> Launch:
        kernel = assembled(
            statements,
            self._numbers,
            (),
            (f"{self._selecting.dtype} in classes of their order",),
            lanes=self._counts.lanes,
            index=self._target.index,
        )
        return Launch(kernel, tuple(self._numbers.values), groups or self._groups, 1)
