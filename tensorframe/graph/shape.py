"""Shapes: broadcasting, axes and sizes, with the errors that name what does not fit."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from tensorframe.errors import AxisError, DTypeError, ShapeError, TracingError

Shape = tuple[int, ...]
_INT = {int}

# NumPy's limit (NPY_MAXDIMS), which host memory and the standard's DLPack consumers share
MAX_NDIM = 64
# elements of 16 bytes, the widest dtype, that a signed 64-bit number of bytes can count
MAX_SIZE = 2**59 - 1


def check_size(op: str, shape: Shape) -> Shape:
    """Return the shape of a result; ShapeError if it has more dimensions or elements than any device can address."""
    if len(shape) > MAX_NDIM:
        raise ShapeError(
            f"{op}: the result would have {len(shape)} dimensions; {MAX_NDIM} is the most",
            suggestions=("reshape, so that neighbouring axes become one",),
        )
    if math.prod(shape) > MAX_SIZE or (0 in shape and max(shape) > MAX_SIZE):
        raise ShapeError(
            f"{op}: the result would have shape {shape}, which is more elements than 64-bit addresses reach",
            suggestions=(
                "check the sizes: a product of shapes, or a broadcast, may be meant otherwise",
            ),
        )
    return shape


def strides_of(shape: Shape, layout: Sequence[int] | None = None) -> tuple[int, ...]:
    """Return the strides, in elements, of new memory whose axes have this order, or C order: the outermost first."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(range(len(shape)) if layout is None else layout):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def broadcast_strides(shape: Shape, strides: Sequence[int], to: Shape) -> tuple[int, ...]:
    """Return the strides, in any unit, of an array of this shape where it is broadcast to another."""
    own = [0 if size == 1 else step for size, step in zip(shape, strides, strict=True)]
    return (*[0] * (len(to) - len(own)), *own)


def broadcast(op: str, first: Shape, *others: Shape) -> Shape:
    """Return the shape that shapes broadcast to; ShapeError names the first axis that does not fit."""
    result = first
    for shape in others:
        both = _of_both(result, shape)
        if both is None:
            raise _broadcast_error(op, (first, *others))
        result = both
    if result is first:
        return result
    return result if result in others else check_size(op, result)


def _of_both(left: Shape, right: Shape) -> Shape | None:
    """Return the shape that two broadcast to, the longer one itself where it is that; None if they do not fit."""
    if len(left) < len(right):
        left, right = right, left
    begin = len(left) - len(right)
    if left[begin:] == right:  # as of rows, and of numbers
        return left
    result = left
    for axis, size in enumerate(right, begin):
        if size not in (1, left[axis]):
            if left[axis] != 1:
                return None
            result = (*result[:axis], size, *result[axis + 1 :])
    return result


def _broadcast_error(op: str, shapes: Sequence[Shape]) -> ShapeError:
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    axis, sizes = next(
        (axis - ndim, sizes)
        for axis, sizes in enumerate(zip(*padded, strict=True))
        if len(set(sizes) - {1}) > 1
    )
    listed = " and ".join(map(str, shapes))
    clash = " and ".join(map(str, sizes))
    message = f"{op}: shapes {listed} do not broadcast: axis {axis} has {clash}."
    return ShapeError(message, suggestions=_reshape_hint(shapes))


def _reshape_hint(shapes: Sequence[Shape]) -> list[str]:
    """Suggest the reshape that lines a 1-d operand up with an axis of the same length in the other."""
    by_rank = sorted(shapes, key=len)
    small, large = by_rank[0], by_rank[-1]
    if len(small) == 1 and small[0] in large[:-1]:
        after = len(large) - 1 - large.index(small[0])
        return [
            f"reshape the operand of shape {small} to {small + (1,) * after} if that is its axis"
        ]
    return ["reshape or transpose one operand so that each axis has equal sizes or a size of 1"]


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """Return `axis` counted from the front; AxisError if it is outside -ndim to ndim - 1."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    try:
        index = operator.index(axis)
    except TracingError:
        raise
    except TypeError as error:
        raise DTypeError(f"{op}: axis must be an integer, got {axis!r}") from error
    if not -ndim <= index < ndim:
        raise AxisError(
            f"{op}: axis {index} is out of bounds for a tensor of {ndim} dimensions",
            axis=index,
            ndim=ndim,
            suggestions=(f"an axis from {-ndim} to {ndim - 1}",) if ndim else (),
        )
    return index + ndim if index < 0 else index


def normalize_axes(op: str, axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Return sorted axes counted from the front; None means all; AxisError if one is named twice."""
    if type(axis) is int:
        return (normalize_axis(op, axis, ndim),)
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(axes_in_order(op, axis, ndim)))


def reduced_axes(op: str, axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Return sorted axes to reduce along, counted from the front: see `normalize_axes`.

    0-d operands have the axes 0 and -1, as in NumPy: there is nothing to reduce.
    """
    if not ndim and type(axis) is int and -1 <= axis <= 0:
        return ()
    return normalize_axes(op, axis, ndim)


def axes_in_order(op: str, axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front, in the order in which they are named: see `normalize_axes`."""
    if axis is None:
        return tuple(range(ndim))
    named = one_or_several(axis)
    axes = tuple(normalize_axis(op, axis, ndim) for axis in named)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{op}: axis {named} names an axis twice")
    return axes


def one_or_several(value: Any) -> tuple[Any, ...]:
    """Return the items of a sequence, or what is none by itself: a 0-d array is a number."""
    if type(value) is int:
        return (value,)
    if type(value) is tuple:
        return value
    if isinstance(value, Iterable) and getattr(value, "shape", None) != ():
        return tuple(value)
    return (value,)


def _integers(shape: Any) -> Shape:
    if type(shape) is tuple and set(map(type, shape)) <= _INT:  # nearly always
        return shape
    try:
        return tuple([operator.index(size) for size in one_or_several(shape)])
    except TracingError:
        raise
    except TypeError as error:
        raise DTypeError(f"a shape is made of integers, got {shape!r}") from error


def as_shape(shape: int | Iterable[int]) -> Shape:
    """Return `shape` as a tuple of non-negative Python integers."""
    result = _integers(shape)
    if any(size < 0 for size in result):
        raise ShapeError(f"a shape has no negative sizes, got {result}")
    return result


def resolve_reshape(size: int, current: Shape, target: int | Iterable[int]) -> Shape:
    """Return `target` with its one -1 worked out; ShapeError if it does not hold `size` elements."""
    wanted = _integers(target)
    unknown = wanted.count(-1)
    known = math.prod(wanted) * (-1) ** unknown
    if unknown == 1 and known > 0 and size % known == 0 and min(wanted) == -1:
        return tuple([size // known if length == -1 else length for length in wanted])
    if unknown == 0 and known == size and min(wanted, default=0) >= 0:
        return wanted
    message = f"reshape: a tensor of shape {current} ({size} elements) does not fit shape {wanted}"
    hint = "one -1 at most, and sizes whose product divides the number of elements"
    raise ShapeError(message, suggestions=(hint,))


def reduced(shape: Shape, axes: tuple[int, ...], *, keepdims: bool) -> Shape:
    """Return `shape` without `axes`, or with them as 1 if `keepdims`."""
    if keepdims:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])
