"""Adaptive pooling: windows that divide an axis into a given number of parts, as equal as they can be."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.operands import (
    converted,
    expanded,
    operand,
    permuted,
    reshaped,
    widened,
)
from tensorframe.frontend.parameters import flag, integer
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.graph.shape import Shape, one_or_several
from tensorframe.nn.functional.operands import floating
from tensorframe.nn.functional.pooling import largest, need_images, summed
from tensorframe.nn.functional.positions import flat_positions
from tensorframe.nn.functional.windows import Windows
from tensorframe.ops.elementwise import WHERE
from tensorframe.ops.indexing import GATHER, TAKE_ALONG_AXIS
from tensorframe.ops.reduction import ARGMAX

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]


def adaptive_avg_pool1d(input: ArrayLike, output_size: ShapeLike) -> Tensor:
    """Means of `output_size` parts of signals of shape (..., channels, positions); see `adaptive_avg_pool2d`.

    >>> tfr.nn.functional.adaptive_avg_pool1d(tfr.asarray([[1.0, 3.0, 5.0]]), 2).tolist()
    [[2.0, 4.0]]
    """
    return _means("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: ArrayLike, output_size: ShapeLike) -> Tensor:
    """Means of parts of images of shape (examples, channels, height, width), or without examples.

    `output_size` is how many parts there are along each axis: one number for all, or one each, None for as many as
    there are elements. Part i of n on an axis of length L is from floor(i L / n) to ceil((i + 1) L / n).

    >>> tfr.nn.functional.adaptive_avg_pool2d(tfr.ones((8, 7, 7)), (1, None)).shape
    (8, 1, 7)
    """
    return _means("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: ArrayLike, output_size: ShapeLike) -> Tensor:
    """Means of parts of volumes of shape (..., channels, depth, height, width); see `adaptive_avg_pool2d`.

    >>> tfr.nn.functional.adaptive_avg_pool3d(tfr.ones((8, 4, 6, 6)), 2).shape
    (8, 2, 2, 2)
    """
    return _means("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(
    input: ArrayLike, output_size: ShapeLike, return_indices: bool = False
) -> Any:
    """Largest elements of `output_size` parts of signals; see `adaptive_max_pool2d`.

    >>> tfr.nn.functional.adaptive_max_pool1d(tfr.asarray([[1.0, 3.0, 5.0]]), 2).tolist()
    [[3.0, 5.0]]
    """
    return _extremes("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(
    input: ArrayLike, output_size: ShapeLike, return_indices: bool = False
) -> Any:
    """Largest elements of parts of images; shapes and parts as for `adaptive_avg_pool2d`.

    With `return_indices`, the pair of the result and the positions in the flattened image, int64.

    >>> tfr.nn.functional.adaptive_max_pool2d(tfr.asarray([[[1.0, 5.0], [3.0, 2.0]]]), 1).tolist()
    [[[5.0]]]
    """
    return _extremes("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(
    input: ArrayLike, output_size: ShapeLike, return_indices: bool = False
) -> Any:
    """Largest elements of parts of volumes; see `adaptive_max_pool2d`.

    `output_size` says how many parts there are in depth, height and width.

    >>> tfr.nn.functional.adaptive_max_pool3d(tfr.ones((8, 4, 6, 6)), 2).shape
    (8, 2, 2, 2)
    """
    return _extremes("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _means(name: str, rank: int, input: Any, output_size: Any) -> Tensor:
    tensor = floating(name, "input", input)
    parts = _parts(name, tensor, rank, output_size)
    even = _even_windows(tensor.shape[-rank:], parts)
    if even is not None:
        return converted(summed(widened(tensor), even) / float(prod(even.sizes)), tensor.dtype)
    result = widened(tensor)
    for axis, count in enumerate(parts, start=tensor.ndim - rank):
        result = _means_along(result, axis, count)
    return converted(result, tensor.dtype)


def _means_along(tensor: Tensor, axis: int, count: int) -> Tensor:
    """Return the means of parts of an axis, which may overlap by an element."""
    length = tensor.shape[axis]
    if count == length:
        return tensor
    places, inside = _places(length, count)
    taken = _taken(tensor, axis, places)
    after = (1,) * (tensor.ndim - axis - 1)
    mask = reshaped(operand(inside, device=tensor.device), (*inside.shape, *after))
    sizes = operand(inside.sum(1).astype(tensor.dtype), device=tensor.device)
    sums = total(apply(WHERE, mask, taken, 0.0), axis=axis + 1)
    result: Tensor = sums / reshaped(sizes, (count, *after))
    return result


def _extremes(name: str, rank: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    tensor = operand(input)
    if tensor.dtype not in dtypes.REAL:
        raise DTypeError(f"{name}: takes real dtypes, got {tensor.dtype}")
    parts = _parts(name, tensor, rank, output_size)
    indexed = flag(name, "return_indices", return_indices)
    even = _even_windows(tensor.shape[-rank:], parts)
    if even is None:
        result, positions = _uneven_extremes(tensor, rank, parts)
        return (result, positions) if indexed else result
    result, places = largest(widened(tensor), even, indexed)
    result = converted(result, tensor.dtype)
    return result if places is None else (result, flat_positions(places, even, tensor.shape))


def _uneven_extremes(tensor: Tensor, rank: int, parts: Shape) -> tuple[Tensor, Tensor]:
    """Return the first largest element of each part, and where it is, by the positions of all elements of the part."""
    lengths, front = tensor.shape[-rank:], tensor.shape[:-rank]
    dtype = default_on(tensor.device, dtypes.int64)
    taken = tensor
    flat: np.ndarray[Any, Any] = np.zeros((), np.int64)
    for number, (length, count) in enumerate(zip(lengths, parts, strict=True)):
        # where parts are smaller, their last element stands for what is beyond: it is not the first
        places, _ = _places(length, count)
        taken = _taken(taken, len(front) + 2 * number, places)
        flat = flat[..., None, None] * length + places
    order = (*range(0, 2 * rank, 2), *range(1, 2 * rank, 2))
    flat = flat.transpose(order).reshape(*parts, prod(flat.shape[1::2]))
    places_in_front = tuple(range(len(front)))
    lines = permuted(taken, (*places_in_front, *[len(front) + axis for axis in order]))
    lines = reshaped(lines, (*front, *parts, flat.shape[-1]))
    best = call(ARGMAX, lines, attrs=((lines.ndim - 1,), True))
    where = expanded(operand(flat.astype(dtype), device=tensor.device), lines.shape)
    positions = reshaped(
        call(TAKE_ALONG_AXIS, where, best, attrs=(lines.ndim - 1,)), best.shape[:-1]
    )
    plane = reshaped(tensor, (*front, prod(lengths)))
    chosen = call(
        TAKE_ALONG_AXIS, plane, reshaped(positions, (*front, prod(parts))), attrs=(len(front),)
    )
    return reshaped(chosen, positions.shape), positions


def _places(length: int, count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the positions of the elements of each part of an axis, and which of them are in it and not beyond."""
    number = np.arange(count)
    first, end = number * length // count, -(-(number + 1) * length // count)
    most = int((end - first).max(initial=1))
    places = first[:, None] + np.arange(most)
    return np.minimum(places, end[:, None] - 1), places < end[:, None]


def _taken(tensor: Tensor, axis: int, places: np.ndarray[Any, Any]) -> Tensor:
    """Return the elements of an axis at positions, whose two axes take its place."""
    dtype = default_on(tensor.device, dtypes.int64)
    index = operand(places.astype(dtype), device=tensor.device)
    return call(GATHER, tensor, index, attrs=((axis,), axis))


def _parts(name: str, tensor: Tensor, rank: int, output_size: Any) -> Shape:
    need_images(name, tensor, rank)
    lengths = tensor.shape[-rank:]
    given = one_or_several(output_size)
    given = given * rank if len(given) == 1 else given
    if len(given) != rank:
        raise ArgumentError(
            f"{name}: output_size has one number, or one for each of {rank} axes, got {len(given)}"
        )
    parts = [
        length if count is None else integer(name, "output_size", count)
        for count, length in zip(given, lengths, strict=True)
    ]
    if min(parts) < 0:
        raise ArgumentError(f"{name}: output_size must not be negative, got {output_size!r}")
    if 0 in lengths:
        raise ShapeError(f"{name}: an input of shape {tensor.shape} has no elements to pool")
    return tuple(parts)


def _even_windows(lengths: Shape, parts: Shape) -> Windows | None:
    """Return the windows of parts that are all as long; None if some are not."""
    if any(not count or length % count for length, count in zip(lengths, parts, strict=True)):
        return None
    sizes = tuple([length // count for length, count in zip(lengths, parts, strict=True)])
    ones, none = (1,) * len(sizes), (0,) * len(sizes)
    return Windows(sizes, sizes, ones, none, none, parts)
