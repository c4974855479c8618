"""Fourier transforms by work-groups: Stockham's algorithm, whose stages put every element where it belongs.

A launch does some of the stages of a transform: its groups take columns, elements that are as far apart as possible,
transform them in shared memory, and write them where the next launch finds them. One launch is all where a group has
memory for a whole transform. Inverse transforms are transforms of numbers whose parts are exchanged. Source: N. K.
Govindaraju et al., "High performance discrete Fourier transforms on graphics processors" (SC 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.butterflies import Pair, butterfly, times
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.quick_dataclasses import dataclass

Read = Callable[[ir.Expr, ir.Expr], Pair]
Write = Callable[[ir.Expr, ir.Expr, Pair], Sequence[ir.Statement]]
Statements = tuple[ir.Statement, ...]


@dataclass(frozen=True, slots=True)
class Stages:
    """What a launch does: stages of `radices` of `rows` transforms of `points`, after others of `before` points in all.

    `across` says that neighbouring rows are neighbours in memory, not the points of a row.
    """

    rows: int
    points: int
    radices: tuple[int, ...]
    before: int
    dtype: DType
    across: bool

    @property
    def height(self) -> int:
        """Points of a column."""
        return prod(self.radices)

    @property
    def each(self) -> int:
        """Columns of a row."""
        return self.points // self.height


def build_stages(
    stages: Stages,
    area: int,
    read: Read,
    write: Write,
    roots: Sequence[ir.Buffer],
    numbers: Numbers,
    target: Target,
) -> Launch:
    """Return the launch that takes elements by row and place from `read`, and has `write` store them.

    A group has memory for `area` elements. `roots` are roots of unity: those for all points, and for a column's.
    """
    return _Tile(stages, area, roots, numbers).launch(read, write, target)


class _Tile:
    """The columns that a group transforms, in two places of shared memory: stages go from one to the other."""

    def __init__(
        self, stages: Stages, area: int, roots: Sequence[ir.Buffer], numbers: Numbers
    ) -> None:
        self._stages = stages
        self._all_roots, self._roots = roots
        self._numbers = numbers
        columns = stages.rows * stages.each
        # few columns take less memory, and less time
        self._width = min(max(area // stages.height, 1), 1 << (columns - 1).bit_length())
        self._groups = -(-columns // self._width)
        self._columns = numbers.take(columns, "columns")
        if stages.each > 1:
            self._rows = numbers.take(stages.rows, "rows")
            self._each = numbers.take(stages.each, "each")
        if stages.before > 1:
            self._before = numbers.take(stages.before, "before")
        self._memory = [
            [ir.Buffer(f"{part}{turn}", stages.dtype, ir.Role.SHARED) for part in ("re", "im")]
            for turn in range(2)
        ]

    def launch(self, read: Read, write: Write, target: Target) -> Launch:
        """Return the launch."""
        stages = self._stages
        work: list[ir.Statement] = [self._loaded(read), ir.Barrier()]
        done = 1
        for turn, radix in enumerate(stages.radices):
            work += [self._stage(turn, radix, done), ir.Barrier()]
            done *= radix
        # the last barrier is for the loads of the group's next columns
        work += [self._stored(write), ir.Barrier()]
        size = ir.literal(self._width * stages.height, ir.INDEX)
        allocated = [ir.Allocate(buffer, size) for pair in self._memory for buffer in pair]
        group = ir.index("group")
        loop = ir.Loop(
            group, ir.START, ir.STOP, tuple(work), parallel=True, over=ir.ParallelAxis.GROUPS
        )
        notes = (f"Fourier transforms: {stages.dtype}",)
        kernel = assembled(
            (*allocated, loop), self._numbers, (), notes, lanes=target.lanes, index=target.index
        )
        return Launch(kernel, tuple(self._numbers.values), self._groups, 1)

    def _loaded(self, read: Read) -> ir.Statement:
        """Return the loop that fills shared memory; what earlier launches have done is turned to its place."""
        stages, element = self._stages, ir.index("loaded")
        along = stages.across or stages.each > 1
        place, column = self._split(element, across=along)
        row, number = self._row(smaller(self._first() + column, self._columns - 1))
        value = read(row, place if stages.each == 1 else number + place * self._each)
        if stages.before > 1:
            phase = ir.apply("remainder", number, self._before) * place
            apart = self._numbers.take(stages.points // (stages.before * stages.height), "apart")
            value = times(value, _root(self._all_roots, phase * apart))
        return self._by_lanes(element, stages.height, self._put(0, place, column, value))

    def _stage(self, turn: int, radix: int, done: int) -> ir.Statement:
        """Return the loop over the butterflies of a stage, after others of `done` points."""
        height = self._stages.height
        element = ir.index(f"butterfly{turn}")
        number, column = _divided(element, self._width)
        above, phase = _divided(number, done)
        values = []
        for term in range(radix):
            value = self._get(turn, _after(number, term * (height // radix)), column)
            if term and done > 1:
                turned = phase * (term * (height // (done * radix)))
                value = times(value, _root(self._roots, turned))
            values.append(value)
        first = above * (done * radix) + phase if done > 1 else above * radix
        stores: list[ir.Statement] = []
        for frequency, value in enumerate(butterfly(values)):
            stores += self._put(turn + 1, _after(first, frequency * done), column, value)
        return self._by_lanes(element, height // radix, stores)

    def _stored(self, write: Write) -> ir.Statement:
        """Return the loop that writes what is in shared memory after the last stage."""
        stages, element = self._stages, ir.index("stored")
        along = stages.across or stages.before > 1
        frequency, column = self._split(element, across=along)
        number_of_column = self._first() + column
        row, number = self._row(number_of_column)
        place = frequency if stages.each == 1 else number * stages.height + frequency
        if stages.before > 1:
            above, phase = digits(number, [ZERO, self._before])
            place = (above * stages.height + frequency) * self._before + phase
        value = self._get(len(stages.radices), frequency, column)
        stores = tuple(write(row, place, value))
        return self._by_lanes(
            element, stages.height, [ir.If(number_of_column < self._columns, stores)]
        )

    def _split(self, element: ir.Expr, *, across: bool) -> tuple[ir.Expr, ir.Expr]:
        """Return place and column of an element, of which neighbours are in neighbouring columns, or in one."""
        if across:
            return _divided(element, self._width)
        column, place = digits(element, [ZERO, ir.literal(self._stages.height, ir.INDEX)])
        return place, column

    def _first(self) -> ir.Expr:
        return ir.index("group") * self._width

    def _row(self, column: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Return the row of a column, and the column's number in it."""
        if self._stages.each == 1:
            return column, ZERO
        if self._stages.across:
            number, row = digits(column, [ZERO, self._rows])
            return row, number
        row, number = digits(column, [ZERO, self._each])
        return row, number

    def _get(self, turn: int, place: ir.Expr, column: ir.Expr) -> Pair:
        position = self._position(place, column)
        real, imaginary = [ir.load(buffer, position) for buffer in self._memory[turn % 2]]
        return real, imaginary

    def _put(self, turn: int, place: ir.Expr, column: ir.Expr, value: Pair) -> list[ir.Statement]:
        position = self._position(place, column)
        return [
            ir.Store(buffer, position, part)
            for buffer, part in zip(self._memory[turn % 2], value, strict=True)
        ]

    def _position(self, place: ir.Expr, column: ir.Expr) -> ir.Expr:
        return place * self._width + column if self._stages.height > 1 else column

    def _by_lanes(
        self, element: ir.Index, count: int, body: Sequence[ir.Statement]
    ) -> ir.Statement:
        """Return the loop in which the threads of a group share `count` elements of every column."""
        stop = ir.literal(count * self._width, ir.INDEX)
        return ir.Loop(element, ZERO, stop, tuple(body), over=ir.ParallelAxis.LANES)


def _divided(number: ir.Expr, size: int) -> tuple[ir.Expr, ir.Expr]:
    """Return quotient and remainder by a size that the text names."""
    if size == 1:
        return number, ZERO
    quotient, remainder = digits(number, [ZERO, ir.literal(size, ir.INDEX)])
    return quotient, remainder


def _after(position: ir.Expr, count: int) -> ir.Expr:
    return position + count if count else position


def _root(roots: ir.Buffer, number: ir.Expr) -> Pair:
    return ir.load(roots, number * 2), ir.load(roots, number * 2 + 1)
