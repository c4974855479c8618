"""Where a launch of a Fourier transform reads and writes, and what is done to elements on their way."""

from __future__ import annotations

from typing import Literal

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.butterflies import Pair, scaled, swapped, times
from tensorframe.kernel.groups.algorithms.lines import Lines
from tensorframe.kernel.ir.formula import both, either, equal, where
from tensorframe.kernel.ir.loops import smaller
from tensorframe.kernel.nest.assemble import Table
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.nest.layout import Strides
from tensorframe.quick_dataclasses import dataclass

# parts are exchanged, or a number is multiplied with: that of a table, or the same for all
Step = Literal["swap"] | Table | float
Steps = tuple[Step, ...]


class Tables:
    """The tables of a transform, each with a buffer that its launches share."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self._tables: list[Table] = []

    def table(self, kind: str, *sizes: int) -> Table:
        """Return the table of a kind and sizes."""
        return Table(kind, sizes, self.dtype)

    def buffer(self, table: Table) -> ir.Buffer:
        """Return the buffer of a table."""
        if table not in self._tables:
            self._tables.append(table)
        return ir.Buffer(f"k{self._tables.index(table)}", table.dtype, ir.Role.INPUT)

    def all(self) -> tuple[Table, ...]:
        """Return those that have a buffer, in its order."""
        return tuple(self._tables)


@dataclass(frozen=True, slots=True)
class Array:
    """What a launch reads or writes; `points` are those that a half spectrum stands for, 0 where it is none."""

    name: str
    shape: Shape
    strides: Strides  # in real elements
    real: bool = False
    points: int = 0


class Ends:
    """How a launch reads and writes: positions in both arrays, and what is done to elements on their way."""

    def __init__(self, tables: Tables, source: Array, goal: Array, axis: int) -> None:
        self._tables, self._source, self._goal = tables, source, goal
        self._axis = axis
        self.numbers = Numbers()
        self._lines = Lines(goal.shape, axis, (source.strides, goal.strides), self.numbers)

    def read(self, points: int, steps: Steps, row: ir.Expr, place: ir.Expr) -> Pair:
        """Return an element of the source, zero beyond its end, after these steps."""
        source, take = self._source, self.numbers.take
        count = source.shape[self._axis]
        inside, there = place, None
        if source.points:  # the other half is the mirror image of this one
            half, end = take(source.points // 2, "half"), take(source.points, "points")
            mirrored = place > half
            inside = where(mirrored, end - smaller(place, end), place)
            there = place < end
        if count < points:
            stop = take(count, "count")
            there = inside < stop if there is None else both(there, inside < stop)
            inside = smaller(inside, stop - 1)
        position = self._lines.position(0, row, inside)
        buffer = ir.Buffer(source.name, self._tables.dtype, ir.Role.INPUT)
        real: ir.Expr = ir.load(buffer, position)
        imaginary: ir.Expr = ir.literal(0.0, real.dtype)
        if not source.real:
            imaginary = ir.load(buffer, position + 1)
        if source.points:
            alone = either(equal(place, 0), equal(place * 2, end))
            imaginary = where(alone, 0.0, where(mirrored, -imaginary, imaginary))
        if there is not None:
            real, imaginary = where(there, real, 0.0), where(there, imaginary, 0.0)
        return self._through(steps, place, (real, imaginary), points)

    def write(
        self, points: int, steps: Steps, row: ir.Expr, place: ir.Expr, value: Pair
    ) -> list[ir.Statement]:
        """Return the statements that write an element of the goal after these steps."""
        goal = self._goal
        parts = self._through(steps, place, value, points)
        position = self._lines.position(1, row, place)
        buffer = ir.Buffer(goal.name, self._tables.dtype, ir.Role.OUTPUT)
        stores: list[ir.Statement] = [
            ir.Store(buffer, position + part if part else position, parts[part])
            for part in range(1 if goal.real else 2)
        ]
        kept = goal.shape[self._axis]
        if kept == points:
            return stores
        return [ir.If(place < self.numbers.take(kept, "kept"), tuple(stores))]

    def _through(self, steps: Steps, place: ir.Expr, value: Pair, points: int) -> Pair:
        for step in steps:
            if step == "swap":
                value = swapped(value)
            elif isinstance(step, Table):
                value = times(value, self._entry(step, place, points))
            elif step != 1.0:
                value = scaled(value, self.numbers.take(step, "scale", self._tables.dtype))
        return value

    def _entry(self, table: Table, place: ir.Expr, points: int) -> Pair:
        """Return a table's number for a place; what is beyond its end is multiplied with zero, or left out."""
        buffer = self._tables.buffer(table)
        length = table.sizes[-1]
        if length < points:
            place = smaller(place, self.numbers.take(length - 1, "end"))
        return ir.load(buffer, place * 2), ir.load(buffer, place * 2 + 1)
