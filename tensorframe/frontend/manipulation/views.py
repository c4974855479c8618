"""Views: the same elements under other shapes, axes and orders, recorded as views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tensorframe.errors import AxisError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call, handle_on, recorded
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.indexing.few_elements import with_new_axes
from tensorframe.frontend.operands import (
    expanded,
    flattened,
    operand,
    permuted,
    rearranged,
    reshaped,
    with_axes,
)
from tensorframe.frontend.parameters import choice, integer, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import (
    Shape,
    as_shape,
    axes_in_order,
    broadcast,
    normalize_axes,
    normalize_axis,
    one_or_several,
    resolve_reshape,
)
from tensorframe.ops.movement import CONCAT, SLICE

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]

Axes = int | Iterable[int]


def sliced(x: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Tensor:
    """Return every step-th element from the starts on, `sizes` of them along the axes."""
    shape = tuple(sizes)
    if shape == x.node.shape and steps.count(1) == len(steps):
        return x
    return rearranged(SLICE, x, shape, tuple(starts), shape, tuple(steps))


def part_of(x: Tensor, axis: int, start: int, size: int, step: int = 1) -> Tensor:
    """Return `size` elements along one axis, whole along the others."""
    starts = [0] * x.ndim
    sizes = list(x.shape)
    steps = [1] * x.ndim
    starts[axis], sizes[axis], steps[axis] = start, size, step
    return sliced(x, starts, sizes, steps)


def joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """Return parts of one dtype, joined along an axis counted from the front."""
    return parts[0] if len(parts) == 1 else call(CONCAT, *parts, attrs=(axis,))


@memoized
def reshape(x: ArrayLike, /, shape: Axes, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """Return the elements of `x`, in row-major order, under another shape; one size may be -1, meaning the rest.

    ShapeError if the sizes do not fit. `copy` is the standard's: the result is a value of its own either way, and costs
    nothing. With `order="F"` elements are taken and laid in column-major order.

    >>> tfr.reshape(tfr.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    del copy
    tensor = operand(x)
    target = resolve_reshape(tensor.size, tensor.shape, shape)
    if choice("reshape", "order", order, ("C", "F", "A")) == "F":
        return transpose(reshaped(transpose(tensor), target[::-1]))
    return reshaped(tensor, target)


def ravel(a: ArrayLike, order: str = "C") -> Tensor:
    """Return all elements of `a` along one axis.

    Elements are taken in C order, or in that of Fortran with `order="F"`; `reshape(a, -1)` is the
    same.

    >>> tfr.ravel(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """
    if type(a) is Tensor and order in ("C", "K"):
        return flattened(operand(a))
    return reshape(a, (-1,), "C" if order == "K" else order)


@memoized
def permute_dims(a: ArrayLike, axes: Iterable[int] | None = None) -> Tensor:
    """Return `a` with its axes in another order: axis i of the result is axis `axes[i]` of `a`.

    None reverses them. AxisError unless `axes` names each axis once; negative ones count from the back.

    >>> tfr.permute_dims(tfr.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    tensor = operand(a)
    if axes is None:
        return permuted(tensor, range(tensor.ndim)[::-1])
    named = integers("permute_dims", "axes", axes)
    order = [normalize_axis("permute_dims", axis, tensor.ndim) for axis in named]
    if sorted(order) != list(range(tensor.ndim)):
        raise AxisError(f"permute_dims: axes {named} do not name each of {tensor.ndim} axes once")
    return permuted(tensor, order)


@memoized
def transpose(a: ArrayLike, axes: Iterable[int] | None = None) -> Tensor:
    """Return `a` with its axes reversed, or in the order of `axes` as in `permute_dims`.

    >>> tfr.transpose(tfr.zeros((2, 3, 4))).shape
    (4, 3, 2)
    """
    tensor = operand(a)
    if axes is None:
        return permuted(tensor, range(len(tensor.node.shape))[::-1])
    return permute_dims(tensor, axes)


@memoized
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Tensor:
    """Return `a` with two axes exchanged.

    A view of the same values with another shape: nothing is copied. Negative axes count from the
    last.

    >>> tfr.swapaxes(tfr.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    tensor = operand(a)
    order = list(range(tensor.ndim))
    first = normalize_axis("swapaxes", axis1, tensor.ndim)
    second = normalize_axis("swapaxes", axis2, tensor.ndim)
    order[first], order[second] = second, first
    return permuted(tensor, order)


@memoized
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Tensor:
    """Return `a` with the axes `source` moved to the positions `destination`; the others keep their order.

    >>> tfr.moveaxis(tfr.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    tensor = operand(a)
    origins = _named_axes("moveaxis", source, tensor.ndim)
    targets = _named_axes("moveaxis", destination, tensor.ndim)
    if len(origins) != len(targets):
        raise ShapeError(f"moveaxis: {len(origins)} axes do not go to {len(targets)} positions")
    order = [axis for axis in range(tensor.ndim) if axis not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return permuted(tensor, order)


def _named_axes(name: str, axis: Axes, ndim: int) -> list[int]:
    """Return axes counted from the front, in the order in which they are named."""
    return list(axes_in_order(name, one_or_several(axis), ndim))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Tensor:
    """Return `a` with `axis` moved back until it stands before the axis `start`; `moveaxis` says the same plainer.

    >>> tfr.rollaxis(tfr.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    tensor = operand(a)
    origin = normalize_axis("rollaxis", axis, tensor.ndim)
    # `start` may also be the position after the last axis
    target = tensor.ndim if start == tensor.ndim else normalize_axis("rollaxis", start, tensor.ndim)
    return moveaxis(tensor, origin, target - 1 if origin < target else target)


@memoized
def expand_dims(a: ArrayLike, axis: Axes = 0) -> Tensor:
    """Return `a` with axes of size one, which stand at the positions `axis` of the result.

    >>> tfr.expand_dims(tfr.zeros((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    tensor = operand(a)
    count = len(one_or_several(axis))
    new = normalize_axes("expand_dims", axis, tensor.ndim + count)
    sizes = iter(tensor.shape)
    shape = tuple(1 if index in new else next(sizes) for index in range(tensor.ndim + count))
    return reshaped(tensor, shape)


def squeeze(a: ArrayLike, axis: Axes | None = None) -> Tensor:
    """Return `a` without the axes `axis` (all that can go if None); ShapeError if one has a size other than 1.

    >>> tfr.squeeze(tfr.zeros((1, 3, 1)), 0).shape
    (3, 1)
    """
    tensor = operand(a)
    if axis is None:
        shape = tensor.node.shape
        if 1 not in shape:
            return handle_on(tensor.node)
        return reshaped(tensor, tuple([size for size in shape if size != 1]))
    gone = normalize_axes("squeeze", axis, tensor.ndim)
    for dropped in gone:
        if tensor.shape[dropped] != 1:
            message = f"squeeze: axis {dropped} of shape {tensor.shape} has size {tensor.shape[dropped]}, not 1"
            raise ShapeError(message, suggestions=("axis=None drops every axis of size 1",))
    return reshaped(
        tensor, tuple(size for index, size in enumerate(tensor.shape) if index not in gone)
    )


def broadcast_to(array: ArrayLike, shape: Axes, subok: bool = False) -> Tensor:
    """Return `array` repeated along new axes and those of size 1 to fill `shape`; ShapeError if it cannot.

    >>> tfr.broadcast_to(tfr.asarray([1, 2]), (3, 2)).tolist()
    [[1, 2], [1, 2], [1, 2]]
    """
    del subok  # NumPy's; tensors have no subclasses
    tensor = operand(array)
    target = as_shape(shape)
    if broadcast("broadcast_to", tensor.shape, target) != target:
        raise ShapeError(f"broadcast_to: shape {tensor.shape} does not broadcast to {target}")
    return expanded(tensor, target)


def broadcast_shapes(*shapes: Axes) -> Shape:
    """Return the shape that tensors of these shapes broadcast to; ShapeError if they do not.

    >>> tfr.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return broadcast("broadcast_shapes", *map(as_shape, shapes)) if shapes else ()


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Tensor, ...]:
    """Return the tensors broadcast against each other, each in its own dtype.

    >>> [x.shape for x in tfr.broadcast_arrays(tfr.zeros((3, 1)), tfr.zeros(4))]
    [(3, 4), (3, 4)]
    """
    del subok  # as above
    tensors = [operand(array) for array in args]
    shape = broadcast_shapes(*[tensor.shape for tensor in tensors])
    return tuple(expanded(tensor, shape) for tensor in tensors)


class _Turns(dict[Shape, tuple[Any, ...] | None]):
    """What a slice has for attributes that turns an axis of tensors of some shape; None where nothing is to be turned.

    To look these up takes half of the time that it takes to remember calls.
    """

    def __init__(self, name: str, axis: int) -> None:
        super().__init__()
        self._name, self._axis = name, axis

    def __missing__(self, shape: Shape) -> tuple[Any, ...] | None:
        if len(self) >= _SHAPES:
            self.clear()
        attrs = self[shape] = _turning(shape, normalize_axes(self._name, self._axis, len(shape)))
        return attrs


# Shapes that are remembered at most.
_SHAPES = 1024
_ROWS, _COLUMNS = _Turns("flipud", 0), _Turns("fliplr", 1)


def _turning(shape: Shape, axes: Iterable[int]) -> tuple[Any, ...] | None:
    """Return the attributes of a slice that turns some axes; None if it would change nothing."""
    starts, steps = [0] * len(shape), [1] * len(shape)
    for axis in axes:
        # axes without a second element are the same either way, and may have no last element to start from
        if shape[axis] > 1:
            starts[axis], steps[axis] = shape[axis] - 1, -1
    return (tuple(starts), shape, tuple(steps)) if -1 in steps else None


@memoized
def flip(m: ArrayLike, axis: Axes | None = None) -> Tensor:
    """Return `m` with its elements in reverse order along `axis` (all axes if None).

    >>> tfr.flip(tfr.asarray([1, 2, 3])).tolist()
    [3, 2, 1]
    >>> tfr.flip(tfr.asarray([[1, 2, 3], [4, 5, 6]]), axis=0).tolist()
    [[4, 5, 6], [1, 2, 3]]
    """
    tensor = operand(m)
    shape = tensor.node.shape
    attrs = _turning(shape, normalize_axes("flip", axis, len(shape)))
    return tensor if attrs is None else rearranged(SLICE, tensor, shape, *attrs)


def flipud(m: ArrayLike) -> Tensor:
    """Return `m` with its rows (axis 0) in reverse order.

    `flip(m, axis=0)`: columns stay where they are. It needs one axis at least.

    >>> tfr.flipud(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    node = (m if type(m) is Tensor else operand(m)).node
    shape = node.shape
    attrs = _ROWS[shape]
    if attrs is None:
        return handle_on(node)
    return recorded(SLICE, (node,), attrs, shape, node.dtype, node.device)


def fliplr(m: ArrayLike) -> Tensor:
    """Return `m` with its columns (axis 1) in reverse order.

    `flip(m, axis=1)`: rows stay where they are. It needs two axes at least.

    >>> tfr.fliplr(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    node = (m if type(m) is Tensor else operand(m)).node
    shape = node.shape
    attrs = _COLUMNS[shape]
    if attrs is None:
        return handle_on(node)
    return recorded(SLICE, (node,), attrs, shape, node.dtype, node.device)


@memoized
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Return `m` turned by `k` quarter turns in the plane of `axes`, from the first towards the second.

    >>> tfr.rot90(tfr.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    tensor = operand(m)
    named = _named_axes("rot90", axes, tensor.ndim)
    if len(named) != 2:
        raise AxisError(f"rot90: a plane has two axes, got {axes}")
    first, second = named
    turns = integer("rot90", "k", k) % 4
    if turns == 2:
        return flip(tensor, axis=(first, second))
    if turns == 1:
        return swapaxes(flip(tensor, axis=second), first, second)
    return flip(swapaxes(tensor, first, second), axis=second) if turns else tensor


@memoized
def roll(a: ArrayLike, shift: Axes, axis: Axes | None = None) -> Tensor:
    """Return `a` with elements moved by `shift` places along `axis`; those that leave at one end enter at the other.

    Without `axis` the elements move in row-major order. Several axes take one shift each, or share one; an axis named
    twice moves twice.

    >>> tfr.roll(tfr.asarray([1, 2, 3, 4]), 1).tolist()
    [4, 1, 2, 3]
    >>> tfr.roll(tfr.asarray([[1, 2, 3], [4, 5, 6]]), (1, -1), axis=(0, 1)).tolist()
    [[5, 6, 4], [2, 3, 1]]
    """
    tensor = operand(a)
    shifts = integers("roll", "shift", shift)
    if axis is None:
        distance = sum(shifts)
        if tensor.ndim == 1:
            return _rolled(tensor, distance, 0)
        return reshaped(_rolled(ravel(tensor), distance, 0), tensor.shape)
    axes = integers("roll", "axis", axis)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"roll: {len(shifts)} shifts do not fit {len(axes)} axes")
    for shifted_axis, distance in zip(axes, shifts, strict=True):
        tensor = _rolled(tensor, distance, normalize_axis("roll", shifted_axis, tensor.ndim))
    return tensor


def _rolled(tensor: Tensor, shift: int, axis: int) -> Tensor:
    size = tensor.shape[axis]
    distance = shift % size if size else 0
    if distance == 0:
        return tensor
    last = part_of(tensor, axis, size - distance, distance)
    return joined([last, part_of(tensor, axis, 0, size - distance)], axis)


def atleast_1d(*arrays: ArrayLike) -> Tensor | tuple[Tensor, ...]:
    """Return each tensor with one axis at least.

    Scalars become vectors of one element; everything else is returned as it is. One argument gives
    one tensor, several give a tuple.

    >>> tfr.atleast_1d(tfr.asarray(3)).shape
    (1,)
    """
    if len(arrays) == 1 and type(arrays[0]) is Tensor and arrays[0].node.shape:
        return handle_on(arrays[0].node)  # as most are
    return _each([with_axes(operand(array), 1) for array in arrays])


def atleast_2d(*arrays: ArrayLike) -> Tensor | tuple[Tensor, ...]:
    """Return each tensor with two axes at least; a vector becomes a row.

    >>> tfr.atleast_2d(tfr.zeros(3)).shape
    (1, 3)
    """
    return _each([_matrix(array) for array in arrays])


def atleast_3d(*arrays: ArrayLike) -> Tensor | tuple[Tensor, ...]:
    """Return each tensor with three axes at least; a vector of N becomes (1, N, 1), a matrix (M, N, 1).

    >>> tfr.atleast_3d(tfr.zeros(3)).shape
    (1, 3, 1)
    """
    return _each([_stack(array) for array in arrays])


# What gives arrays of no axis, of one, of two as many as a matrix or a stack of columns has.
_ALL = slice(None)
_MATRIX = ((None, None), (None, _ALL))
_STACK = ((None, None, None), (None, _ALL, None), (_ALL, _ALL, None))


def _matrix(array: ArrayLike) -> Tensor:
    matrix = with_new_axes(array, _MATRIX)
    return with_axes(operand(array), 2) if matrix is None else matrix


def _stack(array: ArrayLike) -> Tensor:
    stack = with_new_axes(array, _STACK)
    if stack is not None:
        return stack
    matrix = with_axes(operand(array), 2)
    return expand_dims(matrix, axis=-1) if matrix.ndim == 2 else matrix


def _each(tensors: list[Tensor]) -> Tensor | tuple[Tensor, ...]:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)
