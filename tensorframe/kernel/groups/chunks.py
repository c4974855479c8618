"""Kernels of rows in chunks: those that reduce chunks in one pass, join what these leave, and store elements.

What is corrected when chunks are joined is said in `one_pass.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from tensorframe.dtypes import float64
from tensorframe.kernel import ir
from tensorframe.kernel.forms.deviations import ChunkMoments
from tensorframe.kernel.forms.form import Form, finish_pass
from tensorframe.kernel.forms.parts import begin_joining
from tensorframe.kernel.groups.distances import Distances
from tensorframe.kernel.groups.held import Held
from tensorframe.kernel.groups.order import Order, Place, Total, Work, divided, runs_of
from tensorframe.kernel.groups.reductions import pass_by_team
from tensorframe.kernel.groups.team import (
    Numbers,
    Team,
    Totals,
    begun,
    by_one_lane,
    combined,
    numbers_of,
    set_indices,
    taken,
    totals_in,
)
from tensorframe.kernel.ir.formula import both, equal, where
from tensorframe.kernel.ir.loops import ZERO, digits, larger, smaller
from tensorframe.kernel.math.pairs import held_as, number_of
from tensorframe.kernel.math.scalars import converted, element
from tensorframe.ops.elementwise import EXP
from tensorframe.quick_tuples import NamedTuple

_ACCESS = 16  # bytes of the widest access of a thread


class ChunkBuffers(NamedTuple):
    """Where chunks leave a reduction's total, and, of squares, the value that distances are from and their sum."""

    total: ir.Buffer
    pivot: ir.Buffer | None = None
    distances: ir.Buffer | None = None


def reduced_chunks(
    form: Form,
    order: Order,
    held: Held,
    sums: Mapping[int, Distances[int]],
    left: Mapping[int, ChunkBuffers],
) -> tuple[ir.Statement, ...]:
    """Both passes over each chunk, by a group, which holds it in between."""
    body = form.body
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    span, strip = numbers.span(chunk), numbers.strip_of(chunk)
    team = Team(order.lanes, order.slots, span)
    totals = totals_in(form, 0)
    statements = pass_by_team(form, team, row, 0, totals, held, strip)
    finish_pass(form, 0)
    pivots = _pivots(form, sums, totals, _count(form, numbers, chunk))
    second = totals_in(form, 1)
    away = {value: _of_distances(second[value]) for value in sums if sums[value].squared}
    if sums:
        set_indices(form, row, team.in_run, strip)
        body.begin_pass()
        body.known |= {sums[value].centre: pivot for value, pivot in pivots.items()}
        work = _distances_taken(form, sums, second, away, held.kept(1, team.nth()))
        statements += [*begun(second), *begun(away), team.along(work)]
        statements += map(combined, [*second.values(), *away.values()])
    stores = [
        ir.Store(left[value].total, part, total.variable)
        for value, total in [*totals.items(), *second.items()]
    ]
    for value, total in away.items():
        stores.append(ir.Store(_there(left[value].pivot), part, pivots[value]))
        stores.append(ir.Store(_there(left[value].distances), part, total.variable))
    inside = (*statements, *by_one_lane(stores))
    over = ir.ParallelAxis.GROUPS
    loop = ir.Loop(part, ir.START, ir.STOP, inside, parallel=True, over=over)
    return (*held.allocated(), loop)


def _of_distances(total: Total) -> Total:
    """Return what distances are added up in, beside the total of their squares."""
    name = f"{total.variable.name}_away"
    return Total(total.how, ir.variable(name, total.variable.dtype))


def _distances_taken(
    form: Form,
    sums: Mapping[int, Distances[int]],
    totals: Totals,
    away: Totals,
    kept: Sequence[ir.Statement],
) -> Work:
    """Return the work of the second pass over a chunk, whose elements are known by what `kept` has done."""
    runs, distances = runs_of(form, totals), runs_of(form, away)
    each = [*kept, *taken(form, runs.totals)]
    each += [
        total.take(total.how.take(form.body.element(sums[value].distance)))
        for value, total in distances.totals.items()
    ]
    return Work(each, (*runs.before, *distances.before), (*runs.after, *distances.after))


def _pivots(
    form: Form, sums: Mapping[int, Distances[int]], totals: Totals, count: ir.Expr
) -> dict[int, ir.Expr]:
    """Return what a chunk takes distances from: its own mean, or maximum."""
    pivots: dict[int, ir.Expr] = {}
    for value, distances in sums.items():
        if distances.squared:
            mean = number_of(totals[distances.source].variable) / count
            pivots[value] = converted(mean, form.region.dtype_of(distances.centre))
        else:
            own = form.body.element(distances.centre)
            # -inf - -inf is NaN: where there is nothing else, exp(-inf - 0) gives the right 0
            pivots[value] = where(equal(own, -inf), 0.0, own)
    return pivots


def _count(form: Form, numbers: Numbers, chunk: ir.Expr) -> ir.Expr:
    """Return how many elements a chunk has."""
    first, last, _ = numbers.span(chunk)
    return ir.apply("from_index", last - first, dtype=form.body.widest)


def _there(buffer: ir.Buffer | None) -> ir.Buffer:
    assert buffer is not None
    return buffer


def joined_chunks(
    form: Form,
    order: Order,
    sums: Mapping[int, Distances[int]],
    left: Mapping[int, ChunkBuffers],
    results: Mapping[int, ir.Buffer],
) -> tuple[ir.Statement, ...]:
    """What chunks have left joined, by a group for each row: what elements are made of later, and what rows store."""
    body = form.body
    row, _, height, chunks = begin_joining(form, order.chunks)
    numbers = numbers_of(form, order)
    team = Team(order.lanes, order.lanes, (ZERO, chunks, order.chunks))
    place = team.place * height + row
    statements: list[ir.Statement] = []
    for number in range(form.stages.passes):
        body.begin_pass()
        totals = totals_in(form, number)
        parts: dict[int, ir.Expr] = {value: ir.load(left[value].total, place) for value in totals}
        if number > 0:
            count = _count(form, numbers, team.place)
            parts = {
                value: _corrected(form, sums[value], left, value, place, count) for value in totals
            }
        takes = [
            total.take(held_as(parts[value], total.how.dtype)) for value, total in totals.items()
        ]
        work = Work(takes)
        statements += [*begun(totals), team.along(work), *map(combined, totals.values())]
        finish_pass(form, number)
    body.begin_pass()
    stores: list[ir.Statement] = [*form.row_stores()]
    stores += [
        ir.Store(buffer, row, converted(body.element(value), buffer.dtype))
        for value, buffer in results.items()
    ]
    inside = (*statements, *by_one_lane(stores))
    over = ir.ParallelAxis.GROUPS
    return (ir.Loop(row, ir.START, ir.STOP, inside, parallel=True, over=over),)


def _corrected(
    form: Form,
    sum_: Distances[int],
    left: Mapping[int, ChunkBuffers],
    value: int,
    place: ir.Expr,
    count: ir.Expr,
) -> ir.Expr:
    """Return what a chunk contributes to the sum of a row, whose own centre is known by now."""
    body, own = form.body, number_of(ir.load(left[value].total, place))
    centre = body.element(sum_.centre)
    if sum_.squared:
        pivot = ir.load(_there(left[value].pivot), place)
        distances = number_of(ir.load(_there(left[value].distances), place))
        return ChunkMoments(count, pivot, distances, own).squares_from(centre)
    away = _centre_of_chunk(form, sum_, ir.load(left[sum_.source].total, place)) - centre
    factor = element(EXP, (), (away,), away.dtype, double=body.widest == float64)
    # a chunk of -inf alone contributes nothing, unless the row has nothing else
    nothing = both(equal(own, 0), equal(centre - centre, 0))
    return where(nothing, 0, own * converted(factor, own.dtype))


def _centre_of_chunk(form: Form, sum_: Distances[int], total: ir.Expr) -> ir.Expr:
    """Return what distances would be from if the row had no more than a chunk, of which this is the reduction."""
    body = form.body
    of_row = body.known[sum_.source]
    body.begin_pass()
    body.known[sum_.source] = form.finished(sum_.source, total)
    centre = body.element(sum_.centre)
    body.begin_pass()
    body.known[sum_.source] = of_row
    return centre


def stored_chunks(
    form: Form, order: Order, results: Mapping[int, ir.Buffer]
) -> tuple[ir.Statement, ...]:
    """The pass that stores elements, a chunk by each group; a thread takes those of one access of 16 bytes at once.

    With more at once it would run out of the registers that all threads of a multiprocessor can have.
    """
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    first, last, _ = numbers.span(chunk)
    values = [value for stores in form.stages.stores for value in stores]
    each = max(1, _ACCESS // max(form.outputs[value].dtype.itemsize for value in values))
    lane, turn, element = ir.index("lane"), ir.index("turn"), ir.index("element")
    begin = (turn * order.lanes + lane) * each
    place = Place(first + begin, element, each)
    form.body.known |= {
        value: converted(ir.load(buffer, row), form.region.dtype_of(value))
        for value, buffer in results.items()
    }
    set_indices(form, row, place, numbers.strip_of(chunk))
    stores = tuple([form.store(value) for value in values])
    count = smaller(last - first - begin, ir.literal(each, ir.INDEX))
    along = ir.Loop(element, ZERO, count, stores, width=each)
    own = lane * each
    turns = divided(larger(last - first, own) - own, order.lanes * each)
    lanes, over = ir.literal(order.lanes, ir.INDEX), ir.ParallelAxis.LANES
    loop = ir.Loop(lane, ZERO, lanes, (ir.Loop(turn, ZERO, turns, (along,)),), over=over)
    groups = ir.ParallelAxis.GROUPS
    return (ir.Loop(part, ir.START, ir.STOP, (loop,), parallel=True, over=groups),)
