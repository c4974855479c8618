"""Gathers and scatters: elements selected, replaced or combined with others by positions."""

from __future__ import annotations

from tensorframe.dtypes import ANY, BOOL, NUMERIC, REAL, DType
from tensorframe.errors import IndexingError, ShapeError
from tensorframe.graph.op import Combination, Kind, Op, register, same
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.ops.derivatives import Rule
from tensorframe.ops.reduction import MAX, MIN, PROD, SUM
from tensorframe.ops.rules.indexing import (
    of_gather,
    of_scatter,
    of_scatter_add,
    of_scatter_extremum,
    of_scatter_prod,
    of_take_along_axis,
)
from tensorframe.ops.rules.movement import of_set_slice


def selected_shape(
    shape: Shape, index_shapes: tuple[Shape, ...], axes: tuple[int, ...], position: int
) -> Shape:
    """Return the shape of a gather: the axes that are not indexed, with those of the indices before the `position`-th."""
    if len(axes) == 1:  # as of most
        (axis,) = axes
        kept = shape[:axis] + shape[axis + 1 :]
        return kept[:position] + index_shapes[0] + kept[position:]
    try:
        indexed = broadcast("gather", *index_shapes)
    except ShapeError as error:
        listed = " and ".join(map(str, index_shapes))
        hint = "x[i[:, None], j] selects rows i and columns j"
        raise IndexingError(f"index tensors of shapes {listed} do not broadcast", suggestions=(hint,)) from error
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return kept[:position] + indexed + kept[position:]


def _gathered(shapes: tuple[Shape, ...], axes: tuple[int, ...], position: int) -> Shape:
    return selected_shape(shapes[0], shapes[1:], axes, position)


def _replaced(shapes: tuple[Shape, ...], axes: tuple[int, ...], position: int) -> Shape:
    wanted = selected_shape(shapes[0], shapes[2:], axes, position)
    if shapes[1] != wanted:
        raise ShapeError(f"scatter: values of shape {shapes[1]} do not fit a selection of shape {wanted}")
    return shapes[0]


def _set(shapes: tuple[Shape, ...], _starts: Shape, sizes: Shape, _steps: Shape) -> Shape:
    if shapes[1] != sizes:
        raise ShapeError(f"set_slice: values of shape {shapes[1]} do not fit a selection of shape {sizes}")
    return shapes[0]


def _along(shapes: tuple[Shape, ...], axis: int) -> Shape:
    shape, indices = shapes
    size = indices[axis]
    return broadcast("take_along_axis", shape[:axis] + (size,) + shape[axis + 1 :], indices)


# Operands: the tensor, then one index tensor for each of `axes`; `position` counts the kept axes before the indices' own.
GATHER = register(
    Op("gather", Kind.GATHER, None, ANY, same, "Elements at the positions that index tensors give for some axes.", shape=_gathered, attributes=("axes", "at"), cost=0.0, vjp=of_gather)
)
TAKE_ALONG_AXIS = register(
    Op("take_along_axis", Kind.GATHER, 2, ANY, same, "One element for each index, from the line along the axis that the index lies on.", shape=_along, attributes=("axis",), cost=0.0, vjp=of_take_along_axis)
)
# Operands: the tensor, the values (of the selection's shape), then as for gather.
SCATTER = register(
    Op("scatter", Kind.SCATTER, None, ANY, same, "The tensor with the elements at given positions replaced; of repeated positions, one value stays.", shape=_replaced, attributes=("axes", "at"), cost=0.0, vjp=of_scatter)
)
SET_SLICE = register(
    Op("set_slice", Kind.SCATTER, 2, ANY, same, "The tensor with the elements of a slice replaced.", shape=_set, attributes=("starts", "sizes", "steps"), cost=0.0, vjp=of_set_slice)
)


def _combining(name: str, how: Combination | None, accepts: frozenset[DType], doc: str, vjp: Rule) -> Op:
    """Define a row that combines values with the elements at given positions, as a reduction combines its elements."""
    return register(
        Op(
            name,
            Kind.SCATTER,
            None,
            accepts,
            same,
            doc,
            shape=_replaced,
            attributes=("axes", "at"),
            combination=how,
            costly=True,
            vjp=vjp,
        )
    )


# Operands as for scatter. Values for one position are combined with its element one after the other, in C order of the
# indices, as `np.add.at` does; sums and products of floats have their reduction's wide accumulator, rounded at the end.
SCATTER_ADD = _combining("scatter_add", SUM.combination, NUMERIC, "The tensor with values added to the elements at given positions; repeated positions add up.", of_scatter_add)
SCATTER_PROD = _combining("scatter_prod", PROD.combination, NUMERIC, "The tensor with the elements at given positions multiplied by values, one after the other.", of_scatter_prod)
SCATTER_MAX = _combining("scatter_max", MAX.combination, BOOL | REAL, "The tensor with the elements at given positions replaced by larger values; NaN if any is NaN.", of_scatter_extremum("scatter_max"))
SCATTER_MIN = _combining("scatter_min", MIN.combination, BOOL | REAL, "The tensor with the elements at given positions replaced by smaller values; NaN if any is NaN.", of_scatter_extremum("scatter_min"))
