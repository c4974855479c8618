"""Reductions by work-groups: rows by the threads of a group each, columns by a thread each, and parts of both.

All of them add what `order.py` says, so that the form tells in no result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, finish_pass
from tensorframe.kernel.forms.parts import begin_joining
from tensorframe.kernel.groups.held import Held
from tensorframe.kernel.groups.order import (
    Order,
    Slots,
    Work,
    is_ordered,
    runs_of,
    slot_of,
)
from tensorframe.kernel.groups.team import (
    Numbers,
    Team,
    Totals,
    begun,
    by_one_lane,
    combined,
    joined,
    numbers_of,
    parts_of,
    set_indices,
    stored,
    taken,
    total_of,
    totals_in,
)
from tensorframe.kernel.ir.loops import ZERO, digits, flat, named, nested

# Threads that a multiprocessor has registers for at once: 64 of them for each that goes down a column twice, and 128 if
# it does so more often.
_TWICE, _OFTEN = 1024, 512


def groups_of(order: Order, rows: int, lanes: int = 0) -> int:
    """Return how many groups so many rows take, of so many threads if that is said."""
    return -(-rows * order.slots // (lanes or order.lanes))


def rows_of(form: Form, order: Order, held: Held, *, in_runs: bool) -> tuple[ir.Statement, ...]:
    """The threads of a work-group for each row, or for several, in as many passes as the reductions need.

    A group has as many threads as `held` knows: no fewer than a row has slots, and all that the order knows where rows
    have chunks.
    What has no order is taken in by runs too where a device reads several elements at once, and where rows are held.
    """
    body, stages, lanes = form.body, form.stages, held.lanes
    in_runs = in_runs or bool(held)
    numbers = numbers_of(form, order)
    team = Team(lanes, order.slots, numbers.row, numbers.rows)
    statements: list[ir.Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        ordered = is_ordered(form, number)
        if order.chunks > 1 and ordered:
            statements += _row_in_chunks(form, number, numbers, held)
        else:
            team_of_pass = Team(
                lanes, order.slots, numbers.row, numbers.rows, in_runs=in_runs or ordered
            )
            totals = totals_in(form, number)
            statements += pass_by_team(form, team_of_pass, team.row, number, totals, held)
        finish_pass(form, number)
    body.begin_pass()
    set_indices(form, team.row, team.place)
    statements += team.once(form.row_stores())
    return (*held.allocated(), *team.groups(statements))


def pass_by_team(
    form: Form,
    team: Team,
    row: ir.Expr,
    number: int,
    totals: Totals,
    held: Held | None = None,
    strip: ir.Expr | None = None,
    before: ir.Expr = ZERO,
) -> list[ir.Statement]:
    """Return the loops of a pass over a row, or a chunk of it, which is in a strip, and the joining of slots.

    Threads have had so many elements `before`.
    """
    set_indices(form, row, team.in_run, strip)
    kept = held.kept(number, team.nth(before)) if held else []
    runs = runs_of(form, totals)
    each = (*kept, *taken(form, runs.totals), *stored(form, number))
    if not each:
        return []
    loop = team.along(runs.work(each))
    return [*begun(totals), loop, *map(team.combined, totals.values())]


def _row_in_chunks(form: Form, number: int, numbers: Numbers, held: Held) -> list[ir.Statement]:
    """Return a pass over a row of several chunks: thread by thread takes the total of a chunk into its slot."""
    chunk, order = ir.index("chunk"), numbers.order
    team = Team(order.lanes, order.slots, numbers.span(chunk))
    totals = totals_in(form, number)
    parts = parts_of(totals, "chunk")
    before = chunk * (order.chunk // order.slots)
    strip = numbers.strip_of(chunk)
    work = pass_by_team(form, team, team.row, number, parts, held, strip, before)
    inside = (*work, in_turn(team, chunk, totals, parts))
    loop = ir.Loop(chunk, ZERO, numbers.chunks, inside)
    return [*begun(totals), loop, *map(team.combined, totals.values())]


def in_turn(team: Team, chunk: ir.Expr, totals: Totals, parts: Totals) -> ir.Loop:
    """Return the statement with which the thread whose turn it is takes what the chunk has into its slot."""
    mine = ir.compare("equal", team.slot, slot_of(chunk, team.lanes))
    return team.each(ir.If(mine, tuple(joined(totals, parts))))


def columns_of(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """A thread for each result, or each row of a scan."""
    body, stages = form.body, form.stages
    row = ir.index("row")
    numbers = numbers_of(form, order)
    statements: list[ir.Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        statements += column_pass(form, number, row, numbers)
        finish_pass(form, number)
    body.begin_pass()
    statements += form.row_stores()
    return (
        ir.Loop(
            row, ir.START, ir.STOP, tuple(statements), parallel=True, over=ir.ParallelAxis.GRID
        ),
    )


def occupancy_of_columns(form: Form, order: Order, lanes: int) -> int:
    """Return the occupancy of a kernel of `columns_of`; 0 leaves it to compilers.

    Where threads go down a column several times, slot by slot, these would spill what is needed around the innermost
    loops, for more threads than are needed to keep memory busy.
    """
    times = form.stages.passes + bool(form.stages.stores[-1])
    if times == 1 or order.in_sequence(form.body.widest):
        return 0
    return max(1, (_TWICE if times == 2 else _OFTEN) // lanes)


def column_pass(form: Form, number: int, row: ir.Expr, numbers: Numbers) -> list[ir.Statement]:
    """Return a pass over a column by one thread."""
    in_sequence = numbers.order.in_sequence(form.body.widest) or form.stages.scans[number]
    if in_sequence or not is_ordered(form, number):
        return _in_sequence(form, number, row)
    return _in_slots(form, number, row, numbers)


def _in_sequence(form: Form, number: int, row: ir.Expr) -> list[ir.Statement]:
    """Return a pass over a column, one element after the other."""
    body = form.body
    count, along = len(body.nest.kept), named("k", len(body.nest.reduced))
    body.indices = [*digits(row, body.sizes[:count]), *along]
    before, scanned = _scans(form, number)
    totals = totals_in(form, number)
    work = (*scanned, *taken(form, totals), *stored(form, number))
    loops = nested(along, body.sizes[count:], work) if work else ()
    return [*before, *begun(totals), *loops]


def _scans(form: Form, number: int) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """Return how the scans of a pass begin, and their steps."""
    totals = {value: total_of(form, value) for value in form.stages.scans[number]}
    work: list[ir.Statement] = []
    for value, total in totals.items():
        work += taken(form, {value: total})
        form.body.define_element(value, form.finished(value, total.variable))
    return begun(totals), work


def _in_slots(form: Form, number: int, row: ir.Expr, numbers: Numbers) -> list[ir.Statement]:
    """Return a pass over a column, chunk by chunk and slot by slot."""
    order, totals = numbers.order, totals_in(form, number)
    if order.chunks == 1:
        slots = Slots("k", order.slots, numbers.row)
        work = _taken_in_slots(form, number, row, slots, totals)
        return [*begun(totals), slots.joined([*totals.values()], work)]
    several = Slots("chunk", order.lanes, numbers.all_chunks, few=True)
    slots = Slots("k", order.slots, numbers.span(several.place))
    parts = parts_of(totals, "chunk")
    strip = numbers.strip_of(several.place)
    work = _taken_in_slots(form, number, row, slots, parts, strip)
    own = {value: several.slot(total) for value, total in totals.items()}
    inside = (*begun(parts), slots.joined([*parts.values()], work), *joined(own, parts))
    return [*begun(totals), several.joined([*totals.values()], Work(inside))]


def _taken_in_slots(
    form: Form,
    number: int,
    row: ir.Expr,
    slots: Slots,
    totals: Totals,
    strip: ir.Expr | None = None,
) -> Work:
    """Return the work of a pass for the element whose turn it is."""
    set_indices(form, row, slots.in_run, strip)
    runs = runs_of(form, {value: slots.slot(total) for value, total in totals.items()})
    return runs.work([*taken(form, runs.totals), *stored(form, number)])


def row_parts(form: Form, order: Order, *, in_runs: bool) -> tuple[ir.Statement, ...]:
    """The totals of chunks of rows, one from each group."""
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    in_runs = in_runs or is_ordered(form, 0)
    team = Team(order.lanes, order.slots, numbers.span(chunk), in_runs=in_runs)
    totals = totals_in(form, 0)
    inside = pass_by_team(form, team, row, 0, totals, strip=numbers.strip_of(chunk))
    ends = by_one_lane(_partial_stores(form, part, totals))
    return (
        ir.Loop(
            part, ir.START, ir.STOP, (*inside, *ends), parallel=True, over=ir.ParallelAxis.GROUPS
        ),
    )


def _strip_loops(form: Form, numbers: Numbers) -> dict[int, ir.Expr]:
    """Return the loops over strips and their sizes, that along memory last; over chunks of several strips."""
    nest = form.body.nest
    if not numbers.order.in_one_strip:
        return {nest.outer[0]: numbers.chunks}
    nearest = nest.nearest_outer()
    loops = [*[loop for loop in nest.outer if loop != nearest], nearest]
    return {loop: form.body.sizes[loop] for loop in loops}


def column_parts(form: Form, order: Order, *, of_strips: bool) -> tuple[ir.Statement, ...]:
    """The totals of the classes of chunks of columns, one from each thread.

    Threads side by side have rows that are so; where they are `of_strips`, chunks at the same place of these.
    """
    part, numbers = ir.index("part"), numbers_of(form, order)
    classes = ir.literal(order.classes, ir.INDEX)
    if of_strips:
        loops = _strip_loops(form, numbers)
        sizes = [classes, numbers.rows, numbers.pieces, *loops.values()]
        which, row, piece, *places = digits(part, sizes)
        place = dict(zip(loops, places, strict=True))
        strip = flat(
            [place[loop] for loop in sorted(loops)], [loops[loop] for loop in sorted(loops)]
        )
        chunk = strip * numbers.pieces + piece
        stored_at = (chunk * order.classes + which) * numbers.rows + row
    else:
        chunk, which, row = digits(part, [numbers.chunks, classes, numbers.rows])
        stored_at = part
    slots = Slots("k", order.slots, numbers.span(chunk), which)
    totals = totals_in(form, 0)
    work = _taken_in_slots(form, 0, row, slots, totals, numbers.strip_of(chunk))
    statements = (
        *begun(totals),
        slots.joined_in_class([*totals.values()], work),
        *_partial_stores(form, stored_at, totals),
    )
    return (ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GRID),)


def _partial_stores(form: Form, part: ir.Expr, totals: Totals) -> list[ir.Statement]:
    return [ir.Store(form.partials[value], part, total.variable) for value, total in totals.items()]


def joined_parts(
    form: Form, order: Order, each: Sequence[int], *, in_groups: bool
) -> tuple[ir.Statement, ...]:
    """The totals of chunks joined, and what is computed from the results.

    A chunk has parts of so many parts `each`, those that are next to each other first; none where it is whole.
    """
    row, _, height, chunks = begin_joining(form, order.chunks)
    totals = {value: total_of(form, value) for value in form.partials}
    span = (ZERO, chunks, order.chunks)
    if in_groups:
        team = Team(order.lanes, order.lanes, span)
        work = _chunk_joined(form, totals, team.place, row, height, each)
        statements: list[ir.Statement] = [team.along(Work(work)), *map(combined, totals.values())]
    else:
        slots = Slots("chunk", order.lanes, span, few=True)
        own = {value: slots.slot(total) for value, total in totals.items()}
        work = _chunk_joined(form, own, slots.place, row, height, each)
        statements = [slots.joined([*totals.values()], Work(work))]
    finish_pass(form, 0)
    stores = form.row_stores()
    ends = by_one_lane(stores) if in_groups else stores
    over = ir.ParallelAxis.GROUPS if in_groups else ir.ParallelAxis.GRID
    inside = (*begun(totals), *statements, *ends)
    return (ir.Loop(row, ir.START, ir.STOP, inside, parallel=True, over=over),)


def _chunk_joined(
    form: Form,
    totals: Totals,
    chunk: ir.Expr,
    row: ir.Expr,
    height: ir.Expr,
    each: Sequence[int],
) -> list[ir.Statement]:
    """Return the statements that take the total of a chunk, which has parts, into totals."""
    if not each:
        return [
            total.take(ir.load(form.partials[value], chunk * height + row))
            for value, total in totals.items()
        ]
    size = each[-1]
    part = ir.index(f"part{len(each)}")
    wholes = {value: total.part(f"whole{len(each)}") for value, total in totals.items()}
    work = _chunk_joined(form, wholes, chunk * size + part, row, height, each[:-1])
    return [
        *begun(wholes),
        ir.Loop(part, ZERO, ir.literal(size, ir.INDEX), tuple(work), rolled=len(each) > 1),
        *joined(totals, wholes),
    ]
