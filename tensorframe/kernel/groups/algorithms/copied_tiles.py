"""Tiles of factors that are copied to shared memory as they lie, by 16 bytes, while threads multiply those before.

Shared memory has two parts of the inner axis. Where a device copies to shared memory by itself, the elements pass
through no registers, and no compiler moves their reads behind the multiplications (asynchronous copies). A turn ends
with one barrier, and sums are in the order of all other tiles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tensorframe.dtypes import float32
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.product import Tiled
from tensorframe.kernel.groups.algorithms.product_loops import Factor, Product
from tensorframe.kernel.groups.algorithms.product_tiles import Side, Totals
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO, digits

_HALVES = 2


class Copied(Tiled, ABC):
    """The kernel of one product whose factors have neighbours in memory, whichever way they lie."""

    @property
    def fits(self) -> bool:
        """Whether elements of both factors lie side by side, along the inner axis or along the loop across it."""
        return self._has_neighbours(self._left) and self._has_neighbours(self._right)

    @abstractmethod
    def _multiplied(self, totals: Totals, part: ir.Expr) -> ir.Statement:
        """Return what multiplies the tiles in one part of shared memory."""

    def _piece(self, side: Side) -> int:
        return side.pitch * (side.length if side.inside else self._depth)

    def _shared(self, side: Side) -> int:
        return _HALVES * self._piece(side)

    def _turns(
        self, totals: Totals, corner: tuple[ir.Expr, ir.Expr], last: ir.Expr, steps: ir.Expr
    ) -> tuple[ir.Statement, ...]:
        step = ir.index("step")
        begin = self._copies(corner, ZERO, ZERO, last)
        now = ir.apply("remainder", step, ir.literal(_HALVES, ir.INDEX))
        ahead = self._copies(corner, step + 1, 1 - now, last)
        turn = (ahead, self._multiplied(totals, now), ir.Barrier())
        return (begin, ir.Barrier(), ir.Loop(step, ZERO, steps, turn))

    def _copies(
        self, corner: tuple[ir.Expr, ir.Expr], step: ir.Expr, part: ir.Expr, last: ir.Expr
    ) -> ir.Statement:
        """Return what copies both factors' elements of a step to one part of shared memory."""
        lanes, copies = self._target.lanes, list[ir.Statement]()
        for side, edge in zip((self._left, self._right), corner, strict=True):
            count = side.length * self._depth // ir.neighbours(side.memory[0].dtype)
            for turn in range(-(-count // lanes)):
                number = ir.index("lane") + turn * lanes
                copy = self._copy(side, number, edge, step * self._depth, part, last)
                whole = (turn + 1) * lanes <= count
                copies.append(copy if whole else ir.If(number < count, (copy,)))
        every = ir.literal(lanes, ir.INDEX)
        return ir.Loop(ir.index("lane"), ZERO, every, tuple(copies), over=ir.ParallelAxis.LANES)

    def _copy(
        self,
        side: Side,
        number: ir.Expr,
        corner: ir.Expr,
        first: ir.Expr,
        part: ir.Expr,
        last: ir.Expr,
    ) -> ir.Statement:
        """Return the copy of neighbours, which are the tile's `number`th."""
        memory = side.memory[0]
        across, inner, source, valid = self._neighbours(side, number, corner, first, last)
        line, beside = (across, inner) if side.inside else (inner, across)
        position = part * self._piece(side) + line * side.pitch + beside
        bits = ir.Buffer(self._body.inputs[side.factor.source].name, memory.dtype, ir.Role.INPUT)
        return ir.CopyNeighbours(memory, position, bits, source, valid)


def takes(region: Region, product: Product, target: Target) -> bool:
    """Whether a device copies the factors of a product, whose elements are what is added up."""
    factors = (product.left, product.right)
    return (
        target.copies
        and product.parts == 1
        and product.total.itemsize >= _LEAST
        and not any(factor.gather for factor in factors)
        and all(region.inputs[factor.source][1] == product.total for factor in factors)
    )


# Bytes of the smallest element that a device copies by itself where 16 of them are not aligned.
_LEAST = 4
# Threads that a multiprocessor has registers for at once, 64 of them for each, and the sums of a thread that needs as
# many: compilers take one or two more, and a fourth of the threads is left out.
_THREADS, _SUMS = 1024, 16


class CopiedAhead(Copied):
    """The kernel of one product of elements of 4 or 8 bytes, which threads multiply."""

    @property
    def fits(self) -> bool:
        """Whether lines of tiles are made of neighbours, and a group has the memory."""
        sides = (self._left, self._right)
        beside = [self._depth if side.inside else side.length for side in sides]
        size = self._product.total.itemsize * sum(map(self._shared, sides))
        whole = all(count % ir.neighbours(self._product.total) == 0 for count in beside)
        return super().fits and whole and size <= self._target.double_buffer

    def _occupancy(self) -> int:
        # compilers spill numbers of two registers, and neighbours along the inner axis of both factors
        is_small = self._product.total == float32 and not (self._left.inside and self._right.inside)
        fits = is_small and self._blocking.rows * self._blocking.columns == _SUMS
        return _THREADS // self._target.lanes if fits else 0

    def _side(self, key: str, factor: Factor, loop: int | None, length: int) -> Side:
        inside, total = factor.inner == 1, self._product.total
        # lines begin at a multiple of 16 bytes, and threads that read one each do so in different banks
        pitch = self._depth + ir.neighbours(total) if inside else length
        memory = ir.Buffer(f"{key}0", total, ir.Role.SHARED)
        return Side(key, factor, loop, length, pitch, inside, (memory,))

    def _spread(self, side: Side, thread: ir.Expr, count: int, stride: int) -> tuple[ir.Expr, int]:
        return (thread, stride) if side.inside else (thread * count, 1)

    def _multiplied(self, totals: Totals, part: ir.Expr) -> ir.Statement:
        """Return the loop that takes in neighbours along the inner axis together: tiles have them side by side."""
        lane, inner, blocking = ir.index("lane"), ir.index("inner"), self._blocking
        each = ir.neighbours(self._product.total)
        row, by = digits(lane, [ZERO, ir.literal(blocking.across, ir.INDEX)])
        loads = [
            *self._loads(self._left, part, row, blocking.rows, blocking.down),
            *self._loads(self._right, part, by, blocking.columns, blocking.across),
        ]
        sums: list[ir.Statement] = []
        for nth in range(each):
            for i, j, (total,) in totals:
                left, right = self._factor(self._left, i, nth), self._factor(self._right, j, nth)
                (value,) = self._taken_in([total], [left], [right])
                sums.append(ir.Set(total, value))
        turns = ir.literal(self._depth // each, ir.INDEX)
        return self._by_threads((ir.Loop(inner, ZERO, turns, (*loads, *sums)),))

    def _loads(
        self, side: Side, part: ir.Expr, thread: ir.Expr, count: int, stride: int
    ) -> list[ir.Statement]:
        """Return what reads a thread's `count` rows, or columns, of so many neighbours along the inner axis."""
        (memory,), each = side.memory, ir.neighbours(self._product.total)
        own, step = self._spread(side, thread, count, stride)
        inner = ir.index("inner") * each
        along, across = (1, side.pitch) if side.inside else (side.pitch, 1)
        first = part * self._piece(side) + _times(inner, along) + _times(own, across)
        return [
            ir.Let(
                self._factor(side, number, nth),
                ir.load(memory, first + (number * step * across + nth * along)),
            )
            for number in range(count)
            for nth in range(each)
        ]

    def _factor(self, side: Side, number: int, nth: int) -> ir.Variable:
        return ir.variable(f"{side.key}_{number}_{nth}", self._product.total)


def _times(place: ir.Expr, step: int) -> ir.Expr:
    return place if step == 1 else place * step
