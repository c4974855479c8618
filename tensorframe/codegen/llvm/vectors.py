"""Vectorisation: loops as blocks of several registers side by side (unrolled), and a masked (predicated) remainder.

So many elements at once hide the latency of an operation behind the others. LLVM then only selects instructions, which
takes a third of the time that its vectoriser and unroller, and the code that they make, would take. How many partial
results a reduction has, and the order in which they are joined, is the same on every machine with such vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tensorframe.codegen.llvm.arithmetic import OPS, select
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.expressions import applied
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.origins import Origins
from tensorframe.codegen.llvm.steps import Steps
from tensorframe.codegen.llvm.types import ELEMENT, VALUE, number
from tensorframe.kernel import ir
from tensorframe.kernel.ir.order import LANES, TAIL
from tensorframe.machine import HOST
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple

Names = dict[ir.Expr, str]
Partial = dict[ir.Variable, list[str]]  # the partial results of reductions, in the parts of a block

# what changes nothing that it is joined to, for ops that must not join a value twice
_NEUTRAL = {
    "add": 0,
    "multiply": 1,
    "accumulate_add": -0.0,
    "accumulate_multiply": 1,
    "bitwise_xor": 0,
}


def write_loop(
    b: Builder, memory: Memory, loop: ir.Loop, steps: Steps, start: str, stop: str, names: Names
) -> None:
    """Write a loop; afterwards `names` have the results of its reductions."""
    some, after, before = b.new_label(), b.new_label(), b.block
    b.branch(b.value(f"icmp ult i64 {start}, {stop}"), some, after)
    b.begin(some)
    block, rest = HOST.block // steps.widest, HOST.register // steps.widest
    lanes = rest if not b.target.has_masks else _lanes_of_masks(steps)
    breadth = 1 if steps.light else block // lanes
    if steps.has_lanes:
        block, rest = LANES, TAIL
    start, stop = b.opaque("i64", start), b.opaque("i64", stop)
    count = stop if start == "0" else b.value(f"sub i64 {stop}, {start}")
    end = b.value(f"and i64 {count}, {-block}")
    end = end if start == "0" else b.value(f"add i64 {start}, {end}")
    end = b.opaque("i64", end)
    first = {
        variable: [_first(b, variable, op, names[variable], lanes)] * (block // lanes)
        for variable, op in steps.joins.items()
    }
    origins = Origins(b, memory, loop, steps, names)
    body = _Body(b, memory, steps, origins, breadth, {})
    partials = _Pass(body, lanes).write(start, end, first, block // lanes)
    partial = {
        variable: [_narrowed(b, variable, op, partials[variable], lanes, rest)]
        for variable, op in steps.joins.items()
    }
    partials = _Pass(body, rest, masked=True).write(end, stop, partial, 1)
    results = {
        variable: _result(b, variable, op, partials[variable], rest, names[variable])
        for variable, op in steps.joins.items()
    }
    final = b.block
    b.jump(after)
    b.begin(after)
    for variable, result in results.items():
        names[variable] = b.phi(b.type(variable.dtype), (names[variable], before), (result, final))


def _lanes_of_masks(steps: Steps) -> int:
    """Return how many elements are taken together where registers have 512 bits.

    Selecting instructions, LLVM takes the registers of one vector in any order: memory is fast in its own. A processor
    with half the instructions under way looks twice as far ahead, which no loop gains from that does nothing but read.
    """
    if not steps.light:
        return HOST.block // steps.widest
    return (1 if steps.lightest else 2) * HOST.register // steps.widest


# --- reductions: partial results are joined with those half a block away, until there is one ---


def _first(b: Builder, variable: ir.Variable, op: str, given: str, lanes: int) -> str:
    """Return the partial results of a reduction before its first element."""
    with b.on(lanes):
        if op in _NEUTRAL:
            return b.constant(VALUE[variable.dtype], number(_NEUTRAL[op], variable.dtype))
        return b.splat(VALUE[variable.dtype], given)


def _narrowed(
    b: Builder, variable: ir.Variable, op: str, parts: list[str], lanes: int, wanted: int
) -> str:
    """Return the partial results of a block's parts, joined until so many are left."""
    parts = list(parts)
    while len(parts) * lanes > wanted:
        if len(parts) > 1:
            half = len(parts) // 2
            pairs = list(zip(parts[:half], parts[half:], strict=True))
        else:
            lanes //= 2
            halves = [
                b.part(VALUE[variable.dtype], parts[0], 2 * lanes, start, lanes)
                for start in (0, lanes)
            ]
            pairs = [(halves[0], halves[1])]
        with b.on(lanes):
            parts = [OPS[op](b, variable.dtype, *pair) for pair in pairs]
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        parts = [b.together(VALUE[variable.dtype], *pair, lanes) for pair in pairs]
        lanes *= 2
    return parts[0]


def _result(
    b: Builder, variable: ir.Variable, op: str, parts: list[str], lanes: int, given: str
) -> str:
    """Return the result of a reduction that began with a value."""
    joined = _narrowed(b, variable, op, parts, lanes, 1)
    return OPS[op](b, variable.dtype, given, joined) if op in _NEUTRAL else joined


# --- one loop ---


class _Body(NamedTuple):
    """What is written at each pass over a loop."""

    b: Builder
    memory: Memory
    steps: Steps
    origins: Origins
    breadth: int
    """The parts of a block whose ops are written side by side: in a chain of many, each waits for the one before."""
    stays: dict[int, Names]
    """The vectors of what is the same for all elements, by their lanes."""


@dataclass(slots=True)
class _Part:
    """A part of a block: its number, the index of its first element, and the vectors that are known of it."""

    number: int
    place: str
    vectors: Names


class _Pass:
    """Writes a loop over so many elements at a time, or, masked, over those of them that are there."""

    def __init__(self, body: _Body, lanes: int, *, masked: bool = False) -> None:
        self._b, self._memory, self._steps, self._origins, self._breadth, self._stays = body
        self._lanes = lanes
        self._masked = masked
        self._mask = ""
        self._left_kind = f"i{8 * body.steps.widest}"  # as wide as what the mask is for
        self._starts: dict[str, str] = {}  # the addresses of the first part, by their origins

    def write(self, start: str, stop: str, first: Partial, parts: int) -> Partial:
        """Write the loop; return the partial results that follow from those in `first`."""
        b, before = self._b, self._b.block
        inside, after = b.new_label(), b.new_label()
        with b.on(self._lanes):
            if self._lanes not in self._stays:
                self._stays[self._lanes] = self._spread_before()
            left = self._count_left(start, stop) if self._masked else ""
        b.branch(b.value(f"icmp ult i64 {start}, {stop}"), inside, after)
        b.begin(inside)
        index, line = b.open_phi("i64")
        with b.on(self._lanes):
            kinds = {variable: b.type(variable.dtype) for variable in first}
            opened = {
                variable: [b.open_phi(kinds[variable]) for _ in range(parts)] for variable in first
            }
            last_parts: Partial = {variable: [] for variable in first}
            close_mask = self._open_mask(before, left) if self._masked else None
            breadth = min(self._breadth, parts)
            for start_of_group in range(0, parts, breadth):
                numbers = range(start_of_group, start_of_group + breadth)
                group = [self._begin(index, number, opened) for number in numbers]
                for statement in self._origins.varying:
                    self._statement(statement, group)
                for variable in first:
                    last_parts[variable] += [part.vectors[variable] for part in group]
            if close_mask is not None:
                close_mask(inside)
        following = b.value(f"add nuw i64 {index}, {parts * self._lanes}")
        b.branch(b.value(f"icmp ult i64 {following}, {stop}"), inside, after)
        b.close_phi(line, (start, before), (following, inside))
        for variable, sources in opened.items():
            for (_, phi), given, last in zip(
                sources, first[variable], last_parts[variable], strict=True
            ):
                b.close_phi(phi, (given, before), (last, inside))
        b.begin(after)
        return {
            variable: [
                b.phi(kind, (given, before), (last, inside))
                for given, last in zip(first[variable], last_parts[variable], strict=True)
            ]
            for variable, kind in kinds.items()
        }

    def _spread_before(self) -> Names:
        """Write the vectors of what is the same for all elements."""
        b, vectors = self._b, {}
        for expr, value in self._origins.even.items():
            if self._steps.of[expr] == 0:
                vectors[expr] = b.splat(VALUE[expr.dtype], value)
        return vectors

    def _begin(
        self, index: str, number: int, opened: dict[ir.Variable, list[tuple[str, int]]]
    ) -> _Part:
        """Go on to a part of the block."""
        b, place = self._b, index
        if not number:
            self._starts.clear()
        elif any(map(self._steps.of.get, self._origins.even)):
            place = b.value(f"add nuw i64 {index}, {number * self._lanes}")
        results: Names = {variable: ways[number][0] for variable, ways in opened.items()}
        return _Part(number, place, {**self._stays[self._lanes], **results})

    def _count_left(self, start: str, stop: str) -> str:
        """Return how many elements there are, in each lane: less than a block, so they fit into the elements' size."""
        b, kind = self._b, self._left_kind
        left = b.value(f"sub i64 {stop}, {start}")
        return b.splat(kind, left if kind == "i64" else b.value(f"trunc i64 {left} to {kind}"))

    def _open_mask(self, before: str, first: str) -> Callable[[str], None]:
        """Write the mask of an iteration; return what says, at its end, how many elements are left for the next one."""
        b, kind = self._b, self._left_kind
        kinds = b.vector(kind)
        left, line = b.open_phi(kinds)
        self._mask = b.value(f"icmp ult {kinds} {b.steps(kind)}, {left}")

        def close(inside: str) -> None:
            fewer = b.value(f"sub {kinds} {left}, {b.constant(kind, self._lanes)}")
            b.close_phi(line, (first, before), (fewer, inside))

        return close

    def _statement(self, statement: ir.Statement, group: Sequence[_Part]) -> None:
        """Write a statement for some parts of a block."""
        assert isinstance(statement, ir.Let | ir.Set | ir.Store)
        for part, value in zip(group, self._values(statement, group), strict=True):
            if isinstance(statement, ir.Store):
                place = self._address(part, statement.buffer, statement.position)
                self._memory.store_to(place, statement.buffer, value, self._mask)
                continue
            variable = statement.variable
            if self._masked and isinstance(statement, ir.Set):
                before = part.vectors[variable]
                value = select(self._b, variable.dtype, self._mask, value, before)
            part.vectors[variable] = value

    def _address(self, part: _Part, buffer: ir.Buffer, position: ir.Expr) -> str:
        """Return the address of a part's first element."""
        b, kind = self._b, ELEMENT[buffer.dtype]
        origin = self._origins.place(buffer, position)
        if origin not in self._starts:
            place = f"getelementptr {kind}, ptr {origin}, i64 {part.place}"
            self._starts[origin] = b.value(place)
        start = self._starts[origin]
        if not part.number:
            return start
        return b.value(f"getelementptr {kind}, ptr {start}, i64 {part.number * self._lanes}")

    def _values(
        self, statement: ir.Let | ir.Set | ir.Store, group: Sequence[_Part]
    ) -> Iterator[str]:
        """Yield the values of a statement's expression in each part: each of its ops is written for all of them."""
        known: list[Names] = [{} for _ in group]
        for expr in self._origins.varying[statement]:
            for part, own in zip(group, known, strict=True):
                own[expr] = self._op(expr, part, own)
        for part, own in zip(group, known, strict=True):
            yield self._vector(statement.value, part, own)

    def _op(self, expr: ir.Expr, part: _Part, known: Names) -> str:
        if isinstance(expr, ir.Load):
            place = self._address(part, expr.buffer, expr.position)
            return self._memory.load_from(place, expr.buffer, self._mask)
        assert isinstance(expr, ir.Apply)
        operands = [self._vector(operand, part, known) for operand in expr.arguments]
        return applied(self._b, expr, operands)

    def _vector(self, expr: ir.Expr, part: _Part, known: Names) -> str:
        vector = known.get(expr) or part.vectors.get(expr)
        if vector is None:
            vector = part.vectors[expr] = self._advancing(expr, part)
        return vector

    def _advancing(self, expr: ir.Expr, part: _Part) -> str:
        """Return an expression that advances by one from element to element."""
        b, kind = self._b, VALUE[expr.dtype]
        first = b.value(f"add {kind} {self._origins.even[expr]}, {part.place}")
        return b.value(f"add {b.vector(kind)} {b.splat(kind, first)}, {b.steps(kind)}")
