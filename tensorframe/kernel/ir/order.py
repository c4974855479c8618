"""The order in which sums and products of floats are joined: a function of the reduced lengths alone.

Whatever the form of a kernel, the layout of its operands and what else it computes, the bits are the same:

1. Axes. Of the reduced axes, in their order in the shape, the last ones are taken as one until they have `GROUP`
   elements: these run inside, the others, as one too, outside.
2. Pieces. The inner ones are cut into pieces of `PIECE` elements. What pieces give is joined one after the other, in
   the dtype of the accumulator; sums of float32 run in float32 inside of a piece.
3. Lanes. In a piece, element number i of the whole blocks of `LANES` is joined to lane i modulo `LANES`. Lanes are
   joined with those half their number away until `TAIL` are left; to these go the elements after the last block, number
   i to lane i modulo `TAIL`; then they are joined by halves until one is left.

The machine ops `accumulate_add` and `accumulate_multiply` stand for the third step: in an innermost loop of threads
that work alone, on floats, they join a variable with what its elements give in the order of lanes. A printer may have
vectors that do just that; else `with_lanes` writes it out, which is also what such a loop means.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from math import prod

from tensorframe.dtypes import FLOAT
from tensorframe.kernel.ir import language as ir
from tensorframe.kernel.ir.loops import ZERO, larger
from tensorframe.kernel.ir.walk import substituted, substituted_in

# Four registers of 32 bytes side by side hide the latency of an addition; what is left is a register at a time.
LANES, TAIL = 32, 8
# Elements that are summed in float32: each lane takes in 32 of them at most, which costs two digits of the last place
# at worst, as NumPy's blocks of 128 with 8 accumulators do.
PIECE = 1024
# Elements of a row from which lanes pay; shorter ones are taken together.
GROUP = 256

# what changes nothing that it is joined to, and the op that joins two values in the order given
NEUTRAL = {"accumulate_add": -0.0, "accumulate_multiply": 1.0}
STRICT = {"accumulate_add": "add", "accumulate_multiply": "multiply"}


def inner_length(lengths: Sequence[int]) -> int:
    """Return how many elements the last of the reduced axes, which are taken as one, have together."""
    length = 1
    for size in reversed(lengths):
        if length >= GROUP:
            break
        length *= size
    return length


def inner_loops(sizes: Sequence[int], lengths: Sequence[int]) -> int:
    """Return how many of the last loops, of these sizes, run over the inner ones of axes of these lengths.

    Where an axis has no elements, the last one does: there is nothing to be put in order.
    """
    wanted, count = inner_length(lengths), 0
    if not wanted:
        return min(1, len(sizes))
    while prod(sizes[len(sizes) - count :]) < wanted:
        count += 1
    return count


def joined_in_lanes(statement: ir.Statement) -> bool:
    """Whether a statement of an innermost loop joins floats in the order of lanes."""
    if not isinstance(statement, ir.Set) or not isinstance(statement.value, ir.Apply):
        return False
    return statement.value.op in NEUTRAL and statement.value.dtype in FLOAT


def has_lanes(loop: ir.Loop) -> bool:
    """Whether a loop, which has none inside, joins floats in the order of lanes."""
    return any(joined_in_lanes(statement) for statement in loop.body)


def halves(parts: Sequence[ir.Expr], op: str) -> ir.Expr:
    """Return values joined with those half their number away until one is left."""
    while len(parts) > 1:
        middle = len(parts) // 2
        pairs = zip(parts[:middle], parts[middle:], strict=True)
        parts = [ir.apply(op, low, high) for low, high in pairs]
    return parts[0]


def with_lanes(
    body: Iterable[ir.Statement], done: Container[ir.Loop] = ()
) -> tuple[ir.Statement, ...]:
    """Return a kernel's body with lanes written out, as elements of scratch memory, but for the loops in `done`."""
    memory: dict[ir.Buffer, None] = {}
    statements = _written_out(body, done, memory)
    return (*[ir.Allocate(buffer, ir.literal(LANES, ir.INDEX)) for buffer in memory], *statements)


def _written_out(
    body: Iterable[ir.Statement], done: Container[ir.Loop], memory: dict[ir.Buffer, None]
) -> tuple[ir.Statement, ...]:
    statements: list[ir.Statement] = []
    for statement in body:
        if isinstance(statement, ir.Loop) and statement in done:
            statements.append(statement)
        elif isinstance(statement, ir.Loop) and _is_innermost(statement) and has_lanes(statement):
            statements += _lanes_of(statement, memory)
        elif isinstance(statement, ir.Loop | ir.If):
            statements.append(replace(statement, body=_written_out(statement.body, done, memory)))
        else:
            statements.append(statement)
    return tuple(statements)


def _is_innermost(loop: ir.Loop) -> bool:
    return not any(isinstance(statement, ir.Loop | ir.If) for statement in loop.body)


def _lanes_of(loop: ir.Loop, memory: dict[ir.Buffer, None]) -> list[ir.Statement]:
    """Return the statements of a loop with the lanes of its totals in memory."""
    ops = {
        statement.variable: statement.value.op
        for statement in loop.body
        if joined_in_lanes(statement)
        and isinstance(statement, ir.Set)
        and isinstance(statement.value, ir.Apply)
    }
    lanes = {total: ir.Buffer(f"lanes_{total.name}", total.dtype, ir.Role.SCRATCH) for total in ops}
    memory.update(dict.fromkeys(lanes.values()))
    name = loop.index.name
    block, lane, rest = (
        ir.index(f"{name}_block"),
        ir.index(f"{name}_lane"),
        ir.index(f"{name}_rest"),
    )
    count = larger(loop.stop, loop.start) - loop.start
    blocks = ir.apply("floor_divide", count, ir.literal(LANES, ir.INDEX))
    empty = [
        ir.Store(lanes[total], lane, ir.literal(NEUTRAL[op], total.dtype))
        for total, op in ops.items()
    ]
    place = loop.start + (block * LANES + lane)
    inside = ir.Loop(lane, ZERO, ir.literal(LANES, ir.INDEX), _turn(loop, lanes, place, lane))
    slot = ir.apply("bitwise_and", rest, ir.literal(TAIL - 1, ir.INDEX))
    after = _turn(loop, lanes, loop.start + rest, slot)
    return [
        ir.Loop(lane, ZERO, ir.literal(LANES, ir.INDEX), tuple(empty)),
        ir.Loop(block, ZERO, blocks, (inside,)),
        ir.Loop(lane, ZERO, ir.literal(TAIL, ir.INDEX), tuple(_narrowed(lanes, ops, lane))),
        ir.Loop(rest, blocks * LANES, count, after),
        *[_joined(total, op, lanes[total]) for total, op in ops.items()],
    ]


def _turn(
    loop: ir.Loop, lanes: dict[ir.Variable, ir.Buffer], place: ir.Expr, slot: ir.Expr
) -> tuple[ir.Statement, ...]:
    """Return what a loop does with the element at a place, whose lanes are at a slot."""
    known: dict[ir.Expr, ir.Expr] = {loop.index: place}
    known.update((total, ir.load(buffer, slot)) for total, buffer in lanes.items())
    statements: list[ir.Statement] = []
    for statement in loop.body:
        if isinstance(statement, ir.Set) and statement.variable in lanes:
            assert isinstance(statement.value, ir.Apply)
            operands = [substituted(operand, known) for operand in statement.value.arguments]
            joined = ir.apply(STRICT[statement.value.op], *operands)
            statements.append(ir.Store(lanes[statement.variable], slot, joined))
        else:
            statements += substituted_in((statement,), known)
    return tuple(statements)


def _narrowed(
    lanes: dict[ir.Variable, ir.Buffer], ops: dict[ir.Variable, str], lane: ir.Index
) -> Iterable[ir.Statement]:
    for total, buffer in lanes.items():
        parts = [ir.load(buffer, lane + index) for index in range(0, LANES, TAIL)]
        yield ir.Store(buffer, lane, halves(parts, STRICT[ops[total]]))


def _joined(variable: ir.Variable, op: str, buffer: ir.Buffer) -> ir.Set:
    parts = [ir.load(buffer, ir.literal(index, ir.INDEX)) for index in range(TAIL)]
    return ir.Set(variable, ir.apply(STRICT[op], variable, halves(parts, STRICT[op])))
