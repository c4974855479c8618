"""Pooling: the largest element, the mean or the norm of each window that slides over an image, a signal or a volume."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import converted, operand, reshaped, widened
from tensorframe.frontend.parameters import flag, integer, number
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.nn.functional.operands import floating
from tensorframe.nn.functional.positions import flat_positions
from tensorframe.nn.functional.windows import Windows, need_half_padding, windows_on
from tensorframe.ops.elementwise import POW
from tensorframe.ops.pooling import MAX_POOL, POOL_INDEX, SUM_POOL

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

Size = int | tuple[int, ...]
_AXES = {1: "positions", 2: "height, width", 3: "depth, height, width"}


def max_pool1d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window on signals of shape (..., channels, positions); see `max_pool2d`.

    >>> tfr.nn.functional.max_pool1d(tfr.asarray([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[3.0, 2.0]]
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool1d", 1, input, windows, return_indices)


def max_pool2d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window on images of shape (examples, channels, height, width), or without examples.

    Windows of `kernel_size` elements, `dilation` apart, begin every `stride` elements (`kernel_size` if not given) of
    the image with `padding` around it, of which nothing is chosen; with `ceil_mode` the last one may reach beyond. Each
    of these is one number for all axes, or one each. Real dtypes. With `return_indices`, the pair of the result and the
    positions in the flattened image, int64. What flows back goes to the first of equal elements. ShapeError for windows
    that are larger than the image.

    >>> x = tfr.asarray([[[1.0, 5.0], [3.0, 2.0]]])
    >>> tfr.nn.functional.max_pool2d(x, 2).tolist()
    [[[5.0]]]
    >>> tfr.nn.functional.max_pool2d(x, 2, return_indices=True)[1].tolist()
    [[[1]]]
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool2d", 2, input, windows, return_indices)


def max_pool3d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window on volumes of shape (..., channels, depth, height, width); see `max_pool2d`.

    >>> tfr.nn.functional.max_pool3d(tfr.ones((1, 2, 4, 4)), 2).shape
    (1, 1, 2, 2)
    """
    windows = (kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool("max_pool3d", 3, input, windows, return_indices)


def avg_pool1d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window on signals of shape (..., channels, positions); see `avg_pool2d`.

    >>> tfr.nn.functional.avg_pool1d(tfr.asarray([[1.0, 3.0, 2.0, 0.0]]), 2).tolist()
    [[2.0, 1.0]]
    """
    windows = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool1d", 1, input, windows, count_include_pad, None)


def avg_pool2d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window on images of shape (examples, channels, height, width), or without examples.

    Windows as for `max_pool2d`, with zeros around the image. Sums are divided by the number of elements of a window
    that are on the padded image, on the image itself unless `count_include_pad`, or by `divisor_override`.

    >>> tfr.nn.functional.avg_pool2d(tfr.asarray([[[1.0, 5.0], [3.0, 3.0]]]), 2).tolist()
    [[[3.0]]]
    """
    windows = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool2d", 2, input, windows, count_include_pad, divisor_override)


def avg_pool3d(
    input: ArrayLike,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window on volumes of shape (..., channels, depth, height, width); see `avg_pool2d`.

    >>> tfr.nn.functional.avg_pool3d(tfr.ones((1, 2, 4, 4)), 2).shape
    (1, 1, 2, 2)
    """
    windows = (kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool3d", 3, input, windows, count_include_pad, divisor_override)


def lp_pool1d(
    input: ArrayLike,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The root of the sum of powers of each window on signals; see `lp_pool2d`.

    >>> tfr.nn.functional.lp_pool1d(tfr.asarray([[3.0, 4.0]]), 2, 2).tolist()
    [[5.0]]
    """
    return _lp_pool("lp_pool1d", 1, input, norm_type, (kernel_size, stride, 0, 1, ceil_mode))


def lp_pool2d(
    input: ArrayLike,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """`(sum of x ** norm_type) ** (1 / norm_type)` of each window on images; the largest element if that is inf.

    Shapes and windows as for `avg_pool2d`, without padding. NaN for a negative sum of odd powers.

    >>> tfr.nn.functional.lp_pool2d(tfr.asarray([[[3.0, 0.0], [4.0, 0.0]]]), 2, 2).tolist()
    [[[5.0]]]
    """
    return _lp_pool("lp_pool2d", 2, input, norm_type, (kernel_size, stride, 0, 1, ceil_mode))


def lp_pool3d(
    input: ArrayLike,
    norm_type: float,
    kernel_size: Size,
    stride: Size | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The root of the sum of powers of each window on volumes; see `lp_pool2d`.

    >>> tfr.nn.functional.lp_pool3d(tfr.ones((1, 1, 2, 2)), 2, (1, 2, 2)).tolist()
    [[[[2.0]]]]
    """
    return _lp_pool("lp_pool3d", 3, input, norm_type, (kernel_size, stride, 0, 1, ceil_mode))


def need_images(name: str, tensor: Tensor, rank: int) -> None:
    """Raise ShapeError unless a tensor has channels of `rank` axes, with or without examples in front."""
    if tensor.ndim not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{name}: input has axes (examples, channels, {_AXES[rank]}), or no examples, got shape {tensor.shape}"
        )


def _max_pool(
    name: str, rank: int, input: Any, windows: tuple[Any, ...], return_indices: bool
) -> Any:
    tensor = operand(input)
    if tensor.dtype not in dtypes.REAL:
        raise DTypeError(f"{name}: takes real dtypes, got {tensor.dtype}")
    need_images(name, tensor, rank)
    geometry = windows_on(name, tensor.shape[-rank:], *windows)
    need_half_padding(name, geometry)
    padded = geometry.padded(widened(tensor), least(tensor.dtype))
    result, chosen = largest(padded, geometry, flag(name, "return_indices", return_indices))
    result = converted(result, tensor.dtype)
    return result if chosen is None else (result, flat_positions(chosen, geometry, tensor.shape))


def largest(padded: Tensor, windows: Windows, indexed: bool) -> tuple[Tensor, Tensor | None]:
    """Return the largest element of each window, and its place in the window if requested."""
    attrs = (windows.axes(padded), windows.sizes, windows.steps, windows.dilations)
    result = call(MAX_POOL, padded, attrs=attrs)
    if not indexed:
        return result, None
    # places are found by one of their own: a plan that makes both makes it once, and a stored one may have been rounded
    # otherwise than the elements are now
    return result, call(POOL_INDEX, padded, call(MAX_POOL, padded, attrs=attrs), attrs=attrs)


def least(dtype: dtypes.DType) -> float:
    """Return what no element of a dtype is below."""
    return int(np.iinfo(dtype).min) if dtype in dtypes.INTEGER else -inf


def _avg_pool(
    name: str,
    rank: int,
    input: Any,
    windows: tuple[Any, ...],
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    tensor = floating(name, "input", input)
    need_images(name, tensor, rank)
    geometry = windows_on(name, tensor.shape[-rank:], *windows)
    need_half_padding(name, geometry)
    divisor = (
        None if divisor_override is None else integer(name, "divisor_override", divisor_override)
    )
    if divisor == 0:
        raise ShapeError(f"{name}: divisor_override must not be 0")
    with_padding = flag(name, "count_include_pad", count_include_pad)
    sums = summed(widened(tensor), geometry)
    if divisor is not None:
        return converted(sums / float(divisor), tensor.dtype)
    return converted(_over_counts(sums, geometry, tensor.shape[-rank:], with_padding), tensor.dtype)


def summed(tensor: Tensor, windows: Windows) -> Tensor:
    """Return the sum of each window, with zeros around the tensor."""
    attrs = (windows.axes(tensor), windows.sizes, windows.steps, windows.dilations)
    return call(SUM_POOL, windows.padded(tensor, 0), attrs=attrs)


def _over_counts(sums: Tensor, windows: Windows, lengths: Shape, with_padding: bool) -> Tensor:
    """Return sums over how many elements of each window count: where they differ, an axis at a time."""
    uniform = 1
    for axis, length in enumerate(lengths):
        size, step, pad = windows.sizes[axis], windows.steps[axis], windows.before[axis]
        first = np.arange(windows.counts[axis]) * step - pad
        low, high = (-pad, length + pad) if with_padding else (0, length)
        counts = np.minimum(first + size, high) - np.maximum(first, low)
        if (counts == counts[0]).all():
            uniform *= int(counts[0])
            continue
        after = (1,) * (len(lengths) - axis - 1)
        along = operand(counts.astype(sums.dtype), device=sums.device)
        sums = sums / reshaped(along, (counts.size, *after))
    return sums / float(uniform) if uniform != 1 else sums


def _lp_pool(
    name: str, rank: int, input: Any, norm_type: float, windows: tuple[Any, ...]
) -> Tensor:
    power = number(name, "norm_type", norm_type)
    tensor = floating(name, "input", input)
    need_images(name, tensor, rank)
    geometry = windows_on(name, tensor.shape[-rank:], *windows)
    if power == inf:
        return converted(
            largest(geometry.padded(widened(tensor), -inf), geometry, False)[0], tensor.dtype
        )
    if power == 0.0:
        raise ShapeError(f"{name}: norm_type must not be 0")
    sums = summed(apply(POW, widened(tensor), power), geometry)
    # a window that reaches beyond the end counts as if it were full
    inside = _over_counts(sums, geometry, tensor.shape[-rank:], with_padding=True)
    mean = inside * float(prod(geometry.sizes))
    return converted(apply(POW, mean, 1.0 / power), tensor.dtype)
