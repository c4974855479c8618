"""Substitution: a triangle of a block of unknowns is solved for many columns, of which a thread has one."""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.dtypes import DType, uint32
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.steps import (
    BLOCK,
    Matrix,
    Place,
    Side,
    Statements,
    Step,
    as_input,
    less_product,
    shared,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.kernel.nest.assemble import Launch

_GROUP, _FILL, _COLUMN, _ROW, _INNER, _TURN = [
    ir.index(name) for name in ("group", "fill", "column", "row", "inner", "turn")
]
Element = Callable[[ir.Expr, ir.Expr], ir.Expr]


class Substitution:
    """X = T^-1 X for a triangle T of up to BLOCK rows, and the same number of rows of X.

    Lower triangles go from the first row to the last (`forward`), and have a diagonal of ones with `unit`. With
    `exchanges` rows of X are exchanged before, as pivots say. With `scales` rows are multiplied with these in place of
    being divided by the diagonal. `side` is along what elements of X are next to each other.
    """

    def __init__(
        self,
        target: Target,
        dtype: DType,
        buffers: tuple[ir.Buffer, ir.Buffer],
        side: Side,
        *,
        forward: bool,
        unit: bool,
        exchanges: ir.Buffer | None = None,
        scales: ir.Buffer | None = None,
    ) -> None:
        """Take the buffers of the triangle and of X."""
        step = Step(target, f"substitution in a block of unknowns: {dtype}")
        self.width = min(step.lanes, BLOCK if dtype.itemsize > 4 else 2 * BLOCK)
        self._dtype, self._forward, self._unit = dtype, forward, unit
        triangle, right = buffers
        self._triangle = Matrix(step, triangle if triangle is right else as_input(triangle), "t")
        self._right = Matrix(step, right, "x", side)
        self._exchanges, self._scales = exchanges, scales
        self._step = self._written(step)

    def launch(
        self, stack: int, triangle: Place, right: Place, size: int, columns: int, **others: int
    ) -> Launch:
        """Return a launch for a triangle of `size` rows, and columns; `others` are where pivots or scales are."""
        chunks = -(-columns // self.width)
        places = {"t": triangle, "x": right}
        return self._step.launch(
            stack * chunks, places, size=size, columns=columns, chunks=chunks, **others
        )

    def _written(self, step: Step) -> Step:
        matrix, chunk = digits(_GROUP, [ZERO, step.size("chunks")])
        column = chunk * self.width + _COLUMN
        triangle, columns = shared("triangle", self._dtype), shared("columns", self._dtype)
        size = step.size("size")
        row, across = digits(_FILL, [ZERO, size])
        fill = step.by_lanes(
            _FILL,
            size * size,
            [ir.Store(triangle, row * BLOCK + across, self._triangle.load(matrix, row, across))],
        )
        mine = _INNER * self.width + _COLUMN
        take = ir.Loop(
            _INNER, ZERO, size, (ir.Store(columns, mine, self._right.load(matrix, _INNER, column)),)
        )
        give = ir.Loop(
            _INNER, ZERO, size, (self._right.store(matrix, _INNER, column, ir.load(columns, mine)),)
        )
        solved = substituted(
            size,
            lambda row, inner: ir.load(triangle, row * BLOCK + inner),
            lambda row: (columns, row * self.width + _COLUMN),
            forward=self._forward,
            unit=self._unit,
            scale=self._scale_of(step, matrix),
        )
        body = [*self._exchanged(step, matrix, column), take, *solved, give]
        there = ir.If(column < step.size("columns"), tuple(body))
        work = (fill, ir.Barrier(), step.by_lanes(_COLUMN, self.width, [there]), ir.Barrier())
        memory = {triangle: BLOCK * BLOCK, columns: BLOCK * self.width}
        return step.written(memory, _GROUP, work)

    def _scale_of(self, step: Step, matrix: ir.Expr) -> Callable[[ir.Expr], ir.Expr] | None:
        """Return what gives the number that a row is multiplied with."""
        if self._scales is None:
            return None
        scales = as_input(self._scales)
        first = matrix * step.size("scale_apart") + step.size("scale_first")
        return lambda row: ir.load(scales, first + row)

    def _exchanged(self, step: Step, matrix: ir.Expr, column: ir.Expr) -> Statements:
        """Return the loop that exchanges rows of a column."""
        if self._exchanges is None:
            return []
        return exchanged(step, self._exchanges, self._right, matrix, column, step.size("size"))


def exchanged(
    step: Step,
    pivots: ir.Buffer,
    matrices: Matrix,
    matrix: ir.Expr,
    column: ir.Expr,
    count: ir.Expr,
) -> Statements:
    """Return the loop in which a thread exchanges elements of a column, one for each of so many pivots.

    Pivots are numbers of rows, counted from where the part of the matrix begins.
    """
    place = matrix * step.size("pivot_apart") + step.size("pivot_first") + _TURN
    upper, lower = [ir.variable(name, matrices.buffer.dtype) for name in ("upper", "lower")]
    number = ir.variable("pivot", uint32)
    chosen = ir.apply("to_index", number, dtype=ir.INDEX)
    body = (
        ir.Set(number, ir.load(as_input(pivots), place)),
        ir.Set(upper, matrices.load(matrix, _TURN, column)),
        ir.Set(lower, matrices.load(matrix, chosen, column)),
        matrices.store(matrix, _TURN, column, lower),
        matrices.store(matrix, chosen, column, upper),
    )
    return [ir.Loop(_TURN, ZERO, count, body)]


def substituted(
    size: ir.Expr,
    triangle: Element,
    place: Callable[[ir.Expr], tuple[ir.Buffer, ir.Expr]],
    *,
    forward: bool,
    unit: bool,
    scale: Callable[[ir.Expr], ir.Expr] | None = None,
) -> Statements:
    """Return the loop over unknowns of a column, whose elements are at `place`; each has known ones taken from it."""
    row = _ROW if forward else size - 1 - _ROW
    buffer, position = place(row)
    total = ir.variable("unknown", buffer.dtype)
    known_buffer, known = place(_INNER)
    taken = less_product(total, triangle(row, _INNER), ir.load(known_buffer, known))
    start, stop = (ZERO, row) if forward else (row + 1, size)
    value: ir.Expr = total
    if scale is not None:
        value = total * scale(row)
    elif not unit:
        value = total / triangle(row, row)
    body = (
        ir.Set(total, ir.load(buffer, position)),
        ir.Loop(_INNER, start, stop, (ir.Set(total, taken),)),
        ir.Store(buffer, position, value),
    )
    return [ir.Loop(_ROW, ZERO, size, body)]
