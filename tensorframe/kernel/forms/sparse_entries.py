"""Loops over the elements of a row of a sparse matrix: unrolled, with software prefetch of those that come later.

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

# Elements of an iteration, and accumulators of a sum over a long row.
_UNROLLED = 4
# How many elements before it is read an element is prefetched.
_AHEAD = 128

_EACH = ir.index("each")
_REST = ir.variable("rest", ir.INDEX)


def unrolled(bodies: Sequence[Statements], between: Statements = ()) -> Statements:
    """Return the unrolled loop over the elements of a row, and the loop over the rest.

    Elements have one of `bodies` after the other, and the rest the first; `between` is what is done before the rest.
    """
    count = ir.literal(_UNROLLED, ir.INDEX)
    iterations = ir.apply("floor_divide", END - BEGIN, count)
    first = summed(BEGIN, _EACH * count)
    iteration = _prefetches(bodies[0], first + _AHEAD)
    for number in range(_UNROLLED):
        entry = summed(first, ir.literal(number, ir.INDEX)) if number else first
        iteration = (*iteration, *substituted_in(bodies[number % len(bodies)], {ENTRY: entry}))
    return (
        ir.Loop(_EACH, ZERO, iterations, iteration, rolled=True),
        *between,
        ir.Set(_REST, BEGIN + iterations * count),
        ir.Loop(ENTRY, _REST, END, bodies[0], rolled=True),
    )


def _prefetches(body: Statements, entry: ir.Expr) -> Statements:
    """Return the prefetches of what a body reads at the place of an element."""
    roots, _ = expressions(body)
    streams: dict[ir.Buffer, ir.Expr] = {}
    for load in [expr for expr in in_order(roots, ()) if isinstance(expr, ir.Load)]:
        inside = in_order((load.position,), ())
        # what is at a place that was read itself lies anywhere
        if ENTRY in inside and not any(isinstance(expr, ir.Load) for expr in inside):
            streams.setdefault(load.buffer, substituted(load.position, {ENTRY: entry}))
    count = ir.literal(1, ir.INDEX)
    return tuple([ir.Prefetch(buffer, place, count) for buffer, place in streams.items()])


def side_by_side(sums: tuple[ir.Variable, ...], term: Value) -> Statements:
    """Return the sum over a row in several accumulators, none of which has to wait for the others."""
    every = [sums, *[total(term, f"total{number}_") for number in range(1, _UNROLLED)]]
    begin = [statement for own in every[1:] for statement in cleared(own)]
    bodies = [join(own, term) for own in every]
    joined: Statements = ()
    while len(every) > 1:  # with those half their number away
        half = len(every) // 2
        for left, right in zip(every[:half], every[half:], strict=True):
            joined = (*joined, *join(left, right))
        every = every[:half]
    return (*begin, *unrolled(bodies, joined))
