"""Steps of blocked algorithms: kernels that are launched once for each block, of which only their numbers differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.groups.order import divided
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.assemble import Launch, assembled
from tensorframe.kernel.nest.body import Numbers
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.quick_dataclasses import dataclass, field

Statements = Sequence[ir.Statement]

# Columns that are factorised before what they leave of the other columns is computed, and threads of a group that
# keep sums for each of them.
BLOCK = 32


class Side(Enum):
    """Along which elements are next to each other in memory: rows, or columns."""

    ROW = "row"
    COLUMN = "column"


@dataclass(frozen=True, slots=True)
class Place:
    """Where part of a matrix begins in memory, and the steps to the next matrix, row and column, in elements."""

    first: int
    apart: int
    down: int
    across: int = 1

    def shifted(self, row: int, column: int) -> Place:
        """Return where the part begins that has this element first."""
        first = self.first + row * self.down + column * self.across
        return Place(first, self.apart, self.down, self.across)

    @property
    def transposed(self) -> Place:
        """The same elements with rows for columns."""
        return Place(self.first, self.apart, self.across, self.down)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Part of each matrix of a stack, as a step names it: where it is, the numbers of a launch say."""

    step: Step
    buffer: ir.Buffer
    name: str
    side: Side = Side.ROW

    def position(self, matrix: ir.Expr, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        """Return the position of an element."""
        size = self.step.size
        if self.side is Side.ROW:
            inside = row * size(f"{self.name}_down") + column
        else:
            inside = column * size(f"{self.name}_across") + row
        return matrix * size(f"{self.name}_apart") + size(f"{self.name}_first") + inside

    def load(self, matrix: ir.Expr, row: ir.Expr, column: ir.Expr) -> ir.Expr:
        """Return an element."""
        return ir.load(self.buffer, self.position(matrix, row, column))

    def store(self, matrix: ir.Expr, row: ir.Expr, column: ir.Expr, value: ir.Expr) -> ir.Statement:
        """Return what writes an element."""
        return ir.Store(self.buffer, self.position(matrix, row, column), value)


@dataclass(slots=True, eq=False)
class Step:
    """A kernel of work-groups while it is written, and its launches afterwards."""

    target: Target
    note: str
    lanes: int = 0
    _numbers: Numbers = field(default_factory=Numbers)
    _sizes: dict[str, ir.Argument] = field(default_factory=dict)
    _kernel: ir.Kernel | None = None

    def __post_init__(self) -> None:
        """Have as many threads as a group has, if no number is given."""
        self.lanes = min(self.lanes or self.target.lanes, self.target.lanes)

    def size(self, name: str) -> ir.Argument:
        """Return the number of a launch that has this name."""
        if name not in self._sizes:
            self._sizes[name] = self._numbers.take(0, name)
        return self._sizes[name]

    def by_lanes(self, index: ir.Index, count: ir.Expr | int, body: Statements) -> ir.Statement:
        """Return the loop whose iterations the threads of a group share.

        All threads begin each round of it, and those beyond `count` do nothing in the last: PoCL has threads run loops
        that end before they begin, where their number is known to the launch alone and barriers are around them.
        """
        lanes, inside = self.lanes, tuple(body)
        if isinstance(count, int):
            stop: ir.Expr = ir.literal(-(-count // lanes) * lanes, ir.INDEX)
            guarded = count % lanes > 0
        else:
            stop, guarded = divided(count, lanes) * lanes, True
        if guarded:
            last = ir.literal(count, ir.INDEX) if isinstance(count, int) else count
            inside = (ir.If(index < last, inside),)
        return ir.Loop(index, ZERO, stop, inside, over=ir.ParallelAxis.LANES, rolled=True)

    def written(self, shared: Mapping[ir.Buffer, int], group: ir.Index, body: Statements) -> Step:
        """Give the kernel its statements for each group; `shared` is its memory, in elements."""
        memory = [
            ir.Allocate(buffer, ir.literal(count, ir.INDEX)) for buffer, count in shared.items()
        ]
        over = ir.ParallelAxis.GROUPS
        loop = ir.Loop(group, ir.START, ir.STOP, tuple(body), parallel=True, over=over)
        self._assemble((*memory, loop))
        return self

    def written_for_each(self, index: ir.Index, body: Statements) -> Step:
        """Give the kernel its statements for single threads of the whole grid."""
        over = ir.ParallelAxis.GRID
        self._assemble((ir.Loop(index, ir.START, ir.STOP, tuple(body), parallel=True, over=over),))
        return self

    def _assemble(self, statements: tuple[ir.Statement, ...]) -> None:
        self._kernel = assembled(
            statements,
            self._numbers,
            (),
            (self.note,),
            lanes=self.lanes,
            index=self.target.index,
        )

    def launch(self, total: int, places: Mapping[str, Place], **numbers: int) -> Launch:
        """Return a launch for so many groups, or elements, with these numbers and parts of matrices."""
        assert self._kernel is not None
        known = dict(numbers)
        for name, place in places.items():
            known |= {f"{name}_first": place.first, f"{name}_apart": place.apart}
            known |= {f"{name}_down": place.down, f"{name}_across": place.across}
        return Launch(self._kernel, tuple([known[name] for name in self._sizes]), total, 1)


def shared(name: str, dtype: DType) -> ir.Buffer:
    """Return memory that a group shares."""
    return ir.Buffer(name, dtype, ir.Role.SHARED)


def less_product(total: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return a total less a product, rounded once where the device does so without effort."""
    return ir.apply("accumulate_add", total, ir.apply("accumulate_multiply", -left, right))


def plus_product(total: ir.Expr, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    """Return a total and a product, rounded once where the device does so without effort."""
    return ir.apply("accumulate_add", total, ir.apply("accumulate_multiply", left, right))


def as_input(buffer: ir.Buffer) -> ir.Buffer:
    """Return memory as a kernel has it that only reads it."""
    return ir.Buffer(buffer.name, buffer.dtype, ir.Role.INPUT)


def mark() -> ir.Statement:
    """Return what says that a matrix cannot be factorised: the host finds out why."""
    return ir.Store(MARK, ZERO, ir.literal(1, MARK.dtype))
