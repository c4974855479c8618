"""Products with double buffering: threads read the next tiles while they multiply those in shared memory.

What they have read stays in registers until then, and goes to the other half of shared memory: what memory takes to
answer is hidden, and a turn ends with one barrier instead of two. A thread's rows and columns are neighbours, which it
reads from shared memory by 16 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.product import Tiled
from tensorframe.kernel.groups.algorithms.product_loops import Factor
from tensorframe.kernel.groups.algorithms.product_tiles import Side, Totals
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.quick_tuples import NamedTuple

_HALVES = 2
# Elements that a thread reads at once, at most: where lines begin is a multiple of it.
_AT_ONCE = 4
# Bytes of the smallest element of which a thread reads several at once.
_LEAST = 4


class Ahead(NamedTuple):
    """What a thread reads of a next tile at once: its registers, what sets them, and where shared memory has each.

    `number` is that of the read in its tile, which not every thread has where the tile is small.
    """

    number: ir.Expr
    registers: Sequence[ir.Variable]
    reads: Sequence[ir.Statement]
    places: Sequence[tuple[ir.Buffer, ir.Expr]]


class DoubleBuffered(Tiled):
    """The kernel of one product of tiles that are in shared memory twice."""

    @property
    def fits(self) -> bool:
        """Whether a group has the memory."""
        product = self._product
        elements = sum(self._shared(side) for side in (self._left, self._right))
        return elements * product.total.itemsize * product.parts <= self._target.double_buffer

    def _side(self, key: str, factor: Factor, loop: int | None, length: int) -> Side:
        side = super()._side(key, factor, loop, length)
        return replace(side, pitch=length + _AT_ONCE) if side.inside else side

    def _spread(
        self, _side: Side, thread: ir.Expr, count: int, _stride: int
    ) -> tuple[ir.Expr, int]:
        return thread * count, 1

    def _shared(self, side: Side) -> int:
        return _HALVES * super()._shared(side)

    def _turns(
        self, totals: Totals, corner: tuple[ir.Expr, ir.Expr], last: ir.Expr, steps: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        step = ir.index("step")
        sides = tuple(zip((self._left, self._right), corner, strict=True))
        first = [(side, self._ahead(side, edge, ZERO, last)) for side, edge in sides]
        then = (step + 1) * self._depth
        following = [(side, self._ahead(side, edge, then, last)) for side, edge in sides]
        now = ir.apply("remainder", step, ir.literal(_HALVES, ir.INDEX))
        turn = (
            *[self._read(ahead) for _, ahead in following],
            self._multiply(totals, now),
            *[self._kept(side, ahead, 1 - now) for side, ahead in following],
            ir.Barrier(),
        )
        return (
            *self._emptied(first),
            *[self._read(ahead) for _, ahead in first],
            *[self._kept(side, ahead, ZERO) for side, ahead in first],
            ir.Barrier(),
            ir.Loop(step, ZERO, steps, turn),
        )

    def _each(self, side: Side) -> int:
        """Return how many elements of a factor a thread reads at once, those that lie side by side."""
        product, total = self._product, self._product.total
        alone = product.parts > 1 or total.itemsize < _LEAST or side.factor.gather is not None
        whole = self._body.inputs[side.factor.source].dtype == total
        if alone or not (whole and self._target.neighbours and self._has_neighbours(side)):
            return 1
        each = ir.neighbours(total)
        line = self._depth if side.inside else side.length
        return each if line % each == 0 and side.inside == (side.factor.inner == 1) else 1

    def _ahead(self, side: Side, corner: ir.Expr, first: ir.Expr, last: ir.Expr) -> list[Ahead]:
        """Return what a thread, of the group's `lane`, has of a tile."""
        lanes, each, elements = self._target.lanes, self._each(side), list[Ahead]()
        for turn in range(-(-side.length * self._depth // (each * lanes))):
            number = ir.index("lane") + turn * lanes
            if each > 1:
                elements.append(self._beside(side, turn, number, corner, first, last))
                continue
            position, values = self._elements(side, number, corner, first, last)
            registers = [
                ir.variable(f"next_{memory.name}_{turn}", memory.dtype) for memory in side.memory
            ]
            reads = [ir.Set(*pair) for pair in zip(registers, values, strict=True)]
            places = [(memory, position) for memory in side.memory]
            elements.append(Ahead(number, registers, reads, places))
        return elements

    def _beside(
        self,
        side: Side,
        turn: int,
        number: ir.Expr,
        corner: ir.Expr,
        first: ir.Expr,
        last: ir.Expr,
    ) -> Ahead:
        """Return what a thread reads of neighbouring elements."""
        (memory,) = side.memory
        across, inner, source, valid = self._neighbours(side, number, corner, first, last)
        place = inner * side.pitch + across
        step = side.pitch if side.inside else 1
        count = ir.neighbours(memory.dtype)
        registers = [
            ir.variable(f"next_{memory.name}_{turn}_{nth}", memory.dtype) for nth in range(count)
        ]
        buffer = self._body.inputs[side.factor.source]
        read = ir.ReadNeighbours(tuple(registers), buffer, source, valid)
        places = [(memory, place + nth * step if nth else place) for nth in range(count)]
        return Ahead(number, registers, [read], places)

    def _emptied(self, tiles: Sequence[tuple[Side, list[Ahead]]]) -> list[ir.Statement]:
        """Return what gives registers a value outside of the loops over threads, for the whole kernel."""
        zero = ir.literal(0, self._product.total)
        return [
            ir.Set(register, zero)
            for _, ahead in tiles
            for element in ahead
            for register in element.registers
        ]

    def _read(self, tile: Sequence[Ahead]) -> ir.Statement:
        """Return what reads the elements of a tile into registers."""
        return self._by_all([read for ahead in tile for read in ahead.reads])

    def _kept(self, side: Side, tile: Sequence[Ahead], half: ir.Expr) -> ir.Statement:
        """Return what puts them into a half of shared memory."""
        size, count = side.pitch * self._depth, side.length * self._depth // self._each(side)
        stores: list[ir.Statement] = []
        for ahead in tile:
            puts = tuple(
                [
                    ir.Store(memory, place if half is ZERO else half * size + place, register)
                    for (memory, place), register in zip(ahead.places, ahead.registers, strict=True)
                ]
            )
            whole = count % self._target.lanes == 0
            stores += puts if whole else [ir.If(ahead.number < count, puts)]
        return self._by_all(stores)

    def _by_all(self, statements: Sequence[ir.Statement]) -> ir.Statement:
        """Return statements for each thread of the group."""
        count = ir.literal(self._target.lanes, ir.INDEX)
        body = tuple(statements)
        return ir.Loop(ir.index("lane"), ZERO, count, body, over=ir.ParallelAxis.LANES)
