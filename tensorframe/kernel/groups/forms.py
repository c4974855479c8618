"""Forms for work-groups: how the passes over a region become kernels of many threads.

    map       no reduction: one element for each thread of the grid, see `maps.py`
    squares   no reduction, and operands that are contiguous along different axes: see `tiles.py`
    rows      operands are contiguous along the reduced axes: a work-group for each row, whose threads read neighbouring
              elements, and join what they have accumulated: see `reductions.py`
    columns   operands are contiguous along a kept axis, or rows are short: a thread for each result
    parts     too few results for all threads, or memory along outer reduced axes: chunks of rows, or classes of what is
              in columns, give partial results, which a second kernel joins
    scans     of long rows: a work-group for each row, or for each piece of one, see `scans.py`

What several passes need is computed again in each, and read once where a group has memory for it: see `held.py`. Of
longer rows a group holds a chunk, and two passes become one: see `one_pass.py`.
The form follows from sizes and strides, see `choices.py`; what is added to what does not depend on it, see `order.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.graph.region import Region
from tensorframe.graph.space import Space
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.groups.choices import (
    COLUMN_PARTS,
    COLUMNS,
    MAP,
    ROW_PARTS,
    SQUARES,
    STRIP_PARTS,
    Choice,
    Room,
    map_room,
    name_of,
    reduced_form,
    reduced_room,
)
from tensorframe.kernel.groups.held import LITTLE, held_in
from tensorframe.kernel.groups.maps import BUSY, mapped, occupancy_of_map, width_of
from tensorframe.kernel.groups.one_pass import in_one_pass
from tensorframe.kernel.groups.order import Order
from tensorframe.kernel.groups.reductions import (
    column_parts,
    columns_of,
    groups_of,
    joined_parts,
    occupancy_of_columns,
    row_parts,
    rows_of,
)
from tensorframe.kernel.groups.scans import (
    can_be_cut,
    has_sums,
    scanned_chunks,
    scanned_columns,
    scanned_rows,
    scanned_totals,
    totals_of_chunks,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.groups.tiles import square_of, squares
from tensorframe.kernel.ir.order import inner_length
from tensorframe.kernel.nest.assemble import Built, Launch, Partials, finish
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, Strides, lay_out, output_buffers
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.nest.passes.choices import branched
from tensorframe.kernel.nest.stages import Stages, stages_of
from tensorframe.kernel.spaces.gather import with_bounds_checks
from tensorframe.machine import HOST

# Rows from which every group of a scan has one, and results from which every thread has.
_ENOUGH_ROWS = 256
_ENOUGH_RESULTS = 1 << 14
# Bytes that every group has for elements which lie apart, where it has none for whole rows: these stay in the cache.
_APART = 8 << 10
# Operations for an element of rows from which compilers would spill for more threads than keep memory busy.
_DEAR = 24.0


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
    layout = lay_out(region, space, strides, places, into, numbered=True)
    launches, partials = _GroupBuilder(region, space, layout, target).launches()
    return Built(launches, partials, layout.layouts)


class _GroupBuilder:
    """Chooses the form of a region, and makes its kernels."""

    def __init__(self, region: Region, space: Space, layout: Layout, target: Target) -> None:
        self._region = region
        self._space = space
        self._nest = layout.nest
        self._layout = layout
        self._target = target
        self._in_runs = target.access > 0

    def launches(self) -> tuple[tuple[Launch, ...], Partials]:
        """Return the kernels in the order in which they run, and the partial results between them."""
        stages = stages_of(self._region, self._space, scratch=False)
        if not self._space.reduced:
            return self._mapped(stages)
        if any(stages.scans):
            return self._scans(stages)
        return self._reduced(stages)

    def _mapped(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        nest, lanes = self._nest, self._target.lanes
        form, square = self._form(stages), square_of(nest)
        width = width_of(form, self._target.access)
        default = Choice(MAP, lanes, width) if square is None else Choice(SQUARES, lanes)
        choice = self._chosen(default, map_room(lanes, square=square is not None))
        if square is not None and choice.form == SQUARES:
            launch = self._launch(form, squares(form, square), square.count, choice)
        else:
            body, occupancy = mapped(form, choice.width), occupancy_of_map(form, choice)
            launch = self._launch(form, body, prod(nest.kept), choice, occupancy=occupancy)
        return (launch,), ()

    def _reduced(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        nest, order, rows = self._nest, self._order(), self._nest.rows
        whole = self._in_one_pass(stages, order)
        if whole is not None:
            return whole
        name = reduced_form(nest, order, stages, self._target.max_iterations)
        default = Choice(name, self._target.lanes)
        choice = self._chosen(default, reduced_room(nest, order, stages, default.form))
        if choice.form in (ROW_PARTS, COLUMN_PARTS, STRIP_PARTS):
            return self._in_parts(stages, order, choice)
        form = self._form(stages)
        if choice.form == COLUMNS:
            return (self._columns(form, order, choice),), ()
        held = held_in(form, order, choice.lanes, self._target.rows)
        choice = choice._replace(lanes=held.lanes)
        body = rows_of(form, order, held, in_runs=self._in_runs)
        is_dear = stages.passes == 1 and form.cost >= _DEAR
        occupancy = max(1, BUSY // choice.lanes) if is_dear else 0
        groups = groups_of(order, rows, held.lanes)
        return (self._launch(form, body, groups, choice, occupancy=occupancy),), ()

    def _columns(self, form: Form, order: Order, choice: Choice) -> Launch:
        body, rows = columns_of(form, order), self._nest.rows
        occupancy = occupancy_of_columns(form, order, choice.lanes)
        return self._launch(form, body, rows, choice, occupancy=occupancy)

    def _chosen(self, default: Choice, room: Room) -> Choice:
        """Return what was found to be the best for these kernels on this device, if somebody has looked."""
        tunings = self._target.tunings
        if tunings is None or not tunings.is_used:
            return default
        chosen: Choice = tunings.chosen_kernel(name_of(self._region, self._nest), default, room)
        return chosen

    def _form(self, stages: Stages) -> Form:
        layout = self._layout
        body = Body(self._region, self._nest, layout.reads, layout.lines, self._target.widest)
        in_pairs = self._order().chunks > 1
        return Form(body, stages, output_buffers(self._region, layout), in_pairs=in_pairs)

    def _order(self) -> Order:
        strip = inner_length(self._space.lengths)
        return Order(self._nest.row_length, self._target.lanes, strip)

    def _in_parts(
        self, stages: Stages, order: Order, choice: Choice
    ) -> tuple[tuple[Launch, ...], Partials]:
        """Return two kernels: totals of chunks, or of the classes of each, and these joined."""
        rows, in_rows = self._nest.rows, choice.form == ROW_PARTS
        each = [] if in_rows else ir.levels(order.slots)[1:]
        count = order.chunks * prod(each) * rows
        form, second = self._form(stages), self._form(stages)
        partials = []
        for number, value in enumerate(stages.reductions[0]):
            how = form.accumulation(value)
            form.partials[value] = ir.Buffer(f"p{number}", how.dtype, ir.Role.OUTPUT)
            second.partials[value] = ir.Buffer(f"p{number}", how.dtype, ir.Role.INPUT)
            partials.append((how.dtype, count, how.first))
        in_runs, in_groups = self._in_runs, order.chunks > self._target.lanes // 4
        body = (
            row_parts(form, order, in_runs=in_runs)
            if in_rows
            else column_parts(form, order, of_strips=choice.form == STRIP_PARTS)
        )
        joined = joined_parts(second, order, each, in_groups=in_groups)
        launches = (
            self._launch(form, body, count, choice),
            self._launch(second, joined, rows),
        )
        return launches, tuple(partials)

    def _in_one_pass(
        self, stages: Stages, order: Order
    ) -> tuple[tuple[Launch, ...], Partials] | None:
        """Return the kernels for rows that no group has memory for, which are reduced in one pass; None for others."""
        memory, nest = self._target.rows, self._nest
        # beyond the planner's limit memory may be along other axes: groups are better there than a thread for each row
        takes_groups = nest.reduced_inside or order.length > HOST.row
        if not memory or order.chunks == 1 or not takes_groups:
            return None
        forms = [self._form(stages) for _ in range(3)]
        made = in_one_pass(forms, order, memory, few_rows=nest.rows < _ENOUGH_ROWS)
        if made is None:
            return None
        launches = tuple(
            [
                self._launch(form, body, total, occupancy=occupancy)
                for form, body, total, occupancy in made.kernels
            ]
        )
        kernels = [launch.kernel for launch in launches]
        buffers = max(len(kernel.inputs) + len(kernel.outputs) for kernel in kernels)
        return (launches, made.partials) if buffers <= self._target.buffers else None

    def _scans(self, stages: Stages) -> tuple[tuple[Launch, ...], Partials]:
        nest, order = self._nest, self._order()
        form, rows = self._form(stages), nest.rows
        room = min(self._target.rows, LITTLE) or (0 if nest.reduced_inside else _APART)
        if order.short:
            return (self._launch(form, columns_of(form, order), rows),), ()
        if not nest.reduced_inside and rows >= _ENOUGH_RESULTS and not has_sums(form):
            return (self._launch(form, scanned_columns(form, order), rows),), ()
        if rows >= _ENOUGH_ROWS or order.chunks == 1 or not can_be_cut(form):
            return (
                self._launch(form, scanned_rows(form, order, room), groups_of(order, rows)),
            ), ()
        chunks = order.chunks
        forms = (form, self._form(stages), self._form(stages))
        results: dict[int, ir.Buffer] = {}
        partials = []
        for number, value in enumerate(stages.scans[0]):
            how = form.accumulation(value)
            names = (f"p{2 * number}", f"p{2 * number + 1}")
            results[value] = ir.Buffer(names[1], how.dtype, ir.Role.OUTPUT)
            forms[0].partials[value] = ir.Buffer(names[0], how.dtype, ir.Role.OUTPUT)
            forms[1].partials[value] = ir.Buffer(names[0], how.dtype, ir.Role.INPUT)
            forms[2].partials[value] = ir.Buffer(names[1], how.dtype, ir.Role.INPUT)
            partials += [(how.dtype, chunks * rows, how.first)] * 2
        bodies = (
            (totals_of_chunks(forms[0], order), chunks * rows),
            (scanned_totals(forms[1], order, room, results), rows),
            (scanned_chunks(forms[2], order, room), chunks * rows),
        )
        launches = [
            self._launch(stage, body, total)
            for stage, (body, total) in zip(forms, bodies, strict=True)
        ]
        return tuple(launches), tuple(partials)

    def _launch(
        self,
        form: Form,
        body: tuple[ir.Statement, ...],
        total: int,
        choice: Choice | None = None,
        *,
        occupancy: int = 0,
    ) -> Launch:
        statements = with_bounds_checks(branched(body, form.body.cuts))
        numbers = form.body.numbers
        lanes, turns = (self._target.lanes, 1) if choice is None else (choice.lanes, choice.turns)
        kernel = finish(
            form.body, statements, lanes=lanes, occupancy=occupancy, index=self._target.index
        )
        return Launch(kernel, tuple(numbers.values), total, turns)
