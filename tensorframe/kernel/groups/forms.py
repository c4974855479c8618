"""Forms for work-groups: how the passes over a region become kernels of many threads.

    map       no reduction: one element for each thread of the grid
    squares   no reduction, and operands that are contiguous along different axes: see `tiles.py`
    rows      operands are contiguous along the reduced axes: a work-group for each row, whose threads read neighbouring
              elements, and join what they have accumulated
    columns   operands are contiguous along a kept axis, or rows are short: a thread for each result
    parts     too few results for all threads: chunks of fixed size give partial results, which a second kernel joins
    scans     of long rows: a work-group for each row, or for each piece of one, see `scans.py`

What several passes need is computed again in each: a row stays in the cache, and registers cost more than arithmetic.
Chunks depend on sizes alone, and threads are joined in a fixed order: the same bits in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tensorframe.dtypes import DType
from tensorframe.graph.region import Region
from tensorframe.graph.space import Space
from tensorframe.kernel.forms.form import Form, accumulator, finish_pass, reductions_in
from tensorframe.kernel.forms.parts import begin_joining
from tensorframe.kernel.groups.scans import (
    by_one_lane,
    can_be_cut,
    scanned_pieces,
    scanned_rows,
    scanned_totals,
    totals_of_pieces,
)
from tensorframe.kernel.groups.tiles import square_of, squares
from tensorframe.kernel.ir import (
    START,
    STOP,
    Buffer,
    Combine,
    Loop,
    ParallelAxis,
    Role,
    Set,
    Statement,
    Store,
    index,
    load,
    variable,
)
from tensorframe.kernel.ir.loops import ZERO, digits, named, nested, smaller
from tensorframe.kernel.nest.assemble import Built, Launch, Partials, finish
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, Strides, lay_out, output_buffers
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.nest.passes.choices import branched
from tensorframe.kernel.nest.stages import Stages, stages_of
from tensorframe.kernel.spaces.gather import with_bounds_checks

# Rows from which every group has one, and results from which every thread has.
_ENOUGH_ROWS = 256
_ENOUGH_RESULTS = 1 << 14
# Elements that a thread takes in for one partial result.
_EACH = 32


@dataclass(frozen=True, slots=True)
class Target:
    """The device that kernels are built for: threads of a group, and the widest floating dtype.

    `index` is the dtype of positions: 32 bits are faster, and do for 2**32 elements.
    """

    lanes: int
    widest: DType
    index: DType


def build_groups(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    target: Target,
    into: Sequence[Access] = (),
) -> Built:
    """Return the kernels of a region, like `build`, for a device whose threads come in work-groups.

    With `into` the outputs go to elements of arrays that are there, see `lay_out`.
    """
    found = lay_out(region, space, strides, places, into)
    launches, partials = _GroupBuilder(region, space, found, target).launches()
    return Built(launches, partials, found.layouts)


class _GroupBuilder:
    """Chooses the form of a region, and makes its kernels."""

    def __init__(self, region: Region, space: Space, layout: Layout, target: Target) -> None:
        self._region = region
        self._space = space
        self._nest = layout.nest
        self._layout = layout
        self._target = target

    def launches(self) -> tuple[tuple[Launch, ...], Partials]:
        """Return the kernels in the order in which they run, and the partial results between them."""
        nest, lanes = self._nest, self._target.lanes
        stages = stages_of(self._region, self._space, scratch=False)
        form = self._form(stages)
        if not self._space.reduced:
            square = square_of(nest)
            if square is not None:
                return (self._launch(form, squares(form, square), square.count),), ()
            return (self._launch(form, _map(form), prod(nest.kept)),), ()
        rows, length = nest.rows, nest.row_length
        if any(stages.scans):
            return self._scans(stages)
        in_rows = nest.reduced_inside and 2 * length > lanes
        apart = stages.passes == 1 and not any(stages.stores[1:])
        enough = _ENOUGH_ROWS if in_rows else _ENOUGH_RESULTS
        chunk = _EACH * lanes if in_rows else _EACH * 4
        if apart and rows < enough and length > 2 * chunk:
            return self._in_parts(stages, chunk, in_rows=in_rows)
        body = _rows(form) if in_rows else _columns(form)
        return (self._launch(form, body, rows),), ()

    def _form(self, stages: Stages) -> Form:
        layout = self._layout
        body = Body(self._region, self._nest, layout.reads, layout.lines, self._target.widest)
        return Form(body, stages, output_buffers(self._region, layout))

    def _in_parts(
        self, stages: Stages, chunk: int, *, in_rows: bool
    ) -> tuple[tuple[Launch, ...], Partials]:
        nest = self._nest
        chunks = -(-nest.row_length // chunk)
        form, second = self._form(stages), self._form(stages)
        partials = []
        for at, value in enumerate(stages.reductions[0]):
            how = form.accumulation(value)
            form.partials[value] = Buffer(f"p{at}", how.dtype, Role.OUTPUT)
            second.partials[value] = Buffer(f"p{at}", how.dtype, Role.INPUT)
            partials.append((how.dtype, chunks * nest.rows, how.first))
        parts = self._launch(form, _parts(form, chunk, in_rows=in_rows), chunks * nest.rows)
        in_groups = chunks > self._target.lanes // 4
        joined = self._launch(second, _joined(second, chunks, in_groups=in_groups), nest.rows)
        return (parts, joined), tuple(partials)

    def _scans(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        nest, lanes = self._nest, self._target.lanes
        form, rows, length = self._form(stages), nest.rows, nest.row_length
        if 2 * length <= lanes or (not nest.reduced_inside and rows >= _ENOUGH_RESULTS):
            return (self._launch(form, _columns(form), rows),), ()
        piece = _EACH * lanes
        if rows >= _ENOUGH_ROWS or length <= 2 * piece or not can_be_cut(form):
            return (self._launch(form, scanned_rows(form, lanes, _pass), rows),), ()
        pieces = -(-length // piece)
        forms = (form, self._form(stages), self._form(stages))
        results: dict[int, Buffer] = {}
        partials = []
        for at, value in enumerate(stages.scans[0]):
            how = form.accumulation(value)
            names = (f"p{2 * at}", f"p{2 * at + 1}")
            results[value] = Buffer(names[1], how.dtype, Role.OUTPUT)
            forms[0].partials[value] = Buffer(names[0], how.dtype, Role.OUTPUT)
            forms[1].partials[value] = Buffer(names[0], how.dtype, Role.INPUT)
            forms[2].partials[value] = Buffer(names[1], how.dtype, Role.INPUT)
            partials += [(how.dtype, pieces * rows, how.first)] * 2
        bodies = (
            (totals_of_pieces(forms[0], piece), pieces * rows),
            (scanned_totals(forms[1], pieces, lanes, results), rows),
            (scanned_pieces(forms[2], piece, lanes, _pass), pieces * rows),
        )
        launches = [
            self._launch(one, body, total) for one, (body, total) in zip(forms, bodies, strict=True)
        ]
        return tuple(launches), tuple(partials)

    def _launch(self, form: Form, body: tuple[Statement, ...], total: int) -> Launch:
        statements = with_bounds_checks(branched(body, form.body.cuts))
        numbers = form.body.numbers
        kernel = finish(form.body, statements, lanes=self._target.lanes, index=self._target.index)
        return Launch(kernel, tuple(numbers.values), total, 1)


def _map(form: Form) -> tuple[Statement, ...]:
    """One element for each thread."""
    at = index("i")
    form.body.indices = digits(at, form.body.sizes) if form.body.sizes else []
    stores = tuple([form.store(value) for value in form.outputs])
    return (Loop(at, START, STOP, stores, parallel=True, over=ParallelAxis.GRID),)


def _rows(form: Form) -> tuple[Statement, ...]:
    """A work-group for each row, in as many passes as the reductions need."""
    body, stages = form.body, form.stages
    count = len(body.nest.kept)
    row, along = index("row"), index("k")
    length = body.numbers.take(body.nest.row_length, "length")
    body.indices = [*digits(row, body.sizes[:count]), *digits(along, body.sizes[count:])]
    statements: list[Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        before, work, after = _pass(form, number)
        if work:
            loop = Loop(along, ZERO, length, tuple(work), over=ParallelAxis.LANES)
            statements += [*before, loop, *after]
        finish_pass(form, number)
    body.begin_pass()
    statements += by_one_lane(form.row_stores())
    return (Loop(row, START, STOP, tuple(statements), parallel=True, over=ParallelAxis.GROUPS),)


def _pass(form: Form, number: int) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """Return what comes before a pass over a row, its work for each element, and the joining of the lanes."""
    before: list[Statement] = []
    work: list[Statement] = []
    after: list[Statement] = []
    for value in reductions_in(form, number):
        how, total = form.accumulation(value), accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, how.take(form.body.operand(value, 0)))))
        after.append(_combined(form, value))
    work += [form.store(value) for value in form.stages.stores[number]]
    return before, work, after


def _combined(form: Form, value: int) -> Combine:
    how, total = form.accumulation(value), accumulator(form, value)
    other = variable(f"{total.name}_other", total.dtype)
    return Combine(total, other, how.join(total, other))


def _columns(form: Form) -> tuple[Statement, ...]:
    """A thread for each result, or each row of a scan."""
    body, stages = form.body, form.stages
    count = len(body.nest.kept)
    row, along = index("row"), named("k", len(body.nest.reduced))
    lengths = body.sizes[count:]
    body.indices = [*digits(row, body.sizes[:count]), *along]
    statements: list[Statement] = []
    for number in range(stages.passes + 1):
        body.begin_pass()
        before, scanned = _scans(form, number)
        begun, work, _ = _pass(form, number)
        if scanned or work:
            statements += [*before, *begun, *nested(along, lengths, (*scanned, *work))]
        finish_pass(form, number)
    body.begin_pass()
    statements += form.row_stores()
    return (Loop(row, START, STOP, tuple(statements), parallel=True, over=ParallelAxis.GRID),)


def _scans(form: Form, number: int) -> tuple[list[Statement], list[Statement]]:
    """Return how the scans of a pass begin, and their steps."""
    before: list[Statement] = []
    work: list[Statement] = []
    for value in form.stages.scans[number]:
        how, total = form.accumulation(value), accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, how.take(form.body.operand(value, 0)))))
        form.body.define_element(value, form.finished(value, total))
    return before, work


def _parts(form: Form, chunk: int, *, in_rows: bool) -> tuple[Statement, ...]:
    """Partial results of chunks of rows, one for each group, or for each thread."""
    body = form.body
    count = len(body.nest.kept)
    part, along = index("part"), index("k")
    step = body.numbers.take(chunk, "chunk")
    length = body.numbers.take(body.nest.row_length, "length")
    height = body.numbers.take(body.nest.rows, "rows")
    at, place = digits(part, [ZERO, height])
    body.indices = [*digits(place, body.sizes[:count]), *digits(along, body.sizes[count:])]
    before, work, after = _pass(form, 0)
    first = at * step
    over = ParallelAxis.LANES if in_rows else ParallelAxis.NOTHING
    loop = Loop(along, first, smaller(first + step, length), tuple(work), over=over)
    stores = [
        Store(buffer, part, accumulator(form, value)) for value, buffer in form.partials.items()
    ]
    ends = [*after, *by_one_lane(stores)] if in_rows else stores
    outer = ParallelAxis.GROUPS if in_rows else ParallelAxis.GRID
    return (Loop(part, START, STOP, (*before, loop, *ends), parallel=True, over=outer),)


def _joined(form: Form, chunks: int, *, in_groups: bool) -> tuple[Statement, ...]:
    """Partial results joined, and what is computed from the results."""
    row, chunk, height, number = begin_joining(form, chunks)
    before: list[Statement] = []
    work: list[Statement] = []
    after: list[Statement] = []
    for value, buffer in form.partials.items():
        how, total = form.accumulation(value), accumulator(form, value)
        before.append(Set(total, how.start()))
        work.append(Set(total, how.join(total, load(buffer, chunk * height + row))))
        after.append(_combined(form, value))
    finish_pass(form, 0)
    over = ParallelAxis.LANES if in_groups else ParallelAxis.NOTHING
    loop = Loop(chunk, ZERO, number, tuple(work), over=over)
    stores = form.row_stores()
    ends = [*after, *by_one_lane(stores)] if in_groups else stores
    outer = ParallelAxis.GROUPS if in_groups else ParallelAxis.GRID
    return (Loop(row, START, STOP, (*before, loop, *ends), parallel=True, over=outer),)
