"""Cholesky factors: blocks on the diagonal in shared memory, what is below by substitution, the rest by products.

The factor replaces the matrix, whose upper triangle is zero. Where a pivot is not positive, a mark is left.
"""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.filling import Operands, filling_launch
from tensorframe.kernel.groups.matrices.products import Product
from tensorframe.kernel.groups.matrices.steps import (
    BLOCK,
    Matrix,
    Place,
    Side,
    Statements,
    Step,
    less_product,
    mark,
    shared,
)
from tensorframe.kernel.groups.matrices.substitution import Substitution
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import equal, sqrt, where
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.kernel.nest.assemble import Launch

_GROUP, _FILL, _ROW, _COLUMN, _INNER = [
    ir.index(name) for name in ("group", "fill", "row", "column", "inner")
]


def cholesky_launches(
    target: Target, dtype: DType, factors: ir.Buffer, stack: Shape, size: int, operands: Operands
) -> list[Launch]:
    """Return the launches that give the factors of operands, of which the lower triangles are read.

    One launch does that for small matrices, three for each block of larger ones.
    """
    whole, count = Place(0, size * size, size), prod(stack)
    if size <= BLOCK:
        block = _DiagonalBlock(target, dtype, factors, operands)
        return [block.launch(count, whole, size)]
    diagonal = _DiagonalBlock(target, dtype, factors)
    buffers = (factors, factors)
    below = Substitution(target, dtype, buffers, Side.COLUMN, forward=True, unit=False)
    rest = Product(
        target,
        dtype,
        (*buffers, factors),
        (Side.ROW, Side.COLUMN),
        subtracts=True,
        lower=True,
    )
    launches = [filling_launch(target, dtype, factors, stack, size, operands)]
    for first in range(0, size, BLOCK):
        place, width = whole.shifted(first, first), min(BLOCK, size - first)
        launches.append(diagonal.launch(count, place, width))
        left = size - first - width
        if left:
            under = place.shifted(width, 0)
            # rows below are solved for as columns: X L^T = A is L X^T = A^T
            launches.append(below.launch(count, place, under.transposed, width, left))
            parts = (under, under.transposed, place.shifted(width, width))
            launches.append(rest.launch(count, parts, left, left, width))
    return launches


class _DiagonalBlock:
    """The factor of a block on the diagonal, for which a group has one thread for each row.

    With `operands` it is the factor of a whole matrix of theirs.
    """

    def __init__(
        self,
        target: Target,
        dtype: DType,
        factors: ir.Buffer,
        operands: Operands | None = None,
    ) -> None:
        step = Step(target, f"cholesky factors of blocks: {dtype}", BLOCK)
        self._matrix, self._operands = Matrix(step, factors, "a"), operands
        self._dtype = dtype
        self._memory, self._roots = shared("block", dtype), shared("roots", dtype)
        self._step = self._written(step)

    def launch(self, stack: int, place: Place, size: int) -> Launch:
        """Return a launch for blocks of `size` rows."""
        numbers = {} if self._operands is None else self._operands.numbers
        return self._step.launch(stack, {"a": place}, size=size, **numbers)

    def _written(self, step: Step) -> Step:
        size, memory, own = step.size("size"), self._memory, self._matrix
        row, column = digits(_FILL, [ZERO, size])
        taken = (
            own.load(_GROUP, row, column)
            if self._operands is None
            else self._operands.element(step, _GROUP, row, column)
        )
        element = ir.load(memory, row * BLOCK + column)
        root = ir.load(self._roots, row)
        factor = where(equal(row, column), root, where(column < row, element, 0))
        body = (
            step.by_lanes(_FILL, size * size, [ir.Store(memory, row * BLOCK + column, taken)]),
            ir.Barrier(),
            ir.Loop(_COLUMN, ZERO, size, (*self._summed(step), *self._divided(step))),
            step.by_lanes(_FILL, size * size, [own.store(_GROUP, row, column, factor)]),
            ir.Barrier(),
        )
        return step.written({memory: BLOCK * BLOCK, self._roots: BLOCK}, _GROUP, body)

    def _summed(self, step: Step) -> Statements:
        """Return how each thread takes what is known from its row's element of a column."""
        memory, total = self._memory, ir.variable("total", self._dtype)
        mine, other = _ROW * BLOCK, _COLUMN * BLOCK
        less = less_product(total, ir.load(memory, mine + _INNER), ir.load(memory, other + _INNER))
        below = (
            ir.Set(total, ir.load(memory, mine + _COLUMN)),
            ir.Loop(_INNER, ZERO, _COLUMN, (ir.Set(total, less),)),
            ir.Store(memory, mine + _COLUMN, total),
        )
        loop = step.by_lanes(_ROW, step.size("size"), [ir.If(_ROW >= _COLUMN, below)])
        return (loop, ir.Barrier())

    def _divided(self, step: Step) -> Statements:
        """Return how a column is divided by the root of its first element, which is kept elsewhere: all read it."""
        memory, pivot = self._memory, ir.variable("pivot", self._dtype)
        mine = _ROW * BLOCK + _COLUMN
        quotient = ir.Store(memory, mine, ir.load(memory, mine) / pivot)
        body = (
            ir.Set(pivot, ir.load(memory, _COLUMN * BLOCK + _COLUMN)),
            ir.If(pivot <= 0, (mark(),)),  # unknown numbers are no error: the factor has them
            ir.Set(pivot, sqrt(pivot)),
            ir.If(_ROW > _COLUMN, (quotient,)),
            ir.If(equal(_ROW, _COLUMN), (ir.Store(self._roots, _ROW, pivot),)),
        )
        return (step.by_lanes(_ROW, step.size("size"), body), ir.Barrier())
