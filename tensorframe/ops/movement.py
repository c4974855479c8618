"""Views and other movements: the same elements at other positions."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import ANY, DType
from tensorframe.errors import ShapeError
from tensorframe.graph.op import NONE, DTypeRule, Kind, Op, ShapeRule, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.derivatives import ForPart
from tensorframe.ops.rules.contraction import of_permuted
from tensorframe.ops.rules.movement import of_concat, of_pad, of_slice, of_windows


def view(name: str, shape: ShapeRule, doc: str, *attributes: str, **facts: Any) -> Op:
    """Define a row that moves elements of one tensor."""
    facts.setdefault("cost", 0.0)
    facts.setdefault("arity", 1)
    return register(
        Op(name, Kind.VIEW, facts.pop("arity"), ANY, same, doc, shape=shape, attributes=attributes, **facts)
    )


def _said(_shapes: tuple[Shape, ...], shape: Shape, *_: Any) -> Shape:
    return shape


def _permuted(shapes: tuple[Shape, ...], axes: tuple[int, ...]) -> Shape:
    return tuple(shapes[0][axis] for axis in axes)


def _sliced(_shapes: tuple[Shape, ...], _starts: Shape, sizes: Shape, _steps: Shape) -> Shape:
    return sizes


def _padded(shapes: tuple[Shape, ...], before: Shape, after: Shape, _value: complex) -> Shape:
    return tuple(b + size + a for b, size, a in zip(before, shapes[0], after, strict=True))


def _windowed(shapes: tuple[Shape, ...], axis: int, size: int, step: int, dilation: int) -> Shape:
    shape = shapes[0]
    count = (shape[axis] - (size - 1) * dilation - 1) // step + 1
    if count < 1:
        raise ShapeError(f"windows: {size} elements, {dilation} apart, do not fit axis {axis} of shape {shape}")
    return (*shape[:axis], count, *shape[axis + 1 :], size)


def _concatenated(shapes: tuple[Shape, ...], axis: int) -> Shape:
    first = shapes[0]
    ndim, before, after = len(first), first[:axis], first[axis + 1 :]
    size = 0
    for shape in shapes:
        if len(shape) != ndim or shape[:axis] != before or shape[axis + 1 :] != after:
            listed = " and ".join(map(str, shapes))
            raise ShapeError(f"concat: shapes {listed} differ outside axis {axis}")
        size += shape[axis]
    return (*before, size, *after)



# The same tensor under another name, which every plan writes as the tensor itself: an argument of a function that is
# differentiated or mapped is a fresh alias, so that it is distinguished from the same tensor beside it.
ALIAS = view("alias", lambda shapes: shapes[0], "The same elements.", expand=lambda x: x, alias=True, vjp=lambda ct, _out, _x: (ct,))
# what gradients do not pass
STOP_GRADIENT = view("stop_gradient", lambda shapes: shapes[0], "The same elements, without a gradient.", expand=lambda x: x, alias=True, vjp=NONE)
# What is computed of the result is computed after the other operands, and is not what is computed of the tensor itself: equal
# nodes are one, so without it what is to be computed again would be what there was.
DEPENDS = view("depends", lambda shapes, *_: shapes[0], "The same elements, once other tensors have been computed.", arity=None, alias=True, barrier=True, vjp=lambda ct, _out, _x, *others: (ct, *[None] * len(others)))
RESHAPE = view("reshape", _said, "The elements, in C order, under another shape.", "shape", alias=True, vjp=lambda ct, _out, x, _shape: (ct.reshaped(x.shape),))
PERMUTE = view("permute", _permuted, "Axes in another order.", "axes", alias=True, vjp=of_permuted)
EXPAND = view("expand", _said, "Broadcast to a larger shape.", "shape", alias=True, vjp=lambda ct, _out, _x, _shape: (ct,))
SLICE = view("slice", _sliced, "Every step-th element from a start on, for each axis.", "starts", "sizes", "steps", alias=True, vjp=of_slice)
# Element i of window w is element w * step + i * dilation of the axis: windows may overlap, or leave elements out.
WINDOWS = view("windows", _windowed, "Windows on an axis, each `step` elements further; their `size` elements, `dilation` apart, lie along a new last axis.", "axis", "size", "step", "dilation", alias=True, in_standard=False, vjp=of_windows)
PAD = view("pad", _padded, "Surrounded by a constant value.", "before", "after", "value", vjp=of_pad)
CONCAT = register(
    Op("concat", Kind.VIEW, None, ANY, same, "Joined along an axis.", shape=_concatenated, attributes=("axis",), cost=0.0, vjp=of_concat)
)


def _part_dtype(_dtype: DType, _index: int, _shape: Shape, dtype: DType) -> DType:
    return dtype


def _part_shape(_shapes: tuple[Shape, ...], _index: int, shape: Shape, _dtype: DType) -> Shape:
    return shape


# the parts of a library call that gives several tensors (svd, qr, topk ...)
_rule: DTypeRule = _part_dtype
PART = register(
    Op("part", Kind.VIEW, 1, ANY, _rule, "One of the tensors that a library call gives.", shape=_part_shape, attributes=("index", "shape", "dtype"), cost=0.0, alias=True, vjp=lambda ct, _out, _whole, index, _shape, _dtype: (ForPart(index, ct),))
)
COPY = register(
    Op("copy", Kind.TRANSFER, 1, ANY, same, "The same values on another device.", shape=lambda shapes: shapes[0], cost=0.0, costly=True, vjp=lambda ct, _out, _x: (ct,))
)
