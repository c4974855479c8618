"""Scans by work-groups: a group for each row, or several of them, a thread for each, or chunks of few long rows.

Of few long rows, groups scan chunks: the totals of chunks first, then the totals themselves, then each chunk after what
comes before it. All of them add what `blocks.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form, finish_pass
from tensorframe.kernel.groups.blocks import NO_WORK, Scan, Steps, Tiles, scan_of
from tensorframe.kernel.groups.order import Order, Work, is_ordered, runs_of
from tensorframe.kernel.groups.reductions import column_pass, in_turn
from tensorframe.kernel.groups.team import (
    Team,
    Totals,
    begun,
    by_one_lane,
    numbers_of,
    parts_of,
    set_indices,
    stored,
    taken,
    total_of,
    totals_in,
)
from tensorframe.kernel.ir.formula import where
from tensorframe.kernel.ir.loops import ZERO, digits, larger

_ONE = ir.literal(1, ir.INDEX)


def _scans_in(form: Form, number: int, *, chunked: bool) -> dict[int, Scan]:
    scans = form.stages.scans[number]
    return {value: scan_of(total_of(form, value), chunked=chunked) for value in scans}


def _pass(
    form: Form, number: int, tiles: Tiles, scans: Mapping[int, Scan], totals: Totals
) -> list[ir.Statement]:
    """Return a pass over the tiles of a row, or of a chunk of one."""
    statements: list[ir.Statement] = []
    work = NO_WORK
    for value, scan in scans.items():
        before, work = tiles.scanned(scan, form.body.operand(value, 0), work)
        statements += before
        form.body.define_element(value, form.finished(value, scan.result.variable))
    runs = runs_of(form, totals)
    others = [*taken(form, runs.totals), *stored(form, number)]
    if others:
        last = Work([*work.each, *others], [*work.before, *runs.before], runs.after)
        statements.append(tiles.team.all(*tiles.each(last)))
    if not statements:
        return []
    begin = [scan.blocks.begin() for scan in scans.values()]
    ends = map(tiles.team.combined, totals.values())
    return [*begin, *begun(totals), tiles.loop(statements), *ends]


def scanned_rows(form: Form, order: Order, room: int) -> tuple[ir.Statement, ...]:
    """The threads of a work-group for each row, or for several, in as many passes as there are."""
    body, numbers = form.body, numbers_of(form, order)
    chunks = Steps("chunk", order.lanes, numbers.all_chunks)
    team = Team(order.lanes, order.slots, numbers.row, numbers.rows, in_runs=False)
    tiles = Tiles(team, order.slots, numbers.span(chunks.place), room)
    set_indices(form, team.row, tiles.place)
    statements: list[ir.Statement] = []
    for number in range(form.stages.passes + 1):
        body.begin_pass()
        totals = totals_in(form, number)
        if order.chunks > 1:
            statements += _in_chunks(form, number, tiles, chunks, totals)
        else:
            scans = _scans_in(form, number, chunked=False)
            statements += _pass(form, number, tiles, scans, totals)
        finish_pass(form, number)
    body.begin_pass()
    statements += team.once(form.row_stores())
    return (*tiles.allocated(), *team.groups(statements))


def _in_chunks(
    form: Form, number: int, tiles: Tiles, chunks: Steps, totals: Totals
) -> list[ir.Statement]:
    """Return a pass over a row of several chunks, whose totals are scanned as they come."""
    scans = _scans_in(form, number, chunked=True)
    before = [scan_of(scan.before, chunked=False) for scan in scans.values() if scan.before]
    parts = parts_of(totals, "chunk")
    inside = _pass(form, number, tiles, scans, parts)
    if not inside:
        return []
    for scan, outer in zip(scans.values(), before, strict=True):
        inside += outer.take(scan.blocks.variable)
    if totals:
        inside.append(in_turn(tiles.team, chunks.place, totals, parts))
    begin = [outer.result.begin() for outer in before]
    ends = map(tiles.team.combined, totals.values())
    return [*begin, *begun(totals), *chunks.loops(before, inside), *ends]


def scanned_columns(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """A thread for each row of a scan; no pass with a scan has a sum of floats."""
    body, row, numbers = form.body, ir.index("row"), numbers_of(form, order)
    statements: list[ir.Statement] = []
    for number in range(form.stages.passes + 1):
        body.begin_pass()
        if not form.stages.scans[number]:
            statements += column_pass(form, number, row, numbers)
        elif order.chunks == 1:
            steps = Steps("k", order.slots, numbers.row)
            scans = _scans_in(form, number, chunked=False)
            statements += _stepped(form, number, row, steps, scans)
        else:
            chunks = Steps("chunk", order.lanes, numbers.all_chunks)
            steps = Steps("k", order.slots, numbers.span(chunks.place))
            scans = _scans_in(form, number, chunked=True)
            before = [scan_of(scan.before, chunked=False) for scan in scans.values() if scan.before]
            inside = _stepped(form, number, row, steps, scans)
            for scan, outer in zip(scans.values(), before, strict=True):
                inside += outer.take(scan.blocks.variable)
            statements += [outer.result.begin() for outer in before]
            statements += chunks.loops(before, inside)
        finish_pass(form, number)
    body.begin_pass()
    statements += form.row_stores()
    return (
        ir.Loop(
            row, ir.START, ir.STOP, tuple(statements), parallel=True, over=ir.ParallelAxis.GRID
        ),
    )


def _stepped(
    form: Form, number: int, row: ir.Expr, steps: Steps, scans: Mapping[int, Scan]
) -> list[ir.Statement]:
    """Return the scans of a pass over a row, or a chunk of one, by a thread."""
    set_indices(form, row, steps.place)
    totals = totals_in(form, number)
    work: list[ir.Statement] = []
    for value, scan in scans.items():
        work += scan.take(scan.result.how.take(form.body.operand(value, 0)))
        form.body.define_element(value, form.finished(value, scan.result.variable))
    work += [*taken(form, totals), *stored(form, number)]
    return [*begun(totals), *steps.loops(scans.values(), work)]


def has_sums(form: Form) -> bool:
    """Whether sums of floats run in a pass with scans."""
    passes = range(form.stages.passes)
    return any(form.stages.scans[number] and is_ordered(form, number) for number in passes)


def can_be_cut(form: Form) -> bool:
    """Whether rows can be scanned in pieces: in one pass, without a scan that needs another one's results."""
    stages, region = form.stages, form.region
    first = len(region.inputs)
    scans = stages.scans[0]
    if stages.passes or not all(stages.full[value] for value in region.outputs):
        return False
    needed: set[int] = set()
    stack = [region.ops[value - first].inputs[0] for value in scans]
    while stack:
        value = stack.pop()
        if value >= first and value not in needed:
            needed.add(value)
            stack.extend(region.ops[value - first].inputs)
    return needed.isdisjoint(scans)


def totals_of_chunks(form: Form, order: Order) -> tuple[ir.Statement, ...]:
    """Totals of the chunks of rows, one from each group."""
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    team = Team(order.lanes, order.slots, numbers.row)
    tiles = Tiles(team, order.slots, numbers.span(chunk))
    set_indices(form, row, tiles.place)
    work: list[ir.Statement] = []
    begin: list[ir.Statement] = []
    stores: list[ir.Statement] = []
    for value, buffer in form.partials.items():
        scan = scan_of(total_of(form, value), chunked=False)
        work += tiles.scanned(scan, form.body.operand(value, 0))[0]
        begin.append(scan.blocks.begin())
        stores.append(ir.Store(buffer, part, scan.blocks.variable))
    statements = (*begin, tiles.loop(work), *by_one_lane(stores))
    loop = ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GROUPS)
    return (*tiles.allocated(), loop)


def scanned_totals(
    form: Form, order: Order, room: int, results: Mapping[int, ir.Buffer]
) -> tuple[ir.Statement, ...]:
    """The totals of each row's chunks scanned, by a group for each row; `results` say where to."""
    row, numbers = ir.index("row"), numbers_of(form, order)
    team = Team(order.lanes, order.lanes, numbers.row)
    tiles = Tiles(team, order.lanes, numbers.all_chunks, room)
    position = (tiles.place.start + tiles.place.step) * numbers.rows + row
    begin: list[ir.Statement] = []
    work: list[ir.Statement] = []
    for value, buffer in form.partials.items():
        total = total_of(form, value)
        how = total.how._replace(take=lambda part: part)  # these are totals already
        scan = scan_of(total._replace(how=how), chunked=False)
        begin.append(scan.blocks.begin())
        before, each = tiles.scanned(scan, ir.load(buffer, position))
        store = ir.Store(results[value], position, scan.result.variable)
        work += [*before, team.all(*tiles.each(each._replace(each=[*each.each, store])))]
    loop = ir.Loop(
        row,
        ir.START,
        ir.STOP,
        (*begin, tiles.loop(work)),
        parallel=True,
        over=ir.ParallelAxis.GROUPS,
    )
    return (*tiles.allocated(), loop)


def scanned_chunks(form: Form, order: Order, room: int) -> tuple[ir.Statement, ...]:
    """Each chunk of each row scanned, after what comes before it."""
    part, numbers = ir.index("part"), numbers_of(form, order)
    chunk, row = digits(part, [ZERO, numbers.rows])
    team = Team(order.lanes, order.slots, numbers.row)
    tiles = Tiles(team, order.slots, numbers.span(chunk), room)
    set_indices(form, row, tiles.place)
    earlier = (larger(chunk, _ONE) - 1) * numbers.rows + row
    scans = _scans_in(form, 0, chunked=True)
    begin: list[ir.Statement] = []
    for value, scan in scans.items():
        assert scan.before is not None
        value_before = where(
            chunk > ZERO, ir.load(form.partials[value], earlier), scan.result.how.start()
        )
        begin.append(ir.Set(scan.before.variable, value_before))
    statements = (*begin, *_pass(form, 0, tiles, scans, {}))
    loop = ir.Loop(part, ir.START, ir.STOP, statements, parallel=True, over=ir.ParallelAxis.GROUPS)
    return (*tiles.allocated(), loop)
