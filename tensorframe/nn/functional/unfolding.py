"""Windows on images as columns of a matrix, and columns added up to an image."""

from __future__ import annotations

from math import prod

from tensorframe.dtypes import FLOATING
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import converted, operand, permuted, reshaped, widened
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.functional.pooling import need_images
from tensorframe.nn.functional.windows import Windows, for_each_axis, windows_on
from tensorframe.ops.movement import SLICE, WINDOWS
from tensorframe.ops.pooling import FOLD

__all__ = ["fold", "unfold"]

Size = int | tuple[int, ...]


def unfold(
    input: ArrayLike, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Windows on images of shape (examples, channels, height, width), or without examples, each as a column.

    The result has shape (examples, channels * elements of a window, number of windows), all dtypes. Windows as for
    `max_pool2d`, with zeros around the image. Views alone, but for the last step.

    >>> tfr.nn.functional.unfold(tfr.asarray([[[1.0, 2.0], [3.0, 4.0]]]), (1, 2)).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    tensor = operand(input)
    need_images("unfold", tensor, 2)
    windows = windows_on("unfold", tensor.shape[-2:], kernel_size, stride, padding, dilation)
    front = tensor.ndim - 3
    seen = windows.padded(tensor, 0)
    for axis, *window in zip(
        windows.axes(tensor), windows.sizes, windows.steps, windows.dilations, strict=True
    ):
        seen = call(WINDOWS, seen, attrs=(axis, *window))
    examples, channels = tensor.shape[:front], tensor.shape[front]
    order = (*range(front + 1), front + 3, front + 4, front + 1, front + 2)
    shape = (*examples, channels * prod(windows.sizes), prod(windows.counts))
    return reshaped(permuted(seen, order), shape)


def fold(
    input: ArrayLike,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """Columns as windows on images of `output_size`, added up where they overlap: what `unfold` does, transposed.

    `input` has shape (examples, channels * elements of a window, number of windows), or no examples; floating dtypes.
    ShapeError unless these are the windows on such images.

    >>> columns = tfr.nn.functional.unfold(tfr.ones((1, 3, 3)), 2)
    >>> tfr.nn.functional.fold(columns, (3, 3), 2).tolist()
    [[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]
    """
    tensor = operand(input)
    if tensor.dtype not in FLOATING:
        raise DTypeError(
            f"fold: input has a floating dtype, got {tensor.dtype}",
            suggestions=("input.astype(tfr.float32)",),
        )
    if tensor.ndim not in (2, 3):
        raise ShapeError(
            f"fold: input has axes (examples, channels * window, windows), or no examples, got shape {tensor.shape}"
        )
    height, width = for_each_axis("fold", "output_size", output_size, 2, 1)
    windows = windows_on("fold", (height, width), kernel_size, stride, padding, dilation)
    size, count = prod(windows.sizes), prod(windows.counts)
    if tensor.shape[-1] != count or tensor.shape[-2] % size:
        raise ShapeError(
            f"fold: images of {height} by {width} have {count} windows of {size} elements, "
            f"got an input of shape {tensor.shape}"
        )
    front, channels = tensor.shape[:-2], tensor.shape[-2] // size
    parts = reshaped(widened(tensor), (*front, channels, *windows.sizes, *windows.counts))
    rank = len(front)
    order = (*range(rank + 1), rank + 3, rank + 4, rank + 1, rank + 2)
    images = _folded(permuted(parts, order), windows, (height, width))
    return converted(images, tensor.dtype)


def _folded(parts: Tensor, windows: Windows, lengths: tuple[int, int]) -> Tensor:
    """Return windows, whose elements lie along the last two axes, added up, without the padding around."""
    first = parts.ndim - 4
    for axis in (1, 0):
        length = lengths[axis] + windows.before[axis] + windows.after[axis]
        attrs = (first + axis, windows.steps[axis], windows.dilations[axis], length)
        parts = call(FOLD, parts, attrs=attrs)
    if not windows.is_padded:
        return parts
    sizes = (*parts.shape[:first], *lengths)
    starts = (0,) * first + windows.before
    return call(SLICE, parts, attrs=(starts, sizes, (1,) * len(sizes)))
