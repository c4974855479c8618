"""Forms: how the passes over a region become loops; here what all of them share, and the first.

    map       no reduction: the loops, the innermost one along memory
    rows      operands are contiguous along the reduced axes: rows.py
    columns   operands are contiguous along a kept axis: columns.py
    parts     few results of many elements: chunks of fixed size give partial results, and parts.py joins them

Chunks and blocks depend on sizes alone, never on the number of threads: the same bits for any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.dtypes import DType, float32, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.region import Region
from tensorframe.kernel import ir
from tensorframe.kernel.forms.deviations import Deviation
from tensorframe.kernel.ir import order
from tensorframe.kernel.ir.loops import ZERO, digits, smaller
from tensorframe.kernel.ir.walk import substituted
from tensorframe.kernel.math.accumulate import Accumulation, accumulation
from tensorframe.kernel.math.scalars import converted
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.stages import Stages
from tensorframe.machine import HOST
from tensorframe.ops.reduction import SUM
from tensorframe.quick_dataclasses import dataclass, field

# Operations for an element, and iterations, from which a loop is `long`: those of a polynomial, which wait for each
# other, and not so few iterations that many of them are what remains after several vectors.
_CHAIN, _LONG = 10.0, 512


@dataclass(slots=True)
class Form:
    """What the forms share: the body with its expressions, the stages, and the buffers that are written."""

    body: Body
    stages: Stages
    outputs: dict[int, ir.Buffer]  # value -> where it goes
    partials: dict[int, ir.Buffer] = field(default_factory=dict)  # reduction -> its partial results
    deviations: dict[int, Deviation] = field(default_factory=dict)
    unit: ir.Expr | None = None  # where the partial result of a piece of an ordered sum goes
    # sum of the elements whose distances a sum of squares takes -> this one
    followed: dict[int, int] = field(default_factory=dict)
    prefix: str = "r"  # of its accumulators: forms of one kernel have their own
    in_pairs: bool = False  # whether reductions are so long that float32 has to add them in pairs

    @property
    def region(self) -> Region:
        """The region that the kernel computes."""
        return self.body.region

    @property
    def outer(self) -> int:
        """How many loops run over the outer axes of an ordered sum."""
        return len(self.body.nest.reduced) - self.body.nest.inner

    @property
    def pieces(self) -> int:
        """How many pieces the inner elements of an ordered sum are cut into."""
        return -(-prod(self.body.nest.reduced[self.outer :]) // order.PIECE)

    @property
    def units(self) -> int:
        """How many pieces an ordered sum of a row has."""
        return prod(self.body.nest.reduced[: self.outer]) * self.pieces

    @property
    def cost(self) -> float:
        """Operations for an element."""
        return sum(op.op.cost for op in self.region.ops)

    def is_long(self, length: int) -> bool:
        """Whether a loop over so many elements runs often enough, on costly ones, for hundreds of them at a time."""
        return self.cost >= _CHAIN and length >= _LONG

    def on_line(self, value: int) -> bool:
        """Whether every row of an output begins with a line of the cache, if the output does."""
        place, itemsize = (
            self.body.nest.accesses["out", value],
            self.region.dtype_of(value).itemsize,
        )
        return not any(step * itemsize % HOST.line for step in (place.start, *place.steps[:-1]))

    def store(self, value: int) -> ir.Store:
        """Return the statement that writes an element of an output."""
        position = self.body.position(("out", value))
        return ir.Store(self.outputs[value], position, self.body.element(value))

    def accumulation(self, value: int) -> Accumulation:
        """Return how a reduction of the region accumulates."""
        op = self.region.ops[value - len(self.region.inputs)]
        dtype = self.region.dtype_of(op.inputs[0])
        in_pairs = self.in_pairs or op.op.kind is Kind.SCAN  # each element of which is a sum
        how = accumulation(op.op, dtype, self.body.widest, in_pairs=in_pairs)
        assert how is not None
        return how

    def operation(self, value: int) -> Op:
        """Return the op that computes a value."""
        return self.region.ops[value - len(self.region.inputs)].op

    def operand_dtype(self, value: int) -> DType:
        """Return the dtype of what a reduction takes in."""
        return self.region.dtype_of(self.region.ops[value - len(self.region.inputs)].inputs[0])

    def is_short_sum(self, value: int) -> bool:
        """Whether a reduction adds up so few digits that float32 holds the sum of several elements."""
        short = wide_of(self.operand_dtype(value)) == float32
        return short and self.operation(value).combination == SUM.combination

    def distance(self, value: int, pivot: ir.Expr) -> ir.Expr:
        """Return the distance of an element from a pivot, for a sum of squared distances."""
        return self.body.operand(self.deviations[value].centred, 0) - pivot

    def finished(self, value: int, accumulator: ir.Expr) -> ir.Expr:
        """Return the result of a reduction from its accumulator."""
        finished = self.accumulation(value).finish(accumulator)
        return converted(finished, self.region.dtype_of(value))

    def row_stores(self) -> list[ir.Statement]:
        """Return the statements that write the outputs with one element per row."""
        full = self.stages.full
        return [self.store(value) for value in self.outputs if not full[value]]


def finish_pass(form: Form, number: int) -> None:
    """Make the results of a pass known to the following ones."""
    for value in reductions_in(form, number):
        total = accumulator(form, value)
        form.body.known[value] = form.finished(value, total)


def accumulator(form: Form, value: int) -> ir.Variable:
    """Return the variable that a reduction accumulates in."""
    return ir.variable(f"{form.prefix}{value}", form.accumulation(value).dtype)


def reductions_in(form: Form, number: int) -> list[int]:
    """Return the reductions that run in a pass."""
    return form.stages.reductions[number] if number < form.stages.passes else []


def map_loops(form: Form, block: int, streamed: Sequence[int] = ()) -> tuple[ir.Statement, ...]:
    """Loops without reductions; along the innermost one, `block` elements at a time if it is not 0.

    Outputs that are `streamed` are made in scratch memory, a block at a time, and go to memory from there.
    """
    body = form.body
    *outer, inner = body.sizes or (ZERO,)
    along = ir.index("i")
    long = form.is_long(prod(body.nest.kept[-1:]))
    if not outer and not block:
        body.indices = [along] if body.sizes else []
        every = tuple([form.store(value) for value in form.outputs])
        return (ir.Loop(along, ir.START, ir.STOP, every, parallel=True, long=long),)
    row = ir.index("row")
    step: ir.Expr = body.numbers.take(block, "block") if block else ZERO
    if block:
        blocks = body.numbers.take(-(-body.nest.kept[-1] // block), "blocks")
        *places, block_number = digits(row, [*outer, blocks])
        first, last = block_number * step, smaller(block_number * step + step, inner)
    else:
        places = digits(row, outer)
        first, last = ZERO, inner
    body.indices = [*places, along]
    stores = [form.store(value) for value in form.outputs if value not in streamed]
    memory: list[ir.Statement] = []
    streams: list[ir.Statement] = []
    for number, value in enumerate(streamed):
        store = form.store(value)
        scratch = ir.Buffer(f"w{number}", store.buffer.dtype, ir.Role.SCRATCH)
        memory.append(ir.Allocate(scratch, step))
        stores.append(ir.Store(scratch, along - first, store.value))
        at_first = substituted(store.position, {along: first})
        streams.append(
            ir.StreamingStore(store.buffer, at_first, scratch, last - first, form.on_line(value))
        )
    inside = ir.Loop(along, first, last, tuple(stores), long=long)
    return (*memory, ir.Loop(row, ir.START, ir.STOP, (inside, *streams), parallel=True))
