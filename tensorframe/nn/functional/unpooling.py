"""Unpooling: what max pooling chose, back at its positions, with zeros everywhere else."""

from __future__ import annotations

from math import prod
from typing import Any

from tensorframe import dtypes
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.numpy_names.writing import put_along_axis
from tensorframe.frontend.operands import filled, operand, reshaped
from tensorframe.frontend.parameters import integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.nn.functional.classes import class_index
from tensorframe.nn.functional.operands import need_shape
from tensorframe.nn.functional.pooling import Size, need_images
from tensorframe.nn.functional.windows import for_each_axis

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def max_unpool1d(
    input: ArrayLike,
    indices: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: ShapeLike | None = None,
) -> Tensor:
    """What `max_pool1d` chose, back at its positions on signals of shape (..., channels, positions).

    See `max_unpool2d`.

    >>> F = tfr.nn.functional
    >>> chosen, indices = F.max_pool1d(tfr.asarray([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(chosen, indices, 2).tolist()
    [[0.0, 3.0, 2.0, 0.0]]
    """
    return _max_unpool(
        "max_unpool1d", 1, input, indices, (kernel_size, stride, padding), output_size
    )


def max_unpool2d(
    input: ArrayLike,
    indices: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: ShapeLike | None = None,
) -> Tensor:
    """What `max_pool2d` chose, back at its positions on images (examples, channels, height, width), zeros elsewhere.

    `indices` are what `max_pool2d` gives with `return_indices=True`: the positions of the elements of `input`, which
    has the same shape, in the flattened images. These are as large as the smallest that such windows lie on:
    (n - 1) * stride - 2 * padding + kernel_size along each axis. Any size less than one stride from that is
    taken as `output_size`, with or without the axes of examples and channels. Of elements for one position the last one
    stays, and gets the gradient. Raises IndexingError for a position outside of the image, ShapeError for another size.

    >>> F = tfr.nn.functional
    >>> chosen, indices = F.max_pool2d(tfr.asarray([[[1.0, 5.0], [3.0, 2.0]]]), 2, return_indices=True)
    >>> F.max_unpool2d(chosen, indices, 2).tolist()
    [[[0.0, 5.0], [0.0, 0.0]]]
    """
    return _max_unpool(
        "max_unpool2d", 2, input, indices, (kernel_size, stride, padding), output_size
    )


def max_unpool3d(
    input: ArrayLike,
    indices: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    output_size: ShapeLike | None = None,
) -> Tensor:
    """What `max_pool3d` chose, back at its positions on volumes of shape (..., channels, depth, height, width).

    See `max_unpool2d`.

    >>> tfr.nn.functional.max_unpool3d(tfr.ones((1, 1, 1, 1)), tfr.zeros((1, 1, 1, 1), dtype="int64"), 2).shape
    (1, 2, 2, 2)
    """
    return _max_unpool(
        "max_unpool3d", 3, input, indices, (kernel_size, stride, padding), output_size
    )


def _max_unpool(
    name: str,
    rank: int,
    input: Any,
    indices: Any,
    windows: tuple[Any, Any, Any],
    output_size: Any,
) -> Tensor:
    tensor = operand(input)
    if tensor.dtype not in dtypes.REAL:
        raise DTypeError(f"{name}: takes real dtypes, got {tensor.dtype}")
    need_images(name, tensor, rank)
    places = operand(indices)
    need_shape(name, "indices", places, tensor.shape, f"an input of shape {tensor.shape}")
    lengths = _lengths(name, tensor.shape[-rank:], *windows, output_size)
    _, index = class_index(name, "indices", places, prod(lengths), what="positions")
    front = tensor.shape[:-rank]
    lines = (*front, prod(tensor.shape[-rank:]))
    images = filled((*front, prod(lengths)), 0, tensor.dtype, tensor.device)
    put_along_axis(images, reshaped(index, lines), reshaped(tensor, lines))
    return reshaped(images, (*front, *lengths))


def _lengths(
    name: str, counts: Shape, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Shape:
    """Return the size of the image that so many windows were on: `output_size` if they could have been."""
    rank = len(counts)
    sizes = for_each_axis(name, "kernel_size", kernel_size, rank, 1)
    steps = sizes if stride is None else for_each_axis(name, "stride", stride, rank, 1)
    pads = for_each_axis(name, "padding", padding, rank)
    smallest = tuple(
        [
            (count - 1) * step - 2 * pad + size
            for count, step, pad, size in zip(counts, steps, pads, sizes, strict=True)
        ]
    )
    if output_size is None:
        if min(smallest) < 0:
            raise ShapeError(
                f"{name}: {counts} windows of {sizes} with padding={pads} are on no image"
            )
        return smallest
    wanted = integers(name, "output_size", output_size)
    if not rank <= len(wanted) <= rank + 2:
        raise ArgumentError(
            f"{name}: output_size has one number for each of {rank} axes, or for all of the result, got {len(wanted)}"
        )
    wanted = wanted[-rank:]
    if any(
        abs(own - size) >= step for own, size, step in zip(wanted, smallest, steps, strict=True)
    ):
        raise ShapeError(
            f"{name}: output_size {wanted} is a stride {steps} or more from {smallest}, "
            f"on which {counts} windows of {sizes} lie",
            suggestions=("output_size=x.shape, of the tensor x that was pooled",),
        )
    return wanted
