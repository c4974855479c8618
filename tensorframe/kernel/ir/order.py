"""The order in which sums and products of floats are joined: a function of the reduced lengths alone.

Whatever the form of a kernel, the layout of its operands and what else it computes, the bits are the same:

1. Axes. Of the reduced axes, in their order in the shape, the last ones are taken as one until they have `GROUP`
   elements: these run inside, the others, as one too, outside.
2. Pieces. The inner ones are cut into pieces of `PIECE` elements. What pieces give is joined one after the other, in
   the dtype of the accumulator; sums of float32 run in float32 inside of a piece.
3. Lanes. In a piece, element number i of the whole blocks of `LANES` is joined to lane i modulo `LANES`. Lanes are
   joined with those half their number away until `TAIL` are left; to these go the elements after the last block, number
   i to lane i modulo `TAIL`; then they are joined by halves until one is left.

The machine ops `add_reassociable` and `multiply_reassociable` stand for the third step: in an innermost loop of threads
that work alone, on floats, they join a variable with what its elements give in the order of lanes. A printer may have
vectors that do just that; else `with_lanes` writes it out, which is also what such a loop means.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from math import prod

from tensorframe.dtypes import FLOAT
from tensorframe.kernel.ir.language import (
    INDEX,
    Allocate,
    Apply,
    Buffer,
    Expr,
    If,
    Index,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    Variable,
    apply,
    index,
    literal,
    load,
)
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
NEUTRAL = {"add_reassociable": -0.0, "multiply_reassociable": 1.0}
STRICT = {"add_reassociable": "add", "multiply_reassociable": "multiply"}


def inner_length(lengths: Sequence[int]) -> int:
    """Return how many elements the last of the reduced axes, which are taken as one, have together."""
    length = 1
    for size in reversed(lengths):
        if length >= GROUP:
            break
        length *= size
    return length


def inner_loops(sizes: Sequence[int], lengths: Sequence[int]) -> int:
    """Return how many of the last loops, of these sizes, run over the inner ones of axes of these lengths."""
    wanted, count = inner_length(lengths), 0
    while prod(sizes[len(sizes) - count :]) < wanted:
        count += 1
    return count


def joined_in_lanes(one: Statement) -> bool:
    """Whether a statement of an innermost loop joins floats in the order of lanes."""
    if not isinstance(one, Set) or not isinstance(one.value, Apply):
        return False
    return one.value.op in NEUTRAL and one.value.dtype in FLOAT


def has_lanes(loop: Loop) -> bool:
    """Whether a loop, which has none inside, joins floats in the order of lanes."""
    return any(joined_in_lanes(one) for one in loop.body)


def halves(parts: Sequence[Expr], op: str) -> Expr:
    """Return values joined with those half their number away until one is left."""
    while len(parts) > 1:
        middle = len(parts) // 2
        pairs = zip(parts[:middle], parts[middle:], strict=True)
        parts = [apply(op, low, high) for low, high in pairs]
    return parts[0]


def with_lanes(body: Iterable[Statement], done: Container[Loop] = ()) -> tuple[Statement, ...]:
    """Return a kernel's body with lanes written out, as elements of scratch memory, but for the loops in `done`."""
    memory: dict[Buffer, None] = {}
    statements = _written_out(body, done, memory)
    return (*[Allocate(one, literal(LANES, INDEX)) for one in memory], *statements)


def _written_out(
    body: Iterable[Statement], done: Container[Loop], memory: dict[Buffer, None]
) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for one in body:
        if isinstance(one, Loop) and one in done:
            found.append(one)
        elif isinstance(one, Loop) and _is_innermost(one) and has_lanes(one):
            found += _lanes_of(one, memory)
        elif isinstance(one, Loop | If):
            found.append(replace(one, body=_written_out(one.body, done, memory)))
        else:
            found.append(one)
    return tuple(found)


def _is_innermost(loop: Loop) -> bool:
    return not any(isinstance(one, Loop | If) for one in loop.body)


def _lanes_of(loop: Loop, memory: dict[Buffer, None]) -> list[Statement]:
    """Return the statements of a loop with the lanes of its totals in memory."""
    ops = {
        one.variable: one.value.op
        for one in loop.body
        if joined_in_lanes(one) and isinstance(one, Set) and isinstance(one.value, Apply)
    }
    lanes = {one: Buffer(f"lanes_{one.name}", one.dtype, Role.SCRATCH) for one in ops}
    memory.update(dict.fromkeys(lanes.values()))
    name = loop.index.name
    block, lane, rest = index(f"{name}_block"), index(f"{name}_lane"), index(f"{name}_rest")
    count = larger(loop.stop, loop.start) - loop.start
    blocks = apply("floor_divide", count, literal(LANES, INDEX))
    empty = [Store(lanes[one], lane, literal(NEUTRAL[op], one.dtype)) for one, op in ops.items()]
    place = loop.start + (block * LANES + lane)
    inside = Loop(lane, ZERO, literal(LANES, INDEX), _turn(loop, lanes, place, lane))
    slot = apply("bitwise_and", rest, literal(TAIL - 1, INDEX))
    after = _turn(loop, lanes, loop.start + rest, slot)
    return [
        Loop(lane, ZERO, literal(LANES, INDEX), tuple(empty)),
        Loop(block, ZERO, blocks, (inside,)),
        Loop(lane, ZERO, literal(TAIL, INDEX), tuple(_narrowed(lanes, ops, lane))),
        Loop(rest, blocks * LANES, count, after),
        *[_joined(one, op, lanes[one]) for one, op in ops.items()],
    ]


def _turn(
    loop: Loop, lanes: dict[Variable, Buffer], place: Expr, slot: Expr
) -> tuple[Statement, ...]:
    """Return what a loop does with the element at a place, whose lanes are at a slot."""
    known: dict[Expr, Expr] = {loop.index: place}
    known.update((one, load(buffer, slot)) for one, buffer in lanes.items())
    found: list[Statement] = []
    for one in loop.body:
        if isinstance(one, Set) and one.variable in lanes:
            assert isinstance(one.value, Apply)
            operands = [substituted(operand, known) for operand in one.value.arguments]
            joined = apply(STRICT[one.value.op], *operands)
            found.append(Store(lanes[one.variable], slot, joined))
        else:
            found += substituted_in((one,), known)
    return tuple(found)


def _narrowed(
    lanes: dict[Variable, Buffer], ops: dict[Variable, str], lane: Index
) -> Iterable[Statement]:
    for one, buffer in lanes.items():
        parts = [load(buffer, lane + at) for at in range(0, LANES, TAIL)]
        yield Store(buffer, lane, halves(parts, STRICT[ops[one]]))


def _joined(one: Variable, op: str, buffer: Buffer) -> Set:
    parts = [load(buffer, literal(at, INDEX)) for at in range(TAIL)]
    return Set(one, apply(STRICT[op], one, halves(parts, STRICT[op])))
