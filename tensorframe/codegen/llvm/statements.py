"""Statements as blocks of instructions, in static single assignment form: what a variable is, depends on the way here.

Loops are tested at their end, after a test that they run at all, as LLVM's passes would turn them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tensorframe.codegen.llvm import lines
from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.expressions import evaluated
from tensorframe.codegen.llvm.memory import Memory
from tensorframe.codegen.llvm.steps import Steps
from tensorframe.codegen.llvm.streams import Streams
from tensorframe.codegen.llvm.types import number
from tensorframe.codegen.llvm.vectors import write_loop
from tensorframe.kernel import ir

# Vectors that a long loop computes side by side. Polynomials are long chains, of which a processor overlaps what fits
# into its scheduler: Black-Scholes takes two thirds of the time with 32 registers, and four fifths with 16.
INTERLEAVED = 4

Names = dict[ir.Expr, str]


class Statements:
    """Writes the statements of a kernel."""

    def __init__(self, b: Builder, memory: Memory, on_vectors: Mapping[ir.Loop, Steps]) -> None:
        """Take the loops that are printed on vectors, the others element by element."""
        self._b = b
        self._memory = memory
        self._on_vectors = on_vectors
        self._streams = Streams(b, memory)

    def write(self, body: Sequence[ir.Statement], names: Names) -> None:
        """Write statements; `names` are the values of expressions, and afterwards those of what the body has set."""
        for place, statement in enumerate(body):
            if isinstance(statement, ir.Let | ir.Set):
                names[statement.variable] = self._value(statement.value, names)
            elif isinstance(statement, ir.Store):
                value = self._value(statement.value, names)
                self._memory.store(statement.buffer, self._value(statement.position, names), value)
            elif isinstance(statement, ir.Loop):
                self._loop(statement, body[place + 1 :], names)
            elif isinstance(statement, ir.If):
                self._choice(statement, names)
            else:
                self._in_memory(statement, names)

    def _value(self, root: ir.Expr, names: Names) -> str:
        return evaluated(self._b, self._memory, root, names)

    def _in_memory(self, statement: ir.Statement, names: Names) -> None:
        b, memory = self._b, self._memory
        if isinstance(statement, ir.Allocate):
            memory.allocate(statement.buffer, self._bytes(statement, names))
            return
        if not isinstance(statement, ir.Prefetch | ir.StreamingStore):
            raise TypeError(f"threads of this engine have no {type(statement).__name__}")
        place = memory.pointer(
            statement.buffer,
            self._value(statement.position, names),
            inbounds=isinstance(statement, ir.StreamingStore),
        )
        size = self._bytes(statement, names)
        if isinstance(statement, ir.Prefetch):
            lines.fetch(b, place, size)
        else:
            self._streams.write(statement, place, size)

    def _bytes(self, statement: ir.Allocate | ir.Prefetch | ir.StreamingStore, names: Names) -> str:
        if isinstance(statement.count, ir.Literal):
            return str(int(statement.count.value.real) * statement.buffer.dtype.itemsize)
        count = self._value(statement.count, names)
        return self._b.value(f"mul i64 {count}, {statement.buffer.dtype.itemsize}")

    # --- ways that meet again ---

    def _choice(self, branch: ir.If, names: Names) -> None:
        b = self._b
        condition, before = self._value(branch.condition, names), b.block
        inside, after = b.new_label(), b.new_label()
        b.branch(condition, inside, after)
        b.begin(inside)
        inner = dict(names)
        self.write(branch.body, inner)
        end = b.block
        b.jump(after)
        b.begin(after)
        for variable in _assigned(branch.body):
            if variable not in inner:  # set anew in each turn of a loop, and read there alone
                continue
            # nobody reads a variable on a way on which nothing was set
            given = names.get(variable) or number(0, variable.dtype)
            ways = ((given, before), (inner[variable], end))
            names[variable] = b.phi(b.type(variable.dtype), *ways)

    def _loop(self, loop: ir.Loop, later: Sequence[ir.Statement], names: Names) -> None:
        b, kind = self._b, self._b.type(loop.index.dtype)
        start, stop = self._value(loop.start, names), self._value(loop.stop, names)
        if loop in self._on_vectors:
            steps = self._on_vectors[loop]
            with self._streams.forwarded(loop, steps, later, names):
                write_loop(b, self._memory, loop, steps, start, stop, names)
            return
        inside, after, before = b.new_label(), b.new_label(), b.block
        b.branch(b.value(f"icmp ult {kind} {start}, {stop}"), inside, after)
        b.begin(inside)
        inner = dict(names)
        inner[loop.index], position = b.open_phi(kind)
        # what nobody has set before is set anew each time
        changing = [variable for variable in _assigned(loop.body) if variable in names]
        open_lines = {}
        for variable in changing:
            inner[variable], open_lines[variable] = b.open_phi(b.type(variable.dtype))
        index = inner[loop.index]
        self.write(loop.body, inner)
        following = b.value(f"add nuw {kind} {index}, 1")
        again, end = b.value(f"icmp ult {kind} {following}, {stop}"), b.block
        b.branch(again, inside, after, self._hint(loop))
        b.close_phi(position, (start, before), (following, end))
        b.begin(after)
        for variable in changing:
            first, last = names[variable], inner[variable]
            b.close_phi(open_lines[variable], (first, before), (last, end))
            names[variable] = b.phi(b.type(variable.dtype), (first, before), (last, end))

    def _hint(self, loop: ir.Loop) -> str:
        """Have LLVM interleave several vectors, which it would not by itself, or leave a loop as it is."""
        if not (loop.long or loop.rolled):
            return ""
        count = f'!{{!"llvm.loop.interleave.count", i32 {INTERLEAVED}}}'
        hint = self._b.metadata('!{!"llvm.loop.unroll.disable"}' if loop.rolled else count)
        return f", !llvm.loop {self._b.distinct_loop(hint)}"


def _assigned(body: Iterable[ir.Statement]) -> list[ir.Variable]:
    """Return the variables that statements set, each once."""
    variables: dict[ir.Variable, None] = {}
    for statement in body:
        if isinstance(statement, ir.Set):
            variables[statement.variable] = None
        elif isinstance(statement, ir.Loop | ir.If):
            variables.update(dict.fromkeys(_assigned(statement.body)))
    return list(variables)
