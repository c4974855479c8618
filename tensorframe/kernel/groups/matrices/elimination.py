"""Elimination with partial pivots (LU): a block of columns, down to the last row, by one group.

Each thread owns rows, and reads and writes no others where they are in device memory: rows that change places go
through shared memory. Further columns may be right-hand sides, which are solved for on the way.
"""

from __future__ import annotations

from typing import Protocol

from tensorframe.dtypes import DType, uint32
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.steps import Statements, Step, less_product, mark, shared
from tensorframe.kernel.ir.formula import both, equal, where
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.quick_dataclasses import dataclass

_ROW, _COLUMN, _INNER, _LANE = [ir.index(name) for name in ("row", "column", "inner", "lane")]
_NOWHERE = ir.literal(0xFFFFFFFF, uint32)


class Elements(Protocol):
    """A matrix in memory of the device, or of a group."""

    def load(self, matrix: ir.Expr, row: ir.Expr, column: ir.Expr, /) -> ir.Expr:
        """Return an element."""

    def store(
        self, matrix: ir.Expr, row: ir.Expr, column: ir.Expr, value: ir.Expr, /
    ) -> ir.Statement:
        """Return what writes an element."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What a group eliminates: `count` columns of so many rows, of which each has `width` elements.

    A pivot's row is noted at `pivot` of `pivots`. `refuses` has pivots that are zero marked; `is_shared` says that the
    group has all elements in its memory.
    """

    step: Step
    dtype: DType
    elements: Elements
    matrix: ir.Expr
    rows: ir.Expr
    count: ir.Expr
    width: ir.Expr
    pivots: ir.Buffer
    pivot: ir.Expr
    refuses: bool
    is_shared: bool = False

    @property
    def memory(self) -> tuple[ir.Buffer, ir.Buffer]:
        """Rows that a group shares: that of the pivot, and the one that it changes places with."""
        return shared("chosen", self.dtype), shared("upper", self.dtype)


def eliminated(columns: Columns) -> ir.Statement:
    """Return the loop over columns."""
    search = _search_by_all if columns.is_shared else _search
    body = (*search(columns), *_exchange(columns), *_eliminate(columns))
    return ir.Loop(_COLUMN, ZERO, columns.count, body)


def _place() -> ir.Variable:
    return ir.variable("place", uint32)


def _best(columns: Columns) -> tuple[ir.Variable, Statements, ir.Statement]:
    """Return the largest element so far, how a search for it begins, and how an element is compared to it."""
    best, size = [ir.variable(name, columns.dtype) for name in ("best", "magnitude")]
    column, row = [ir.apply("from_index", index, dtype=uint32) for index in (_COLUMN, _ROW)]
    larger = (ir.Set(_place(), row), ir.Set(best, size))
    seen = (
        ir.Set(size, abs(columns.elements.load(columns.matrix, _ROW, _COLUMN))),
        ir.If(size > best, larger),
    )
    # where all are NaN, the first one stays the pivot
    begin = (ir.Set(best, ir.literal(-1, columns.dtype)), ir.Set(_place(), column))
    return best, begin, ir.If(_ROW >= _COLUMN, seen)


def _search_by_all(columns: Columns) -> Statements:
    """Return how each thread looks through a column for itself: nobody waits for the few rows of shared memory."""
    _, begin, seen = _best(columns)
    return (*begin, ir.Loop(_ROW, ZERO, columns.rows, (seen,)))


def _search(columns: Columns) -> Statements:
    """Return how all threads learn where a column's largest element is: the first of them, if there are more."""
    step, place = columns.step, _place()
    best, begin, seen = _best(columns)
    own, other = [ir.variable(name, columns.dtype) for name in ("own", "other")]
    elsewhere = ir.variable("elsewhere", uint32)
    return (
        *begin,
        step.by_lanes(_ROW, columns.rows, [seen]),
        ir.Set(own, best),
        ir.Combine(best, other, where(other > best, other, best)),
        ir.Set(place, where(equal(own, best), place, _NOWHERE)),
        ir.Combine(place, elsewhere, where(elsewhere < place, elsewhere, place)),
    )


def _exchange(columns: Columns) -> Statements:
    """Return how the threads that own the pivot's row and the upper one exchange them, and one notes the pivot."""
    step, matrix, elements = columns.step, columns.matrix, columns.elements
    chosen, upper = columns.memory
    chosen_row = ir.apply("to_index", _place(), dtype=ir.INDEX)
    sides = ((chosen_row, chosen, upper), (_COLUMN, upper, chosen))
    reads: list[ir.Statement] = []
    writes: list[ir.Statement] = []
    for row, own, others in sides:
        owner = equal(ir.apply("remainder", row, ir.literal(step.lanes, ir.INDEX)), _LANE)
        read = ir.Store(own, _INNER, elements.load(matrix, row, _INNER))
        write = elements.store(matrix, row, _INNER, ir.load(others, _INNER))
        for statements, statement in ((reads, read), (writes, write)):
            along = ir.Loop(_INNER, ZERO, columns.width, (statement,))
            statements.append(ir.If(owner, (along,)))
    writes.append(
        ir.If(equal(_LANE, 0), (ir.Store(columns.pivots, columns.pivot + _COLUMN, _place()),))
    )
    if columns.refuses:
        is_zero = equal(ir.load(chosen, _COLUMN), 0)
        writes.append(ir.If(both(is_zero, equal(_LANE, 0)), (mark(),)))
    return (
        step.by_lanes(_LANE, step.lanes, reads),
        ir.Barrier(),
        step.by_lanes(_LANE, step.lanes, writes),
        ir.Barrier(),
    )


def _eliminate(columns: Columns) -> Statements:
    """Return how each thread takes the pivot's row from those below that it owns."""
    step, matrix, elements = columns.step, columns.matrix, columns.elements
    chosen, _ = columns.memory
    factor, pivot = ir.variable("factor", columns.dtype), ir.load(chosen, _COLUMN)
    less = less_product(elements.load(matrix, _ROW, _INNER), factor, ir.load(chosen, _INNER))
    # where the pivot is zero, so are all elements below
    divisor = where(equal(pivot, 0), 1, pivot)
    below = (
        ir.Set(factor, elements.load(matrix, _ROW, _COLUMN) / divisor),
        elements.store(matrix, _ROW, _COLUMN, factor),
        ir.Loop(_INNER, _COLUMN + 1, columns.width, (elements.store(matrix, _ROW, _INNER, less),)),
    )
    return (step.by_lanes(_ROW, columns.rows, [ir.If(_ROW > _COLUMN, below)]), ir.Barrier())
