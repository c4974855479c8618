"""Products of parts of matrices that are there: assigned to another part, or subtracted from it, by tiles.

A thread keeps its part of a tile in registers. Symmetric results have only the tiles on and below the diagonal: their
numbers are folded into a rectangle.
"""

from __future__ import annotations

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.steps import (
    Matrix,
    Place,
    Side,
    Step,
    as_input,
    plus_product,
    shared,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, where
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.nest.assemble import Launch

# Rows and columns of a thread, and how much of the inner axis is in shared memory at a time.
_EACH, _DEPTH = 4, 16

_GROUP, _FILL, _LANE, _PART, _INNER = [
    ir.index(name) for name in ("group", "fill", "lane", "part", "inner")
]


class Product:
    """C = A B, or C -= A B with `subtracts`; with `lower` only the tiles of C on and below its diagonal.

    `sides` say of A and B along what their elements are next to each other.
    """

    def __init__(
        self,
        target: Target,
        dtype: DType,
        buffers: tuple[ir.Buffer, ir.Buffer, ir.Buffer],
        sides: tuple[Side, Side],
        *,
        subtracts: bool,
        lower: bool = False,
    ) -> None:
        """Take the buffers of A, B and C."""
        verb = "less a product" if subtracts else "a product"
        step = Step(target, f"{verb} of parts of matrices: {dtype}")
        bits = step.lanes.bit_length() - 1
        down = 1 << bits // 2
        # the diagonal goes through square tiles
        self._threads = (down, down if lower else step.lanes // down)
        self._tile = (_EACH * self._threads[0], _EACH * self._threads[1])
        self._dtype, self._lower, self._subtracts = dtype, lower, subtracts
        left, right, result = buffers
        left, right = [as_input(read) if read is not result else read for read in (left, right)]
        self._left = Matrix(step, left, "a", sides[0])
        self._right = Matrix(step, right, "b", sides[1])
        self._result = Matrix(step, result, "c")
        self._memory = (shared("left", dtype), shared("right", dtype))
        self._sums = [
            [ir.variable(f"sum_{i}_{j}", dtype) for j in range(_EACH)] for i in range(_EACH)
        ]
        self._step = self._written(step)

    def launch(
        self, stack: int, places: tuple[Place, Place, Place], rows: int, columns: int, inner: int
    ) -> Launch:
        """Return a launch for places of A, B and C, which has so many rows and columns."""
        down, across = [
            -(-count // tile) for count, tile in zip((rows, columns), self._tile, strict=True)
        ]
        numbers = {"rows": rows, "columns": columns, "length": inner}
        if self._lower:
            # square tiles: as many across as down
            even = 1 - down % 2
            numbers |= {"even": even, "last": down - 1}
            down, across = down + even, (down + 1) // 2
        total = stack * down * across
        named = dict(zip("abc", places, strict=True))
        return self._step.launch(total, named, **numbers, tiles_down=down, tiles_across=across)

    def _written(self, step: Step) -> Step:
        matrix, row, column = digits(
            _GROUP, [ZERO, step.size("tiles_down"), step.size("tiles_across")]
        )
        if self._lower:
            row, column = self._unfolded(row, column, step)
        corner = (row * self._tile[0], column * self._tile[1])
        zero = ir.literal(0, self._dtype)
        begin = [ir.Set(total, zero) for totals in self._sums for total in totals]
        steps = ir.apply(
            "floor_divide", step.size("length") + (_DEPTH - 1), ir.literal(_DEPTH, ir.INDEX)
        )
        turn = (
            self._filled(0, matrix, corner[0]),
            self._filled(1, matrix, corner[1]),
            ir.Barrier(),
            self._multiplied(step),
            ir.Barrier(),
        )
        body = (
            *begin,
            ir.Loop(_PART, ZERO, steps, turn),
            self._stored(step, matrix, corner),
        )
        memory = {
            buffer: tile * _DEPTH for buffer, tile in zip(self._memory, self._tile, strict=True)
        }
        return step.written(memory, _GROUP, body)

    def _unfolded(self, row: ir.Expr, column: ir.Expr, step: Step) -> tuple[ir.Expr, ir.Expr]:
        """Return the tile on or below the diagonal that one of a rectangle of half as many columns stands for."""
        even, last = step.size("even"), step.size("last")
        there = column + even <= row
        return (
            where(there, row - even, last - row),
            where(there, column, last + 1 - even - column),
        )

    def _filled(self, number: int, matrix: ir.Expr, corner: ir.Expr) -> ir.Statement:
        """Return the loop that copies a tile of A or B; beyond its edges it is zero."""
        factor = (self._left, self._right)[number]
        step, tile = factor.step, ir.literal(self._tile[number], ir.INDEX)
        along_inner = factor.side is (Side.ROW, Side.COLUMN)[number]
        if along_inner:
            outer, inner = digits(_FILL, [ZERO, ir.literal(_DEPTH, ir.INDEX)])
        else:
            inner, outer = digits(_FILL, [ZERO, tile])
        place, depth = corner + outer, _PART * _DEPTH + inner
        count, length = step.size(("rows", "columns")[number]), step.size("length")
        inside = (smaller(place, count - 1), smaller(depth, length - 1))
        element = factor.load(matrix, *(inside if number == 0 else inside[::-1]))
        value = where(both(place < count, depth < length), element, 0)
        memory = self._memory[number]
        store = ir.Store(memory, inner * self._tile[number] + outer, value)
        return step.by_lanes(_FILL, self._tile[number] * _DEPTH, [store])

    def _multiplied(self, step: Step) -> ir.Statement:
        """Return the loop in which every thread adds products of a tile of each factor."""
        row, column = self._of_thread()
        names = [
            [ir.variable(f"{memory.name}_{number}", self._dtype) for number in range(_EACH)]
            for memory in self._memory
        ]
        statements: list[ir.Statement] = []
        for number, start in enumerate((row, column)):
            for each, name in enumerate(names[number]):
                place = _INNER * self._tile[number] + start + each * self._threads[number]
                statements.append(ir.Let(name, ir.load(self._memory[number], place)))
        statements += [
            ir.Set(total, plus_product(total, names[0][i], names[1][j]))
            for i, totals in enumerate(self._sums)
            for j, total in enumerate(totals)
        ]
        loop = ir.Loop(_INNER, ZERO, ir.literal(_DEPTH, ir.INDEX), tuple(statements))
        return self._by_threads(step, [loop])

    def _stored(self, step: Step, matrix: ir.Expr, corner: tuple[ir.Expr, ir.Expr]) -> ir.Statement:
        """Return what writes a thread's part of a tile."""
        down, across = self._of_thread()
        statements: list[ir.Statement] = []
        for i, totals in enumerate(self._sums):
            row = corner[0] + down + i * self._threads[0]
            for j, total in enumerate(totals):
                column = corner[1] + across + j * self._threads[1]
                there = both(
                    row < step.size("rows"),
                    column <= row if self._lower else column < step.size("columns"),
                )
                value: ir.Expr = total
                if self._subtracts:
                    value = self._result.load(matrix, row, column) - total
                store = self._result.store(matrix, row, column, value)
                statements.append(ir.If(there, (store,)))
        return self._by_threads(step, statements)

    def _of_thread(self) -> tuple[ir.Expr, ir.Expr]:
        row, column = digits(_LANE, [ZERO, ir.literal(self._threads[1], ir.INDEX)])
        return row, column

    def _by_threads(self, step: Step, statements: list[ir.Statement]) -> ir.Statement:
        return step.by_lanes(_LANE, self._threads[0] * self._threads[1], statements)
