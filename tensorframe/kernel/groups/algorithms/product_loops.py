"""Loops over the elements of a product: rows, columns and what they are stacked along, merged where all agree.

The region that is computed has the product as an input which is in no memory: at position 0, or 1 for its imaginary
part, wherever the loops are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Protocol

from tensorframe.dtypes import BOOL, COMPLEX, DType, int32, real_of, uint32, wide_of
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import Map, Space
from tensorframe.kernel import ir
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Layout, Strides, reads_of, written_in
from tensorframe.kernel.nest.nest import Nest, arrange, linear
from tensorframe.quick_dataclasses import dataclass

LEFT, RIGHT = "left", "right"
# accesses that are never read: they mark which loops run along the columns, the rows and the parts, and keep them apart
COLUMNS = "columns"
_MARKS = (COLUMNS, "rows", "part")


class Gather(Protocol):
    """Where a factor's elements are, if not at steps along its axes."""

    def place(
        self, body: Body, inner: ir.Expr, outer: ir.Expr, /
    ) -> tuple[ir.Expr, ir.Expr | None]:
        """Return the position of an element by its place on the inner and the outer axis, and whether it is there."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product: the region's input that it is, its steps along the product's axes and the inner one.

    Steps are in real elements, of which a complex number has two. `gather` says where elements are that no steps reach;
    then `steps` lead to what each part of the stack begins with, and `inner` is the smallest step inside.
    """

    source: int
    steps: Strides
    inner: int
    gather: Gather | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """A product of stacks of matrices: its shape is stack, rows, columns, and `length` elements are summed for each.

    `value` is the input of the region that it stands for. With `chunk` the first axis of the stack counts parts of the
    inner axis, of so many elements each.
    """

    value: int
    shape: Shape
    dtype: DType
    length: int
    left: Factor
    right: Factor
    chunk: int = 0

    @property
    def parts(self) -> int:
        """How many real numbers an element is."""
        return 2 if self.dtype in COMPLEX else 1

    @property
    def total(self) -> DType:
        """The dtype in which sums are accumulated."""
        dtype = wide_of(real_of(self.dtype))
        if dtype in BOOL:
            return uint32
        if dtype.kind in "iu" and dtype.itemsize < 4:  # which wraps as the small one does
            return int32 if dtype.kind == "i" else uint32
        return dtype


def lay_out_product(
    region: Region,
    space: Space,
    strides: Sequence[Strides],
    places: Sequence[tuple[int, int | None]],
    product: Product,
) -> Layout:
    """Return the loops over a product's elements; the product itself is at position 0, or 1 for its imaginary part."""
    reads = reads_of(region, space)
    first, depth = len(region.inputs), len(product.shape)
    positions = next(key for source, key in reads.values() if source == product.value)[:depth]
    strides = list(strides)
    strides[product.value] = (0,) * depth + (1,) * (product.parts - 1)
    order = _order(positions, space)
    layouts, accesses = written_in(region, space, places, order)
    for key in reads.values():
        source, value = key
        accesses[key] = linear(value, strides[source] if source < first else (1,), space)
    *_, columns = product.shape
    steps = [columns and prod(product.shape[axis + 1 :]) // columns for axis in range(depth)]
    last = (0,) * (depth - 1)
    for name, along in (
        (LEFT, product.left.steps),
        (RIGHT, product.right.steps),
        (COLUMNS, (*last, 1)),
        ("rows", (*steps[:-1], 0)),
        ("part", (1 if product.chunk else 0, *last)),
    ):
        accesses[name] = linear(positions, along, space)
    nest = arrange(space, accesses, order, {})
    arrays = {value: array for value, (array, _) in zip(region.outputs, places, strict=True)}
    return Layout(nest, reads, {}, arrays, tuple(layouts.values()))


def _order(positions: Map, space: Space) -> tuple[int, ...]:
    """Return the axes of the result, or those of the product where only they end with its columns."""
    own = [position.on_axis() for position in positions]
    mine = [axis for axis in own if axis is not None]
    wanted = tuple(range(len(space.sizes)))
    complete = sorted(mine) == list(wanted)  # no axis of the product is several of the result
    return tuple(mine) if complete and mine[-1:] != list(wanted[-1:]) else wanted


def loops_of(nest: Nest) -> tuple[int | None, int | None, int | None]:
    """Return the loops along rows, columns and parts of the inner axis, None for those that have no loop."""
    columns, rows, parts = [nest.accesses[key].steps for key in _MARKS]
    right = nest.accesses[RIGHT].steps
    # along a stack that the right factor does not know, rows are rows of one matrix
    candidates = [
        loop for loop, step in enumerate(rows) if step == 1 and not right[loop] and not parts[loop]
    ]
    return (
        candidates[0] if candidates else None,
        next((loop for loop, step in enumerate(columns) if step), None),
        next((loop for loop, step in enumerate(parts) if step), None),
    )
