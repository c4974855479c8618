"""Small systems of linear equations: a group has a matrix and its right-hand sides in shared memory, for one launch."""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import DType, uint32
from tensorframe.graph.shape import Shape
from tensorframe.kernel import ir
from tensorframe.kernel.groups.matrices.elimination import Columns, eliminated
from tensorframe.kernel.groups.matrices.filling import Operands
from tensorframe.kernel.groups.matrices.steps import BLOCK, Place, Step, shared
from tensorframe.kernel.groups.matrices.substitution import substituted
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import equal, where
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.kernel.nest.assemble import Launch, Partials
from tensorframe.quick_dataclasses import dataclass

_GROUP, _FILL, _COLUMN = [ir.index(name) for name in ("group", "fill", "column")]
# Columns of small matrices and what is beside them, at most: an inverse of the largest has so many.
_WIDE = 2 * BLOCK


@dataclass(frozen=True, slots=True)
class System:
    """Stacks of square matrices of `size` rows beside so many further columns, which operands give."""

    target: Target
    dtype: DType
    stack: Shape
    size: int
    further: int
    operands: Operands

    @property
    def width(self) -> int:
        """Columns of a matrix and its right-hand sides."""
        return self.size + self.further

    @property
    def is_small(self) -> bool:
        """Whether a group has a matrix with all that is beside it in shared memory."""
        return self.size <= BLOCK and self.width <= _WIDE

    @property
    def partials(self) -> Partials:
        """What is in memory between launches: matrices, and the rows of pivots."""
        if self.is_small:
            return ()
        rows = prod(self.stack) * self.size
        return ((self.dtype, rows * self.width, 0), (uint32, rows, 0))

    @property
    def place(self) -> Place:
        """Where the matrices are."""
        return Place(0, self.size * self.width, self.width)


@dataclass(frozen=True, slots=True)
class _Shared:
    """A matrix in memory that a group shares; rows have `width` elements."""

    buffer: ir.Buffer
    width: ir.Expr

    def place(self, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        """Return where an element is."""
        return row * self.width + column

    def load(self, _matrix: ir.Expr, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        """Return an element."""
        return ir.load(self.buffer, self.place(row, column))

    def store(
        self, _matrix: ir.Expr, row: ir.Expr, column: ir.Expr, value: ir.Expr
    ) -> ir.Statement:
        """Return what writes an element."""
        return ir.Store(self.buffer, self.place(row, column), value)


def small_launch(system: System, result: ir.Buffer, *, solves: bool) -> Launch:
    """Return the launch that gives the unknowns, or the pivots with the signs of exchanges."""
    step = Step(system.target, f"elimination of small matrices: {system.dtype}", BLOCK)
    size, width = step.size("size"), step.size("width")
    elements = _Shared(shared("elements", system.dtype), width)
    pivots = shared("pivots", uint32)
    columns = Columns(
        step,
        system.dtype,
        elements,
        _GROUP,
        rows=size,
        count=size,
        width=width,
        pivots=pivots,
        pivot=ZERO,
        refuses=solves,
        is_shared=True,
    )
    row, column = digits(_FILL, [ZERO, width])
    taken = system.operands.element(step, _GROUP, row, column)
    body = (
        step.by_lanes(_FILL, size * width, [elements.store(_GROUP, row, column, taken)]),
        ir.Barrier(),
        eliminated(columns),
        _unknowns(step, elements, result) if solves else _signed(step, elements, pivots, result),
        ir.Barrier(),
    )
    memory = {
        elements.buffer: BLOCK * _WIDE,
        pivots: BLOCK,
        **dict.fromkeys(columns.memory, _WIDE),
    }
    step.written(memory, _GROUP, body)
    numbers = system.operands.numbers | {"size": system.size, "width": system.width}
    if solves:
        numbers["further"] = system.further
    return step.launch(prod(system.stack), {}, **numbers)


def _unknowns(step: Step, elements: _Shared, result: ir.Buffer) -> ir.Statement:
    """Return the loop in which each thread solves for a column, and writes it."""
    size, further, row = step.size("size"), step.size("further"), ir.index("unknown")
    place = size + _COLUMN
    solved = substituted(
        size,
        lambda row, inner: elements.load(_GROUP, row, inner),
        lambda row: (elements.buffer, elements.place(row, place)),
        forward=False,
        unit=False,
    )
    position = (_GROUP * size + row) * further + _COLUMN
    give = ir.Store(result, position, elements.load(_GROUP, row, place))
    return step.by_lanes(_COLUMN, further, [*solved, ir.Loop(row, ZERO, size, (give,))])


def _signed(step: Step, elements: _Shared, pivots: ir.Buffer, result: ir.Buffer) -> ir.Statement:
    """Return the loop that writes the pivots, each with another sign where two rows were exchanged for it."""
    row, size = ir.index("row"), step.size("size")
    pivot = elements.load(_GROUP, row, row)
    chosen = ir.apply("to_index", ir.load(pivots, row), dtype=ir.INDEX)
    store = ir.Store(result, _GROUP * size + row, where(equal(chosen, row), pivot, -pivot))
    return step.by_lanes(row, size, [store])
