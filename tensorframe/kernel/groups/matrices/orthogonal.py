"""QR: blocks of columns are reflected, then the columns to their right by all reflections of a block at once.

Reflections I - s v v^T of one block are applied together without their triangular factor T: with W = V^T A, Y follows
from W by substitution in the products of vectors, since T^-1 is what of V^T V is above the diagonal, and 1 / s on it.
Source: C. Puglisi, "Modification of the Householder method based on the compact WY representation" (SISC 13, 1992).
"""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.filling import Operands, Source, filling_launch
from tensorframe.kernel.groups.matrices.products import Product
from tensorframe.kernel.groups.matrices.reflections import Reflections
from tensorframe.kernel.groups.matrices.steps import BLOCK, Place, Side
from tensorframe.kernel.groups.matrices.substitution import Substitution
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Launch, Partials
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Stacks of matrices that operands give; Q gets so many columns, and R as many rows."""

    target: Target
    dtype: DType
    stack: Shape
    rows: int
    columns: int
    wanted: int
    operands: Operands

    @property
    def count(self) -> int:
        """Reflections of a matrix."""
        return min(self.rows, self.columns)

    @property
    def partials(self) -> Partials:
        """What is in memory between launches: see `_Arrays`."""
        blocks, stack = -(-self.count // BLOCK), prod(self.stack)
        sizes = (
            self.rows * self.columns,
            self.rows * self.count,
            self.count,
            blocks * BLOCK * BLOCK,
            BLOCK * max(self.columns, self.wanted),
        )
        return tuple([(self.dtype, stack * size, 0) for size in sizes])


def orthogonal_launches(rectangles: Rectangles, q: ir.Buffer, r: ir.Buffer) -> list[Launch]:
    """Return the launches that give both factors."""
    work = _Work(rectangles)
    return [*work.reflected(), work.triangle(r), *work.orthonormal(q)]


class _Work:
    """Matrices that become triangles, vectors of reflections, their scales and products, and Y of one block."""

    def __init__(self, rectangles: Rectangles) -> None:
        self.rectangles, self.stack = rectangles, prod(rectangles.stack)
        names = [f"p{number}" for number in range(5)]
        buffers = [ir.Buffer(name, rectangles.dtype, ir.Role.OUTPUT) for name in names]
        self.matrices, self.vectors, self.scales, self.products, self.sums = buffers
        rows, columns, count = rectangles.rows, rectangles.columns, rectangles.count
        wide = max(columns, rectangles.wanted)
        self._matrix = Place(0, rows * columns, columns)
        self.vector = Place(0, rows * count, count)
        self.sum = Place(0, BLOCK * wide, wide)

    def reflected(self) -> list[Launch]:
        """Return the launches that make triangles of the operands, and the products of vectors of each block."""
        all_of, target, dtype = self.rectangles, self.rectangles.target, self.rectangles.dtype
        launches = [
            filling_launch(target, dtype, self.matrices, all_of.stack, all_of.rows, all_of.operands)
        ]
        block = Reflections(target, dtype, self.matrices, self.vectors, self.scales)
        squares = self.product(self.vectors, self.vectors, self.products)
        applied = _Applied(self, self.matrices, forward=True)
        for first in range(0, all_of.count, BLOCK):
            count, rows = min(BLOCK, all_of.count - first), all_of.rows - first
            places = {
                "a": self._matrix.shifted(first, first),
                "v": self.vector.shifted(first, first),
            }
            launches.append(block.launch(self.stack, places, rows, count, **self.scales_at(first)))
            vectors = places["v"]
            parts = (vectors.transposed, vectors, self.squares(first))
            launches.append(squares.launch(self.stack, parts, count, count, rows))
            others = all_of.columns - first - count
            if others:
                launches += applied.launches(first, places["a"].shifted(0, count), others)
        return launches

    def triangle(self, r: ir.Buffer) -> Launch:
        """Return the launch that copies the rows of R."""
        all_of = self.rectangles
        steps = strides_of((*all_of.stack, all_of.rows, all_of.columns))
        operands = Operands(
            all_of.dtype, all_of.stack, [Source(all_of.columns, self.matrices, steps)]
        )
        return filling_launch(all_of.target, all_of.dtype, r, all_of.stack, all_of.wanted, operands)

    def orthonormal(self, q: ir.Buffer) -> list[Launch]:
        """Return the launches that reflect the columns of an identity, by the last block first."""
        all_of = self.rectangles
        operands = Operands(all_of.dtype, all_of.stack, [Source(all_of.wanted)])
        launches = [
            filling_launch(all_of.target, all_of.dtype, q, all_of.stack, all_of.rows, operands)
        ]
        applied = _Applied(self, q, forward=False)
        place = Place(0, all_of.rows * all_of.wanted, all_of.wanted)
        for first in reversed(range(0, all_of.count, BLOCK)):
            launches += applied.launches(first, place.shifted(first, first), all_of.wanted - first)
        return launches

    def scales_at(self, first: int) -> dict[str, int]:
        """Return where the scales of a block are."""
        return {"scale_first": first, "scale_apart": self.rectangles.count}

    def squares(self, first: int) -> Place:
        """Return where the products of a block's vectors are."""
        blocks = -(-self.rectangles.count // BLOCK)
        return Place(first * BLOCK, blocks * BLOCK * BLOCK, BLOCK)

    def product(self, left: ir.Buffer, right: ir.Buffer, result: ir.Buffer) -> Product:
        """Return the step of a product of the transposes of vectors."""
        buffers = (left, right, result)
        sides = (Side.COLUMN, Side.ROW)
        return Product(
            self.rectangles.target, self.rectangles.dtype, buffers, sides, subtracts=False
        )


class _Applied:
    """The reflections of a block, applied to columns: the first reflection first, or (`forward` is false) last."""

    def __init__(self, work: _Work, matrices: ir.Buffer, *, forward: bool) -> None:
        self._work = work
        rectangles = work.rectangles
        target, dtype = rectangles.target, rectangles.dtype
        self._sums = work.product(work.vectors, matrices, work.sums)
        self._solved = Substitution(
            target,
            dtype,
            (work.products, work.sums),
            Side.ROW,
            forward=forward,
            unit=False,
            scales=work.scales,
        )
        buffers, sides = (work.vectors, work.sums, matrices), (Side.ROW, Side.ROW)
        self._rest = Product(target, dtype, buffers, sides, subtracts=True)

    def launches(self, first: int, columns: Place, width: int) -> list[Launch]:
        """Return the launches for so many columns of all rows from `first` on."""
        work, stack = self._work, self._work.stack
        count = min(BLOCK, work.rectangles.count - first)
        rows = work.rectangles.rows - first
        vectors, sums = work.vector.shifted(first, first), work.sum
        scales = work.scales_at(first)
        return [
            self._sums.launch(stack, (vectors.transposed, columns, sums), count, width, rows),
            self._solved.launch(stack, work.squares(first), sums, count, width, **scales),
            self._rest.launch(stack, (vectors, sums, columns), rows, width, count),
        ]
