"""Assembling: statements become a kernel with the operands that they use, and kernels a list of launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import copied_inputs, expressions, in_order
from tensorframe.kernel.nest.body import Body, Numbers
from tensorframe.kernel.nest.passes.hoist import name_values
from tensorframe.kernel.nest.passes.positions import with_positions
from tensorframe.kernel.spaces.gather import MARK
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

Partials = tuple[tuple[DType, int, complex], ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, the numbers of its `sizes`, and how often and in which shares its outermost loop runs.

    `general` makes the kernel that runs instead where `kernel` sets its flag, see `kernel/nest/passes/rare.py`: it has
    the same operands, and is seldom needed.
    """

    kernel: ir.Kernel
    numbers: tuple[float, ...]
    total: int
    grain: int
    general: Callable[[], ir.Kernel] | None = None


class Table(NamedTuple):
    """Numbers that kernels read beside their operands: the host makes them once, by their kind and sizes."""

    kind: str
    sizes: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Built:
    """Kernels to run one after the other.

    Buffers are called `x0`, `x1` ... after the region's inputs, `y0` ... after its outputs, `p0` ... are the
    `partials`: dtype, number of elements, and what these are at first. `layouts` are the axes of each output in the
    order of its memory. `k0` ... are `tables`.
    """

    launches: tuple[Launch, ...]
    partials: Partials
    layouts: tuple[tuple[int, ...], ...]
    tables: tuple[Table, ...] = ()

    @property
    def selects(self) -> bool:
        """Whether kernels mark, in a buffer `m0`, that an index was out of bounds."""
        return any(MARK in launch.kernel.outputs for launch in self.launches)


def finish(
    body: Body,
    statements: tuple[ir.Statement, ...],
    *flags: ir.Buffer,
    lanes: int = 0,
    occupancy: int = 0,
    index: DType = ir.INDEX,
    runs: tuple[ir.Statement, ...] | None = None,
) -> ir.Kernel:
    """Return the kernel of statements about the elements of a region, see `assembled`.

    `runs` are those that it runs, if it does so in place of a kernel of `statements`, whose operands it has.
    """
    scalars, notes = tuple(body.scalars.values()), notes_of(body.region)
    numbers = body.numbers
    return assembled(
        statements,
        numbers,
        scalars,
        notes,
        *flags,
        lanes=lanes,
        occupancy=occupancy,
        index=index,
        runs=runs,
    )


def notes_of(region: Region) -> tuple[str, ...]:
    """Return the ops that the kernel runs, for its reader; no sizes, which many kernels of one text have."""
    names = [f"x{index}" for index in range(len(region.inputs))]
    lines = []
    for op in region.ops:
        names.append(f"v{len(names)}")
        operands = ", ".join([names[source] for source in op.inputs])
        lines.append(f"{names[-1]} = {op.op.name}({operands}): {op.dtype}")
    return tuple(lines)


def assembled(
    statements: tuple[ir.Statement, ...],
    numbers: Numbers,
    scalars: Iterable[ir.Argument],
    notes: tuple[str, ...],
    *flags: ir.Buffer,
    lanes: int = 0,
    occupancy: int = 0,
    index: DType = ir.INDEX,
    runs: tuple[ir.Statement, ...] | None = None,
) -> ir.Kernel:
    """Return the kernel of statements, with the buffers and arguments that they use and values named.

    With `lanes` it is one of work-groups of so many threads, whose positions are numbers of dtype `index`, with an
    `occupancy`.
    """
    rest = _Rest(
        tuple(numbers.arguments),
        frozenset(numbers.positions),
        frozenset(scalars),
        notes,
        flags,
        lanes,
        occupancy,
        index,
    )
    return _made(_Recipe(statements, rest, runs))


# Kernels that are remembered: those of another shape often have the same statements.
_KEPT = 32


class _Rest(NamedTuple):
    """What a kernel is made of beside statements: numbers, which of them positions are made of, and so on."""

    numbers: tuple[ir.Argument, ...]
    positions: frozenset[ir.Argument]
    scalars: frozenset[ir.Argument]
    notes: tuple[str, ...]
    flags: tuple[ir.Buffer, ...]
    lanes: int
    occupancy: int
    position: DType


class _Recipe:
    """What a kernel is made of; recipes of equal statements are equal, though statements are not."""

    __slots__ = ("_key", "rest", "runs", "statements")

    def __init__(
        self,
        statements: tuple[ir.Statement, ...],
        rest: _Rest,
        runs: tuple[ir.Statement, ...] | None,
    ) -> None:
        self.statements, self.rest, self.runs = statements, rest, runs
        self._key = (_fields(statements), rest, None if runs is None else _fields(runs))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Recipe) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _fields(statements: tuple[ir.Statement, ...]) -> tuple[Any, ...]:
    """Return what statements say: their kinds and fields, of which expressions and buffers are equal if identical."""
    return tuple(
        [
            (type(statement), *map(_plain, [getattr(statement, name) for name in names]))
            for statement in statements
            for names in (statement.__match_args__,)
        ]
    )


def _plain(value: Any) -> Any:
    is_block = isinstance(value, tuple) and not (value and isinstance(value[0], ir.Expr))
    return _fields(value) if is_block else value


@lru_cache(_KEPT)
def _made(recipe: _Recipe) -> ir.Kernel:
    statements, rest = recipe.statements, recipe.rest
    roots, stores = expressions(statements)
    used = in_order(roots, {})
    loaded = {
        expr.buffer
        for expr in used
        if isinstance(expr, ir.Load) and expr.buffer.role is ir.Role.INPUT
    } | copied_inputs(statements)
    written = {store.buffer for store in stores if store.buffer.role is ir.Role.OUTPUT}
    by_value = {expr for expr in used if isinstance(expr, ir.Argument)} & rest.scalars
    sizes, own, index = rest.numbers, rest.positions, rest.position
    if index != ir.INDEX:
        statements = with_positions(statements, own, index)
        sizes = tuple([ir.argument(size.name, index) if size in own else size for size in sizes])
    return ir.Kernel(
        tuple(sorted(loaded, key=_by_name)),
        (*sorted(written, key=_by_name), *rest.flags),
        tuple(sorted(by_value, key=_by_name)),
        sizes,
        name_values(statements if recipe.runs is None else recipe.runs),
        rest.notes,
        rest.lanes,
        rest.occupancy,
    )


def _by_name(buffer: ir.Buffer | ir.Argument) -> tuple[str, int]:
    return buffer.name[0], int(buffer.name[1:])
