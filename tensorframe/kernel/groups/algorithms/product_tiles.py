"""Tiles of a product: those of its factors in shared memory, and the accumulators that threads keep of its own."""

from __future__ import annotations

from tensorframe.kernel import ir
from tensorframe.kernel.groups.algorithms.product_loops import Factor
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

Totals = list[tuple[int, int, tuple[ir.Variable, ...]]]


class Neighbours(NamedTuple):
    """The first of neighbouring elements: where in a tile it is, and in memory, and how many of them are there."""

    across: ir.Expr
    inner: ir.Expr
    source: ir.Expr
    valid: ir.Expr


@dataclass(frozen=True, slots=True)
class Side:
    """A factor's tile: the loop that it runs along, its length there and in shared memory.

    `inside` says that the factor's elements are next to each other along the inner axis.
    """

    key: str
    factor: Factor
    loop: int | None
    length: int
    pitch: int
    inside: bool
    memory: tuple[ir.Buffer, ...]


def selected(totals: dict[tuple[int, int], ir.Variable], i: ir.Expr, j: ir.Expr) -> ir.Expr:
    """Return one of the accumulators, by row and column: registers cannot be indexed."""
    columns: dict[int, ir.Expr] = {}
    for row, by in sorted(totals):
        total = totals[row, by]
        columns[by] = where(equal(i, row), total, columns[by]) if by in columns else total
    chosen = columns[0]
    for by in range(1, len(columns)):
        chosen = where(equal(j, by), columns[by], chosen)
    return chosen


def added(total: ir.Expr, x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return a total that has taken in a product."""
    return ir.apply("accumulate_add", total, ir.apply("accumulate_multiply", x, y))


def moved(start: ir.Expr, place: ir.Expr, step: ir.Expr | None) -> ir.Expr:
    """Return where an element is, so many steps from a start; the start where nothing moves along the loop."""
    if step is None:
        return start
    along = place if isinstance(step, ir.Literal) and step.value == 1 else place * step
    return along if start is ZERO else start + along
