"""Loops over the elements of a row of a sparse matrix: several in a turn, while those that come later are prefetched.

A processor foresees how a stream goes on, but stops at the end of a page, and between two streams it gathers from
anywhere: software prefetch takes a tenth to a third of the time of a product with a vector off, on Zen 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import BEGIN, END, ENTRY, Statements, Value
from tensorframe.kernel.forms.sparse_sums import cleared, join, total
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.walk import expressions, in_order, substituted, substituted_in
from tensorframe.kernel.nest.axes import summed

# Elements of a turn, and accumulators of a sum over a long row.
_TURN = 4
# How many elements before it is needed an element is asked for.
_AHEAD = 128

_EACH = ir.index("each")
_REST = ir.variable("rest", ir.INDEX)


def in_turns(bodies: Sequence[Statements], between: Statements = ()) -> Statements:
    """Return the loops over the elements of a row, which `bodies` take in turns; the rest are the first one's.

    `between` is what is done when whole turns have ended.
    """
    count = ir.literal(_TURN, ir.INDEX)
    turns = ir.apply("floor_divide", END - BEGIN, count)
    first = summed(BEGIN, _EACH * count)
    turn = _prefetches(bodies[0], first + _AHEAD)
    for number in range(_TURN):
        entry = summed(first, ir.literal(number, ir.INDEX)) if number else first
        turn = (*turn, *substituted_in(bodies[number % len(bodies)], {ENTRY: entry}))
    return (
        ir.Loop(_EACH, ZERO, turns, turn, rolled=True),
        *between,
        ir.Set(_REST, BEGIN + turns * count),
        ir.Loop(ENTRY, _REST, END, bodies[0], rolled=True),
    )


def _prefetches(body: Statements, entry: ir.Expr) -> Statements:
    """Return how the lines are asked for in which one element has what a body reads at its own place."""
    roots, _ = expressions(body)
    streams: dict[ir.Buffer, ir.Expr] = {}
    for load in [expr for expr in in_order(roots, ()) if isinstance(expr, ir.Load)]:
        inside = in_order((load.position,), ())
        # what is at a place that was read itself lies anywhere
        if ENTRY in inside and not any(isinstance(expr, ir.Load) for expr in inside):
            streams.setdefault(load.buffer, substituted(load.position, {ENTRY: entry}))
    one = ir.literal(1, ir.INDEX)
    return tuple([ir.Prefetch(buffer, place, one) for buffer, place in streams.items()])


def side_by_side(sums: tuple[ir.Variable, ...], term: Value) -> Statements:
    """Return the sum over a row in several accumulators, none of which has to wait for the others."""
    every = [sums, *[total(term, f"total{number}_") for number in range(1, _TURN)]]
    begin = [statement for own in every[1:] for statement in cleared(own)]
    bodies = [join(own, term) for own in every]
    joined: Statements = ()
    while len(every) > 1:  # with those half their number away
        half = len(every) // 2
        for left, right in zip(every[:half], every[half:], strict=True):
            joined = (*joined, *join(left, right))
        every = every[:half]
    return (*begin, *in_turns(bodies, joined))
