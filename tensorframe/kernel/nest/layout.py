"""The layout of a region: its loops in the order of memory, and where in memory operands are and outputs go."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import strides_of
from tensorframe.graph.space import Map, Space
from tensorframe.kernel.ir import Buffer, Role
from tensorframe.kernel.math.accumulate import is_ordered
from tensorframe.kernel.nest.nest import Access, Nest, arrange, linear, memory_order
from tensorframe.kernel.spaces.gather import GATHERS, selected_axes
from tensorframe.kernel.spaces.pieces import PIECED, cut_axes
from tensorframe.ops.creation import ARANGE
from tensorframe.quick_dataclasses import dataclass

Strides = tuple[int, ...]  # in elements

_PARTS = 2  # of a complex number: elements next to each other


@dataclass(frozen=True, slots=True)
class Layout:
    """Loops in the order of memory, what operands read in them, and where outputs go.

    `reads` are the access of each operand; `lines` length and step of the axes on which gathers select; `arrays` the
    array of each output, whose axes `layouts` lists in the order of its memory.
    """

    nest: Nest
    reads: dict[tuple[int, int], tuple[int, Map]]
    lines: dict[int, list[tuple[int, int]]]
    arrays: dict[int, int]
    layouts: tuple[tuple[int, ...], ...]

    def with_outer_kept(self) -> tuple[Layout, list[int]]:
        """Return the layout of what sums over the inner axes give, and which of its kept loops are the outer ones."""
        nest, outer = self.nest.with_outer_kept()
        return replace(self, nest=nest), outer


def lay_out(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    into: Sequence[Access] = (),
    *,
    in_order: bool = False,
    numbered: bool = False,
) -> Layout:
    """Return the loops of a region whose inputs have these strides; with `in_order`, as sums of floats want them.

    So they are where elements are `numbered` across all reduced axes, see `arrange`.

    Outputs go to new arrays, or, if `into` is given, to where it says: for each, a position and the steps of its axes.
    """
    first = len(region.inputs)
    reads = reads_of(region, space)
    accesses: dict[Hashable, Access] = {}
    for key in reads.values():
        value, positions = key
        if value < first:
            accesses[key] = linear(positions, strides[value], space)
        else:
            accesses[key] = linear(positions, (1,), space)
    loads = [accesses[key] for key in reads.values() if key[0] < first]
    order = memory_order(space, loads)
    layouts, written = written_in(region, space, places, order)
    if order and not space.reduced:
        # a reshape says where its elements are: better to read across the rows of operands than to write so
        across = [access for access in written.values() if abs(access.steps[order[-1]]) > _PARTS]
        if across:
            order = memory_order(space, across)
            layouts, written = written_in(region, space, places, order)
    accesses |= written
    for value, target in zip(region.outputs, into, strict=False):
        access = linear(space.maps[value], target.steps, space)
        accesses["out", value] = replace(access, start=access.start + target.start)
    ordered = (in_order or numbered) and any(
        is_ordered(op.op, region.dtype_of(op.inputs[0]))
        for op in region.ops
        if op.op.kind is Kind.REDUCE
    )
    nest = arrange(
        space, accesses, order, _pieces(region, space), ordered=ordered, numbered=numbered
    )
    arrays = {value: array for value, (array, _) in zip(region.outputs, places, strict=True)}
    return Layout(nest, reads, _lines(region, strides), arrays, tuple(layouts.values()))


def reads_of(region: Region, space: Space) -> dict[tuple[int, int], tuple[int, Map]]:
    """Return, for each operand that is an input and each generator, what it reads: equal ones are one access."""
    first = len(region.inputs)
    reads: dict[tuple[int, int], tuple[int, Map]] = {}
    for index, op in enumerate(region.ops):
        value = first + index
        for number, source in enumerate(op.inputs):
            if source < first and region.inputs[source][0] != ():
                reads[value, number] = (source, space.maps[value, number])
        if op.op.kind is Kind.SOURCE and op.shape != ():
            reads[value, -1] = (value, _counted(op, space.maps[value]))
    return reads


def _counted(op: RegionOp, positions: Map) -> Map:
    """Return where the elements of a generator are in what it counts, of which a range may show a part."""
    if op.op is not ARANGE:
        return positions
    *_, first, stride = op.attrs
    return tuple([place.stepped(first, stride) for place in positions])


def written_in(
    region: Region, space: Space, places: Sequence[tuple[int, int | None]], order: Sequence[int]
) -> tuple[dict[int, tuple[int, ...]], dict[Hashable, Access]]:
    """Return the layouts of arrays that are made in loops of this order, and where outputs go in them."""
    layouts: dict[int, tuple[int, ...]] = {}
    accesses: dict[Hashable, Access] = {}
    for value, (array, part) in zip(region.outputs, places, strict=True):
        positions = space.maps[value]
        layouts[array] = layout = _axes_in_memory(positions, order)
        steps = strides_of(region.shape_of(value), layout)
        if part is None:
            accesses["out", value] = linear(positions, steps, space)
        else:
            access = linear(positions, [_PARTS * step for step in steps], space)
            accesses["out", value] = replace(access, start=part)
    return layouts, accesses


def _axes_in_memory(positions: Map, order: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of an output, outermost first, as the loops run."""
    place = {axis: number for number, axis in enumerate(order)}
    return tuple(
        sorted(
            range(len(positions)),
            key=lambda axis: (
                min((place[loop] for loop, _ in positions[axis].terms), default=-1),
                axis,
            ),
        )
    )


def _pieces(region: Region, space: Space) -> dict[Hashable, Access]:
    """Return where on each axis that pieces divide the loops are."""
    first = len(region.inputs)
    pieces: dict[Hashable, Access] = {}
    for value, op in enumerate(region.ops, start=first):
        if op.op in PIECED:
            shapes = [region.shape_of(source) for source in op.inputs]
            for axis in cut_axes(op.op, op.attrs, shapes):
                pieces[value, axis] = linear((space.maps[value][axis],), (1,), space)
    return pieces


def _lines(region: Region, strides: Sequence[Strides]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each gather, length and step of the axes on which it selects."""
    return {
        value: [
            (region.shape_of(op.inputs[0])[axis], strides[op.inputs[0]][axis])
            for axis in selected_axes(op.op, op.attrs)
        ]
        for value, op in enumerate(region.ops, start=len(region.inputs))
        if op.op in GATHERS
    }


def output_buffers(region: Region, layout: Layout) -> dict[int, Buffer]:
    """Return the buffer that each output goes to."""
    return {
        value: Buffer(f"y{array}", region.dtype_of(value), Role.OUTPUT)
        for value, array in layout.arrays.items()
    }
