"""Statements of the kernel IR, and the kernels that they make up."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tensorframe.dtypes import DType
from tensorframe.kernel.ir.expressions import Argument, Buffer, Expr, Index, Variable, argument
from tensorframe.quick_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """Name a value, for this block and the loops in it."""

    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """Give an accumulator its first or its next value."""

    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Write an element of a buffer."""

    buffer: Buffer
    position: Expr
    value: Expr


class ParallelAxis(Enum):
    """What the iterations of a loop are shared out over, in a kernel of work-groups."""

    NOTHING = "nothing"  # each thread that comes to the loop runs all of them
    GRID = "grid"  # single threads of all groups
    GROUPS = "groups"  # whole work-groups: all threads of a group run the same iteration
    LANES = "lanes"  # the threads of one group, neighbouring iterations on neighbouring threads


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Run `body` for `index` from `start` up to, not including, `stop`.

    The iterations of a `parallel` loop may run in any order, and at once. One that is `long` runs often enough for a
    compiler to compute hundreds of them together. One that is `packed` sets many variables alike, from what lies side
    by side: a compiler puts these into vectors (superword-level parallelism). Of one with a `width`, a thread may run
    so many neighbours, and read and write what they have side by side in memory with one access. One that is `rolled`
    is not worth the registers that unrolling takes.
    """

    index: Index
    start: Expr
    stop: Expr
    body: tuple[Statement, ...]
    parallel: bool = False
    over: ParallelAxis = ParallelAxis.NOTHING
    long: bool = False
    packed: bool = False
    width: int = 1
    rolled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Run `body` where the condition holds."""

    condition: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Allocate:
    """Make the memory of a scratch buffer, `count` elements, for the rest of the kernel's call.

    Shared memory has a literal for its count, and begins with any values.
    """

    buffer: Buffer
    count: Expr


@dataclass(frozen=True, slots=True, eq=False)
class StreamingStore:
    """Write the first `count` elements of a scratch buffer to `buffer`, from `position` on.

    They go past the caches: nobody reads them before these have been filled with other things. `on_line` says that
    `position` is where a line of the cache begins, if `buffer` begins with one: a loop that fills `source` may write
    there itself, past the caches, what it would leave in `source`.
    """

    buffer: Buffer
    position: Expr
    source: Buffer
    count: Expr
    on_line: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prefetch:
    """Say that `count` elements of an input are read soon, from `position` on; there may be none at the end of it."""

    buffer: Buffer
    position: Expr
    count: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Combine:
    """Join the values that `variable` has in the threads of a group: afterwards all of them have the result.

    `joined` is the expression of two values, `variable` and `other`. All threads of a group come here together. The
    order is given by `levels`: the values of neighbours are joined, one after the other, then the results of these.
    With a `width`, so many neighbouring threads have a result of their own.
    """

    variable: Variable
    other: Variable
    joined: Expr
    width: int = 0


# neighbouring threads whose values are joined first, and those that share values without memory, where any do
CLASS, WARP = 8, 32


def levels(width: int) -> list[int]:
    """Return how many neighbours are joined, and how many of their results then, until there is one of so many."""
    sizes = [min(CLASS, width)]
    for most in (WARP // CLASS, width):
        width //= sizes[-1]
        if width > 1:
            sizes.append(min(most, width))
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Wait for all threads of the group; what they stored in shared memory before can be loaded afterwards."""


# bytes of neighbouring elements that are read, or copied to shared memory, at once
_AT_ONCE = 16


def neighbours(dtype: DType) -> int:
    """Return how many neighbouring elements of a dtype are read, or copied to shared memory, at once."""
    return _AT_ONCE // dtype.itemsize


@dataclass(frozen=True, slots=True, eq=False)
class CopyNeighbours:
    """Copy `neighbours` of an input to shared memory, which has them after the next barrier.

    Only `valid` of them are read, and the others become zero. The position in shared memory is a multiple of their
    number, and so is that in memory where a device is to copy all at once.
    """

    buffer: Buffer
    position: Expr
    source: Buffer
    source_position: Expr
    valid: Expr


@dataclass(frozen=True, slots=True, eq=False)
class ReadNeighbours:
    """Read `neighbours` of an input into variables of a thread: `valid` of them, and the others become zero.

    The position is a multiple of their number where a device is to read all at once.
    """

    variables: tuple[Variable, ...]
    source: Buffer
    position: Expr
    valid: Expr


# rows and columns of a tile that the threads of a warp make together, and the length of what it is made from
TILE_ROWS, TILE_COLUMNS, TILE_DEPTH = 16, 8, 16


@dataclass(frozen=True, slots=True)
class Tile:
    """Bits of numbers of half precision in shared memory, from `position` on; lines of them begin `pitch` apart.

    Those of a line lie along the inner axis of a product, or, unless it is `inside`, along the other one.
    """

    buffer: Buffer
    position: Expr
    pitch: int
    inside: bool


@dataclass(frozen=True, slots=True, eq=False)
class MultiplyTiles:
    """Add the product of two tiles of `dtype` to one of float32, of which a warp's 32 threads have parts in `totals`.

    `rows` by `columns` tiles are made, row after row of them. A thread has four elements of each: thread t those in row
    t // 4 and columns t % 4 * 2 and t % 4 * 2 + 1, and those eight rows further. A device adds up in an order of its
    own. All threads of a group come here together.
    """

    dtype: DType
    totals: tuple[Variable, ...]
    rows: int
    columns: int
    left: Tile
    right: Tile


Statement = (
    Let
    | Set
    | Store
    | Loop
    | If
    | Allocate
    | StreamingStore
    | Prefetch
    | Combine
    | Barrier
    | CopyNeighbours
    | ReadNeighbours
    | MultiplyTiles
)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Statements over buffers and arguments.

    `body` runs for the range of the outermost parallel loop that `START` to `STOP` give: callers share a range out.
    With `lanes` it runs instead on any number of work-groups of so many threads each, whose outermost loop is over the
    grid or the groups, always from 0 to `STOP`.
    Inputs and outputs come in the order in which they are passed; `scalars` change with each call, `sizes` only with
    the layout of the operands. An `occupancy` is how many groups a multiprocessor is to have registers for at once, by
    which compilers know how many of them a thread may take; without it they guess, and some spill what would fit.
    """

    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    scalars: tuple[Argument, ...]
    sizes: tuple[Argument, ...]
    body: tuple[Statement, ...]
    notes: Sequence[str] = field(default=())
    lanes: int = 0
    occupancy: int = 0


# the range of the outermost loop that a call of the kernel runs
START = argument("start")
STOP = argument("stop")
