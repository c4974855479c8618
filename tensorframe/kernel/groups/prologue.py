"""Prologues of work-groups: each group makes for itself, in shared memory, what its rows have in common.

A group takes as many rows in turn as it takes for that to be little beside them. The bits of every part are those of
kernels of its own, since no form has an order of its own to add in, see `order.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, prod

from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.groups.choices import COLUMN_PARTS, COLUMNS, reduced_form
from tensorframe.kernel.groups.held import Held
from tensorframe.kernel.groups.order import Order
from tensorframe.kernel.groups.reductions import (
    columns_of,
    groups_of,
    occupancy_of_columns,
    rows_of,
)
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.ir.order import inner_length
from tensorframe.kernel.nest.assemble import Built, Launch, assembled, notes_of
from tensorframe.kernel.nest.body import Body, Numbers
from tensorframe.kernel.nest.layout import Layout, Strides, lay_out, output_buffers
from tensorframe.kernel.nest.passes.choices import branched
from tensorframe.kernel.nest.stages import stages_of
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.gather import with_bounds_checks
from tensorframe.kernel.spaces.prologue import Part

# How many times as much a group does for its rows as before them, if there are enough groups then: so many keep the
# multiprocessors of a GPU busy, and the cores of a processor.
_ENOUGH, _GROUPS, _FEW_GROUPS = 8, 256, 16


def build_with_prologue(
    region: Region,
    parts: Sequence[Part],
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    target: Target,
) -> Built:
    """Return the kernel of a region of several parts, for inputs with these strides."""
    building = _Building(region, strides, target)
    *before, last = parts
    prologue = [statement for part in before for statement in building.made(part)]
    return building.built(prologue, last, places)


class _Building:
    """The parts of one kernel: they have the region's operands, and what earlier parts have made."""

    def __init__(self, region: Region, strides: Sequence[Strides], target: Target) -> None:
        self._region = region
        self._target = target
        self._numbers = Numbers()
        self._scalars = {
            value: ir.argument(f"c{value}", dtype)
            for value, (shape, dtype) in enumerate(region.inputs)
            if shape == ()
        }
        self._shared: dict[int, ir.Buffer] = {}
        self._strides: dict[int, Strides] = dict(enumerate(strides))
        self._work = 0.0  # operations of all parts before the last one

    def made(self, part: Part) -> list[ir.Statement]:
        """Return the statements with which a group makes the result of a part, and waits for it."""
        (value,) = part.gives
        shape, dtype = self._region.shape_of(value), self._region.dtype_of(value)
        layout = self._laid_out(part, [(0, None)])
        memory = ir.Buffer(f"made{len(self._shared)}", dtype, ir.Role.SHARED)
        (result,) = part.region.outputs
        form, order = self._form(part, layout, {result: memory})
        self._shared[value] = memory
        self._strides[value] = strides_of(shape, layout.layouts[0])
        self._work += form.cost * prod(layout.nest.sizes)
        return [
            ir.Allocate(memory, ir.literal(prod(shape), ir.INDEX)),
            *self._by_one_group(form, order),
            ir.Barrier(),
        ]

    def built(
        self,
        prologue: Sequence[ir.Statement],
        part: Part,
        places: Sequence[tuple[int, int | None]],
    ) -> Built:
        """Return the kernel of the last part, which begins with a prologue."""
        layout = self._laid_out(part, places)
        form, order = self._form(part, layout, output_buffers(part.region, layout))
        rows, lanes = layout.nest.rows, self._target.lanes
        most = self._target.max_iterations
        if reduced_form(layout.nest, order, form.stages, most) in (COLUMNS, COLUMN_PARTS):
            body, total, together = columns_of(form, order), rows, lanes
            occupancy = occupancy_of_columns(form, order, lanes)
        else:
            in_runs = self._target.access > 0
            body = rows_of(form, order, Held(form, order, lanes), in_runs=in_runs)
            total, together = groups_of(order, rows, lanes), max(1, lanes // order.slots)
            occupancy = 0
        turns = self._turns(form.cost * together * layout.nest.row_length, rows // together)
        statements = with_bounds_checks(branched((*prologue, *body), form.body.cuts))
        kernel = assembled(
            statements,
            self._numbers,
            self._scalars.values(),
            notes_of(self._region),
            lanes=lanes,
            occupancy=occupancy,
            index=self._target.index,
        )
        launch = Launch(kernel, tuple(self._numbers.values), total, turns)
        return Built((launch,), (), layout.layouts)

    def _turns(self, work: float, times: int) -> int:
        """Return how often a group begins again, whose threads do so much `work` each of so many times."""
        groups = _GROUPS if self._target.access else _FEW_GROUPS
        return max(1, min(ceil(_ENOUGH * self._work / work), times // groups))

    def _laid_out(self, part: Part, places: Sequence[tuple[int, int | None]]) -> Layout:
        strides = [self._strides[value] for value in part.takes]
        return lay_out(part.region, space_of(part.region), strides, places, numbered=True)

    def _form(
        self, part: Part, layout: Layout, outputs: Mapping[int, ir.Buffer]
    ) -> tuple[Form, Order]:
        """Return the form of a part, whose operands have the names of the region's, and its order."""
        region, space = part.region, space_of(part.region)
        widest = self._target.widest
        body = Body(region, layout.nest, layout.reads, layout.lines, widest, self._numbers)
        body.inputs = [self._buffer(value) for value in part.takes]
        body.scalars = {
            number: self._scalars[value]
            for number, value in enumerate(part.takes)
            if value in self._scalars
        }
        stages = stages_of(region, space, scratch=False)
        strip = inner_length(space.lengths)
        order = Order(layout.nest.row_length, self._target.lanes, strip)
        prefix, in_pairs = f"r{len(self._shared)}_", order.chunks > 1
        return Form(body, stages, dict(outputs), prefix=prefix, in_pairs=in_pairs), order

    def _buffer(self, value: int) -> ir.Buffer:
        if value in self._shared:
            return self._shared[value]
        return ir.Buffer(f"x{value}", self._region.dtype_of(value), ir.Role.INPUT)

    def _by_one_group(self, form: Form, order: Order) -> list[ir.Statement]:
        """Return the statements in which the threads of a group make all rows of a part."""
        rows, lanes = form.body.nest.rows, self._target.lanes
        if order.short or rows >= lanes:  # a thread for each
            *memory, loop = columns_of(form, order)
            over, total = ir.ParallelAxis.LANES, rows
        else:
            *memory, loop = rows_of(form, order, Held(form, order, lanes), in_runs=True)
            over, total = ir.ParallelAxis.NOTHING, groups_of(order, rows, lanes)
        assert isinstance(loop, ir.Loop)
        stop = self._numbers.take(total, "rows")
        return [*memory, replace(loop, start=ZERO, stop=stop, over=over, parallel=False)]
