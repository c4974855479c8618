"""Resampling: signals, images and volumes in another size, by weights of the neighbours of each new position.

Along one axis after the other, each new element is a sum of a few old ones, whose positions and weights are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

import numpy as np

from tensorframe.dtypes import int64
from tensorframe.errors import ArgumentError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import converted, expanded, operand, reshaped, widened
from tensorframe.frontend.parameters import choice, flag, integer, items, number
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.graph.shape import MAX_SIZE, Shape
from tensorframe.nn.functional import adaptive
from tensorframe.nn.functional.operands import floating
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.movement import SLICE
from tensorframe.quick_tuples import NamedTuple

__all__ = ["interpolate"]

Array = np.ndarray[Any, Any]

# the modes, and how many axes they are for: None for one to three
_RANKS = {
    "nearest": None,
    "nearest-exact": None,
    "area": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
}
# of the cubic kernel, Keys, IEEE Transactions on Acoustics, Speech, and Signal Processing 29 (1981): PyTorch's, and
# Pillow's, which it has with antialias
_SHARPNESS, _SHARPNESS_ANTIALIASED = -0.75, -0.5
# up to how many neighbours are tensors of their own, rather than an axis that is summed
_MOST_TERMS = 4


class Neighbours(NamedTuple):
    """For each new position, the positions of old elements along an axis, and their weights: (new, neighbours)."""

    places: Array
    weights: Array


def interpolate(
    input: ArrayLike,
    size: ShapeLike | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """A tensor of shape (examples, channels, ...) in another size of its last axes, one to three of them.

    `size` are the new sizes, or `scale_factor` says how many times as large they are: one number for all axes, or one
    each. Modes: "nearest", "nearest-exact" (which takes the middle of new pixels), "area" (means of parts), "linear",
    "bilinear", "trilinear" for one, two and three axes, and "bicubic". With `align_corners`, the middles of the pixels
    in the corners stay in place, else their outer edges do. With `recompute_scale_factor`, the factor is that of the
    sizes. With `antialias` ("bilinear", "bicubic"), as many elements are averaged as one new pixel covers.

    >>> tfr.nn.functional.interpolate(tfr.asarray([[[1.0, 3.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 3.0, 3.0]]]
    >>> tfr.nn.functional.interpolate(tfr.asarray([[[1.0, 3.0]]]), 3, mode="linear", align_corners=True).tolist()
    [[[1.0, 2.0, 3.0]]]
    """
    name = "interpolate"
    tensor = floating(name, "input", input)
    how = choice(name, "mode", mode, tuple(_RANKS))
    rank = tensor.ndim - 2
    if rank not in ((1, 2, 3) if _RANKS[how] is None else (_RANKS[how],)):
        axes = "one to three" if _RANKS[how] is None else _RANKS[how]
        raise ShapeError(
            f'{name}: mode "{how}" takes (examples, channels, and {axes} axes), got shape {tensor.shape}'
        )
    corners = flag(name, "align_corners", align_corners or False)
    smooth = flag(name, "antialias", antialias)
    _need_fitting(how, align_corners, smooth)
    lengths = tensor.shape[2:]
    sizes, factors = _sizes(name, lengths, size, scale_factor)
    if how == "area":
        pool = (
            None,
            adaptive.adaptive_avg_pool1d,
            adaptive.adaptive_avg_pool2d,
            adaptive.adaptive_avg_pool3d,
        )[rank]
        assert pool is not None
        return pool(tensor, sizes)
    if flag(name, "recompute_scale_factor", recompute_scale_factor or False):
        factors = (None,) * rank
    result = widened(tensor)
    for axis, (new, factor) in enumerate(zip(sizes, factors, strict=True), start=2):
        length = lengths[axis - 2]
        step = length / new if factor is None else 1.0 / factor
        if how.startswith("nearest"):
            result = _nearest(result, axis, new, step, exact=how == "nearest-exact")
        elif length != new or step != 1.0:
            result = _weighted(result, axis, _neighbours(how, length, new, step, corners, smooth))
    return converted(result, tensor.dtype)


def _need_fitting(how: str, align_corners: bool | None, antialias: bool) -> None:
    if align_corners is not None and (how.startswith("nearest") or how == "area"):
        raise ArgumentError(
            f'interpolate: mode "{how}" has no align_corners',
            suggestions=('a linear mode, or "bicubic"',),
        )
    if antialias and how not in ("bilinear", "bicubic"):
        raise ArgumentError(
            f'interpolate: mode "{how}" has no antialias', suggestions=('mode="bilinear"',)
        )


def _sizes(
    name: str, lengths: Shape, size: Any, scale_factor: Any
) -> tuple[Shape, tuple[float | None, ...]]:
    """Return the new sizes, and the factors that were given."""
    if (size is None) == (scale_factor is None):
        raise ArgumentError(f"{name}: takes either size or scale_factor")
    rank = len(lengths)
    if 0 in lengths:
        raise ShapeError(f"{name}: an axis without elements has no neighbours, got {lengths}")
    parameter, value = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    given = items(name, parameter, value) if isinstance(value, list | tuple) else (value,) * rank
    if len(given) != rank:
        raise ArgumentError(
            f"{name}: {parameter} has one number, or one for each of {rank} axes, got {len(given)}"
        )
    factors: tuple[float | None, ...] = (None,) * rank
    if scale_factor is None:
        sizes = [integer(name, "size", entry) for entry in given]
    else:
        factors = tuple([number(name, "scale_factor", entry) for entry in given])
        products = [length * (factor or 0) for length, factor in zip(lengths, factors, strict=True)]
        if not all(0 <= product <= MAX_SIZE for product in products):
            raise OutOfRangeError(
                f"{name}: scale_factor must be positive and finite, got {value!r}"
            )
        sizes = [floor(product) for product in products]
    if min(sizes) < 1:
        raise ArgumentError(f"{name}: new sizes must be positive, got {tuple(sizes)}")
    return tuple(sizes), factors


# --- nearest neighbours


def _nearest(tensor: Tensor, axis: int, new: int, step: float, *, exact: bool) -> Tensor:
    """Return a tensor with the element of an axis that is nearest to each new position."""
    length = tensor.shape[axis]
    number = np.arange(new)
    places = np.floor((number + 0.5) * step if exact else number * step).astype(np.int64)
    places = np.minimum(places, length - 1)
    times = new // length
    if new == times * length and (places == number // times).all():
        return _repeated(tensor, axis, times)
    apart = int(places[1] - places[0]) if new > 1 else 1
    if apart and (places == places[0] + apart * number).all():
        return _sliced(tensor, axis, int(places[0]), new, apart)
    return _taken(tensor, axis, places)


def _repeated(tensor: Tensor, axis: int, times: int) -> Tensor:
    """Return each element of an axis several times: views, whose gradient is a sum."""
    if times == 1:
        return tensor
    front, rest = tensor.shape[: axis + 1], tensor.shape[axis + 1 :]
    apart = expanded(reshaped(tensor, (*front, 1, *rest)), (*front, times, *rest))
    return reshaped(apart, (*front[:-1], front[-1] * times, *rest))


def _sliced(tensor: Tensor, axis: int, first: int, count: int, step: int) -> Tensor:
    sizes = (*tensor.shape[:axis], count, *tensor.shape[axis + 1 :])
    starts = tuple([first if place == axis else 0 for place in range(tensor.ndim)])
    steps = tuple([step if place == axis else 1 for place in range(tensor.ndim)])
    return call(SLICE, tensor, attrs=(starts, sizes, steps))


# --- weighted neighbours


def _neighbours(
    how: str, length: int, new: int, step: float, corners: bool, antialias: bool
) -> Neighbours:
    """Return the neighbours of each new position on an axis of `length`, `step` old elements apart."""
    number = np.arange(new)
    if corners:
        step = (length - 1) / (new - 1) if new > 1 else 0.0
    middle = number * step if corners else (number + 0.5) * step - 0.5
    if antialias:
        return _averaged(how, length, middle, step)
    if how == "bicubic":
        first = np.floor(middle).astype(np.int64)
        places = first[:, None] + np.arange(-1, 3)
        weights = _cubic(middle[:, None] - places, _SHARPNESS)
    else:
        middle = np.maximum(middle, 0.0)
        first = np.floor(middle).astype(np.int64)
        places = first[:, None] + np.arange(2)
        weights = 1 - np.abs(middle[:, None] - places)
    return Neighbours(np.clip(places, 0, length - 1), weights)


def _averaged(how: str, length: int, middle: Array, step: float) -> Neighbours:
    """Return as many neighbours as a new pixel covers, where it covers more than one."""
    scale = max(step, 1.0)
    reach = (2.0 if how == "bicubic" else 1.0) * scale
    first = np.maximum((middle - reach + 1.0).astype(np.int64), 0)
    end = np.minimum((middle + reach + 1.0).astype(np.int64), length)
    places = first[:, None] + np.arange(min(2 * ceil(reach) + 1, length))
    distance = np.abs(places - middle[:, None]) / scale
    kernel = (
        _cubic(distance, _SHARPNESS_ANTIALIASED)
        if how == "bicubic"
        else np.maximum(1 - distance, 0)
    )
    weights = np.where(places < end[:, None], kernel, 0.0)
    weights /= weights.sum(1, keepdims=True)
    return Neighbours(np.clip(places, 0, length - 1), weights)


def _cubic(distance: Array, sharpness: float) -> Array:
    """Return the weights of the cubic convolution kernel."""
    d = np.abs(distance)
    near = ((sharpness + 2) * d - (sharpness + 3)) * d * d + 1
    far = ((sharpness * d - 5 * sharpness) * d + 8 * sharpness) * d - 4 * sharpness
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _weighted(tensor: Tensor, axis: int, neighbours: Neighbours) -> Tensor:
    """Return the sums of neighbours along an axis times their weights."""
    places, weights = neighbours
    after = (1,) * (tensor.ndim - axis - 1)
    if places.shape[1] > _MOST_TERMS:
        taken = _taken(tensor, axis, places)
        return total(taken * _numbers(weights, tensor, after), axis=axis + 1)
    result: Tensor | None = None
    for places_of_one, weights_of_one in zip(places.T, weights.T, strict=True):
        part = _taken(tensor, axis, places_of_one) * _numbers(weights_of_one, tensor, after)
        result = part if result is None else result + part
    assert result is not None
    return result


def _taken(tensor: Tensor, axis: int, places: Array) -> Tensor:
    """Return the elements of an axis at positions."""
    index = operand(places.astype(default_on(tensor.device, int64)), device=tensor.device)
    return call(GATHER, tensor, index, attrs=((axis,), axis))


def _numbers(values: Array, like: Tensor, after: Shape) -> Tensor:
    """Return numbers in the dtype and on the device of a tensor, with axes of size 1 behind."""
    numbers = operand(values.astype(like.dtype), device=like.device)
    return reshaped(numbers, (*values.shape, *after))
