"""Assignments where elements are made: a kernel without reductions that also writes some where indices point to.

A thread that has computed an element knows where in its tensor that is. If the element is one of those that are
assigned, the thread follows the index for it, and writes to the tensor that is assigned to. Of several values for one
position the last stays: each index is compared with those behind it, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tensorframe.dtypes import DType, bool_
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import Space
from tensorframe.kernel import ir
from tensorframe.kernel.forms.form import Form
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.ir.formula import both, equal, negation
from tensorframe.kernel.ir.loops import digits
from tensorframe.kernel.nest.assemble import Built, Launch, finish
from tensorframe.kernel.nest.axes import summed
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, Strides, lay_out, output_buffers
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.nest.passes.choices import branched
from tensorframe.kernel.nest.stages import stages_of
from tensorframe.kernel.spaces.gather import place_on_axis, with_bounds_checks
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    """Which elements of an output are assigned to a tensor, and where index tensors say that they go.

    The elements are those of output number `output` from `lows` on, `sizes` of them along each axis. `axes` of the
    tensor, which has `shape` and lies `into` its buffer, are indexed by `indices`: their input, dtype, and strides in
    `chosen`, the shape that they are broadcast to, whose axes lie at `position` among the others of the assigned
    elements. `is_kept` says whether the output is stored besides.
    """

    output: int
    lows: Shape
    sizes: Shape
    shape: Shape
    axes: tuple[int, ...]
    position: int
    chosen: Shape
    indices: tuple[tuple[int, DType, Strides], ...]
    into: Access
    is_kept: bool


def build_assignment(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    target: Target,
    assigned: Assigned,
) -> Built:
    """Return the kernel of a region that assigns elements of an output; the tensor is its last output."""
    layout = lay_out(region, space, strides, places, numbered=True)
    body = Body(region, layout.nest, layout.reads, layout.lines, target.widest)
    form = Form(body, stages_of(region, space, scratch=False), output_buffers(region, layout))
    index = ir.index("i")
    body.indices = digits(index, body.sizes) if body.sizes else []
    statements = tuple(_Assigning(form, layout, assigned).statements())
    grid = ir.ParallelAxis.GRID
    loop = ir.Loop(index, ir.START, ir.STOP, statements, parallel=True, over=grid)
    checked = with_bounds_checks(branched((loop,), body.cuts))
    kernel = finish(body, checked, lanes=target.lanes, index=target.index)
    launch = Launch(kernel, tuple(body.numbers.values), prod(layout.nest.kept), 1)
    kept = layout.layouts if assigned.is_kept else layout.layouts[:-1]
    return Built((launch,), (), (*kept, tuple(range(len(assigned.shape)))))


class _Assigning:
    """What a thread does with the element that it makes."""

    def __init__(self, form: Form, layout: Layout, assigned: Assigned) -> None:
        self._form, self._what = form, assigned
        self._numbers = form.body.numbers
        (self._value,) = [
            value for value, array in layout.arrays.items() if array == assigned.output
        ]
        self._layout = layout.layouts[assigned.output]
        self._dtype = form.region.dtype_of(self._value)

    def statements(self) -> Iterator[ir.Statement]:
        """Yield the stores of the region's outputs, and of an element that is assigned."""
        form, what = self._form, self._what
        made = ir.variable("made", self._dtype)
        store = form.store(self._value)
        yield ir.Set(made, store.value)
        for value in form.outputs:
            if value != self._value:
                yield form.store(value)
            elif what.is_kept:
                yield ir.Store(store.buffer, store.position, made)
        along = self._along(store.position)
        condition = self._is_assigned(along)
        inside = tuple(self._assignment(self._from_first(along), made))
        yield from inside if condition is None else (ir.If(condition, inside),)

    def _along(self, position: ir.Expr) -> list[ir.Expr | None]:
        """Return where on each axis of the output an element is, from its position in the output's own array."""
        shape = self._form.region.shape_of(self._value)
        longer = [axis for axis in self._layout if shape[axis] > 1]
        sizes = [self._numbers.take(shape[axis], "n") for axis in longer]
        along: list[ir.Expr | None] = [None] * len(shape)
        for axis, place in zip(longer, digits(position, sizes), strict=True):
            along[axis] = place
        return along

    def _is_assigned(self, along: Sequence[ir.Expr | None]) -> ir.Expr | None:
        """Return the condition that an element is assigned; None if all are."""
        what, shape = self._what, self._form.region.shape_of(self._value)
        condition: ir.Expr | None = None
        for place, low, size, whole in zip(along, what.lows, what.sizes, shape, strict=True):
            bounds = []
            if place is not None and low > 0:
                bounds.append(place >= self._numbers.take(low, "b"))
            if place is not None and low + size < whole:
                bounds.append(place < self._numbers.take(low + size, "b"))
            for bound in bounds:
                condition = bound if condition is None else both(condition, bound)
        return condition

    def _from_first(self, along: Sequence[ir.Expr | None]) -> list[ir.Expr | None]:
        """Return where on each axis of the assigned elements one is."""
        return [
            place if place is None or low == 0 else place - self._numbers.take(low, "b")
            for place, low in zip(along, self._what.lows, strict=True)
        ]

    def _assignment(self, along: Sequence[ir.Expr | None], made: ir.Expr) -> Iterator[ir.Statement]:
        """Yield the store of an assigned element, if no later one is for the same position."""
        what = self._what
        end = what.position + len(what.chosen)
        own, others = along[what.position : end], [*along[: what.position], *along[end:]]
        places = [self._place(number, own) for number in range(len(what.axes))]
        kept = [axis for axis in range(len(what.shape)) if axis not in what.axes]
        terms = [
            self._times(place, what.into.steps[axis])
            for axis, place in (
                *zip(what.axes, places, strict=True),
                *zip(kept, others, strict=True),
            )
            if place is not None
        ]
        if what.into.start:
            terms.append(self._numbers.take(what.into.start, "o"))
        store = ir.Store(
            ir.Buffer(f"y{self._number}", self._dtype, ir.Role.OUTPUT), summed(*terms), made
        )
        if prod(what.chosen) == 1:
            yield store
            return
        stays = ir.variable("stays", bool_)
        yield ir.Set(stays, ir.literal(1, bool_))
        yield self._look_at_later(own, places, stays)
        yield ir.If(stays, (store,))

    @property
    def _number(self) -> int:
        """The number of the output that elements are assigned to."""
        return len(self._form.outputs) - (not self._what.is_kept)

    def _place(self, number: int, along: Sequence[ir.Expr | None]) -> ir.Expr:
        """Return where on its axis an index points that is somewhere in the shape that all are broadcast to."""
        source, dtype, steps = self._what.indices[number]
        terms = [
            self._times(place, step)
            for place, step in zip(along, steps, strict=True)
            if place is not None and step
        ]
        index = ir.load(ir.Buffer(f"x{source}", dtype, ir.Role.INPUT), summed(*terms))
        return place_on_axis(index, self._size(number))

    def _look_at_later(
        self, own: Sequence[ir.Expr | None], places: Sequence[ir.Expr], stays: ir.Variable
    ) -> ir.Loop:
        """Return the loop that finds out whether a later index points to the same position."""
        what = self._what
        longer = [axis for axis, size in enumerate(what.chosen) if size > 1]
        sizes = [self._numbers.take(what.chosen[axis], "n") for axis in longer]
        here: ir.Expr | None = None
        for axis, size in zip(longer, sizes, strict=True):
            place = own[axis]
            assert place is not None
            here = place if here is None else here * size + place
        assert here is not None
        later = ir.index("later")
        along: list[ir.Expr | None] = [None] * len(what.chosen)
        for axis, place in zip(longer, digits(later, sizes), strict=True):
            along[axis] = place
        same: ir.Expr | None = None
        for number, place in enumerate(places):
            alike = equal(self._place(number, along), place)
            same = alike if same is None else both(same, alike)
        assert same is not None
        count = self._numbers.take(prod(what.chosen), "count")
        return ir.Loop(later, here + 1, count, (ir.Set(stays, both(stays, negation(same))),))

    def _size(self, number: int) -> ir.Expr:
        return self._numbers.take(self._what.shape[self._what.axes[number]], "size")

    def _times(self, place: ir.Expr, step: int) -> ir.Expr:
        return place if step == 1 else place * self._numbers.take(step, "s")
