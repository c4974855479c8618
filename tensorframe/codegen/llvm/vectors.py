"""Vectorisation: loops as blocks of several registers side by side (unrolled), and a masked (predicated) remainder.

So many elements at once hide the latency of an operation behind the others. LLVM then only selects instructions, which
takes a third of the time that its vectoriser and unroller, and the code that they make, would take. How many partial
results a reduction has, and the order in which they are joined, is the same on every machine with such vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.llvm.arithmetic import OPS, select
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.expressions import applied, evaluated
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.steps import Steps
from tensorframe.codegen.llvm.types import VALUE, number
from tensorframe.kernel import ir
from tensorframe.kernel.ir.order import LANES, TAIL
from tensorframe.kernel.ir.walk import in_order
from tensorframe.machine import HOST

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
    # selecting instructions, LLVM takes the registers of one vector in any order: memory is fast in its own
    lanes = rest if steps.light or not b.target.has_masks else block
    if steps.has_lanes:
        block, rest = LANES, TAIL
    count = b.value(f"sub i64 {stop}, {start}")
    end = b.value(f"add i64 {start}, {b.value(f'and i64 {count}, {-block}')}")
    first = {
        variable: [_first(b, variable, op, names[variable], lanes)] * (block // lanes)
        for variable, op in steps.joins.items()
    }
    partials = _Pass(b, memory, loop, steps, names, lanes).write(start, end, first, block // lanes)
    partial = {
        variable: [_narrowed(b, variable, op, partials[variable], lanes, rest)]
        for variable, op in steps.joins.items()
    }
    partials = _Pass(b, memory, loop, steps, names, rest, masked=True).write(end, stop, partial, 1)
    results = {
        variable: _result(b, variable, op, partials[variable], rest, names[variable])
        for variable, op in steps.joins.items()
    }
    final = b.block
    b.jump(after)
    b.begin(after)
    for variable, result in results.items():
        names[variable] = b.phi(b.type(variable.dtype), (names[variable], before), (result, final))


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


class _Pass:
    """Writes a loop over so many elements at a time, or, masked, over those of them that are there."""

    def __init__(
        self,
        b: Builder,
        memory: Memory,
        loop: ir.Loop,
        steps: Steps,
        names: Mapping[ir.Expr, str],
        lanes: int,
        *,
        masked: bool = False,
    ) -> None:
        self._b = b
        self._memory = memory
        self._loop = loop
        self._steps = steps
        self._scalars: Names = dict(names)
        # what stays or advances evenly has no vector until it is asked for, and is not looked into
        self._even: Names = {expr: "" for expr, step in steps.of.items() if step is not None}
        self._vectors: Names = {}
        self._lanes = lanes
        self._masked = masked
        self._mask = ""

    def write(self, start: str, stop: str, first: Partial, parts: int) -> Partial:
        """Write the loop; return the partial results that follow from those in `first`."""
        b, before = self._b, self._b.block
        inside, after = b.new_label(), b.new_label()
        b.branch(b.value(f"icmp ult i64 {start}, {stop}"), inside, after)
        b.begin(inside)
        index, line = b.open_phi("i64")
        with b.on(self._lanes):
            kinds = {variable: b.type(variable.dtype) for variable in first}
            opened = {
                variable: [b.open_phi(kinds[variable]) for _ in range(parts)] for variable in first
            }
            last_parts: Partial = {variable: [] for variable in first}
            for part in range(parts):
                self._begin(index, part, stop)
                self._vectors = dict(self._even)
                self._vectors.update((variable, ways[part][0]) for variable, ways in opened.items())
                for statement in self._loop.body:
                    self._statement(statement)
                for variable in first:
                    last_parts[variable].append(self._vectors[variable])
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

    def _begin(self, index: str, part: int, stop: str) -> None:
        """Go on to a part of the block."""
        b = self._b
        place = b.value(f"add nuw i64 {index}, {part * self._lanes}") if part else index
        self._scalars[self._loop.index] = place
        if self._masked:
            kind = f"i{8 * self._steps.widest}"  # as wide as what the mask is for
            left = b.value(f"sub i64 {stop}, {place}")
            left = left if kind == "i64" else b.value(f"trunc i64 {left} to {kind}")
            there = f"icmp ult {b.vector(kind)} {b.steps(kind)}, {b.splat(kind, left)}"
            self._mask = b.value(there)

    def _statement(self, statement: ir.Statement) -> None:
        if isinstance(statement, ir.Let):
            if self._steps.of[statement.variable] is None:
                self._vectors[statement.variable] = self._vector(statement.value)
            else:
                self._scalars[statement.variable] = self._scalar(statement.value)
        elif isinstance(statement, ir.Set):
            before, value = self._vectors[statement.variable], self._vector(statement.value)
            if self._masked:
                value = select(self._b, statement.variable.dtype, self._mask, value, before)
            self._vectors[statement.variable] = value
        elif isinstance(statement, ir.Store):
            value = self._vector(statement.value)
            self._memory.store(
                statement.buffer, self._scalar(statement.position), value, self._mask
            )

    def _scalar(self, root: ir.Expr) -> str:
        """Return what all elements share, or the position of the first one."""
        with self._b.on(1):
            return evaluated(self._b, self._memory, root, self._scalars)

    def _vector(self, root: ir.Expr) -> str:
        """Return the values of an expression, one for each element."""
        known: Names = {}

        def value(expr: ir.Expr) -> str:
            if expr in known:
                return known[expr]
            vector = self._vectors[expr]
            if not vector:
                vector = self._vectors[expr] = self._spread(expr)
            return vector

        for expr in in_order((root,), self._vectors):
            if isinstance(expr, ir.Load):
                place = self._scalar(expr.position)
                known[expr] = self._memory.load(expr.buffer, place, self._mask)
            else:
                assert isinstance(expr, ir.Apply)
                known[expr] = applied(self._b, expr, [value(operand) for operand in expr.arguments])
        return value(root)

    def _spread(self, expr: ir.Expr) -> str:
        """Return an expression that advances evenly, or not at all, for each element."""
        b, kind = self._b, VALUE[expr.dtype]
        if isinstance(expr, ir.Literal):
            return b.constant(kind, number(expr.value, expr.dtype))
        splat = b.splat(kind, self._scalar(expr))
        if self._steps.of[expr] == 0:
            return splat
        return b.value(f"add {b.vector(kind)} {splat}, {b.steps(kind)}")
