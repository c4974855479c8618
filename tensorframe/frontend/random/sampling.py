"""Discrete draws: integers of a range, orders of elements, and choices among them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import (
    INTEGER,
    LIMITS,
    UNSIGNED,
    DType,
    DTypeLike,
    as_dtype,
    float64,
    int64,
    uint64,
)
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.indexing.searching import searchsorted, take, take_along_axis
from tensorframe.frontend.operand_nodes import placed
from tensorframe.frontend.operands import converted, flattened, operand, reshaped
from tensorframe.frontend.ordering.sorting import argsort
from tensorframe.frontend.parameters import integer
from tensorframe.frontend.random.distributions import exponential
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.random.words import lanes, positions
from tensorframe.frontend.reductions.elementary import max as largest
from tensorframe.frontend.reductions.scans import cumulative_sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import default_on, holds, require
from tensorframe.graph.shape import as_shape, normalize_axis

__all__ = ["choice", "integers", "permutation", "permuted"]

_WORD = 2**32
_MASK = _WORD - 1


@repeated
def integers(
    low: int,
    high: int | None = None,
    shape: ShapeLike = (),
    *,
    dtype: DTypeLike | None = None,
    endpoint: bool = False,
    device: OnDevice = None,
    key: Source = None,
    size: ShapeLike | None = None,
) -> Tensor:
    """Integers from `low` up to, not including, `high`; from 0 up to `low` if there is no `high`.

    `endpoint` includes `high`. `size` is NumPy's name of `shape`. The default dtype is int64. DTypeError if `dtype` is
    not an integer dtype. ArgumentError if the range is empty. OutOfRangeError if the range does not fit `dtype`. No
    value is likelier than another by more than a factor of 1 + 2**-32: each is the upper part of a random 64-bit number
    (128-bit for ranges beyond 2**32) times the size of the range. Source: D. Lemire, "Fast random integer generation in
    an interval", ACM TOMACS 29 (2019), section 3.

    >>> sorted(set(tfr.random.integers(1, 7, 100, key=tfr.random.key(1)).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    place = resolve_device(device)
    target = default_on(place, int64) if dtype is None else as_dtype(dtype)
    require("integers", place, target)
    first, last = (0, low) if high is None else (low, high)
    first = integer("integers", "low", first)
    last = integer("integers", "high", last) - (0 if endpoint else 1)
    _check_range(first, last, target)
    sizes = as_shape(shape if size is None else size)
    span = last - first + 1
    width = 2 if span <= _WORD else 4
    places = positions(sizes, _home(place))
    drawn = [converted(lane, uint64) for lane in lanes(places, width, key)]
    offset: Any = _below(drawn, span)
    wide = converted(offset, uint64 if target in UNSIGNED else int64)
    return Tensor(placed(converted(wide + first, target).node, place))


def _home(device: Device) -> Device:
    """Return where 64-bit integers are drawn for a device."""
    return device if holds(device, uint64) else CPU


def _check_range(first: int, last: int, dtype: DType) -> None:
    if dtype not in INTEGER:
        raise DTypeError(f"integers: gives integers, not {dtype}")
    if first > last:
        raise ArgumentError(f"integers: there is no integer from {first} to {last}")
    low, high = LIMITS[dtype]
    if first < low or last > high:
        raise OutOfRangeError(
            f"integers: {first} to {last} does not fit {dtype}",
            suggestions=("dtype=... of a wider integer",),
        )


def _below(drawn: list[Any], span: int) -> Any:
    """Return integers from 0 to span - 1: the part above the point of a random fraction times `span`."""
    if span <= _WORD:
        high, low = drawn
        return (high * span + (low * span >> 32)) >> 32
    high, low = (word << 32 | other for word, other in (drawn[:2], drawn[2:]))
    if span == 2**64:
        return high
    carried = _upper_half(low, span)
    # unsigned sums wrap: they are smaller than an operand exactly if they do
    wraps = converted(high * span + carried < carried, uint64)
    return _upper_half(high, span) + wraps


def _upper_half(x: Any, factor: Any) -> Any:
    """Return the upper 64 bits of the 128-bit product, made of 32-bit pieces as in long multiplication."""
    x_high, x_low = x >> 32, x & _MASK
    high, low = factor >> 32, factor & _MASK
    middle = x_high * low + (x_low * low >> 32)
    other = x_low * high + (middle & _MASK)
    return x_high * high + (middle >> 32) + (other >> 32)


def permutation(
    x: ArrayLike, /, *, axis: int = 0, device: OnDevice = None, key: Source = None
) -> Tensor:
    """The integers below `x` in random order, or the slices of a tensor along `axis` in random order.

    The order is that of random 64-bit numbers; equal ones (2**-65 n**2 likely) keep their places.

    >>> sorted(tfr.random.permutation(5).tolist())
    [0, 1, 2, 3, 4]
    >>> sorted(tfr.random.permutation(np.asarray([[1, 2], [3, 4]])).tolist())
    [[1, 2], [3, 4]]
    """
    if isinstance(x, int | np.integer):
        return _random_order(operator.index(x), resolve_device(device), key=key)
    tensor = operand(x)
    dimension = normalize_axis("permutation", axis, tensor.ndim)
    place = tensor.device if device is None else resolve_device(device)
    order = _random_order(tensor.shape[dimension], place, key=key)
    return getitem(tensor, order) if dimension == 0 else take(tensor, order, axis=dimension)


@repeated
def _random_order(count: int, device: Device, *, key: Source) -> Tensor:
    high, low = (converted(lane, uint64) for lane in lanes(positions((count,), device), 2, key))
    keys: Any = high
    return argsort(keys << 32 | low)


def choice(
    a: ArrayLike,
    /,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    *,
    axis: int = 0,
    device: OnDevice = None,
    key: Source = None,
    size: ShapeLike | None = None,
) -> Tensor:
    """Random integers below `a`, or random slices of a tensor along `axis`; `size` is NumPy's name of the shape.

    `p` has weights, one for each candidate, which need not sum to one; they are rounded to parts of 2**-63 times the
    number of candidates, of the largest weight. With `replace=False` no candidate is chosen twice, and the order is
    random. ArgumentError if there are no candidates, or too few without replacement. ShapeError if `a` has no axes, or
    `p` does not have one weight for each candidate.
    Source for weights without replacement: P. S. Efraimidis and P. G. Spirakis, "Weighted random
    sampling with a reservoir", Information Processing Letters 97 (2006).

    >>> tfr.random.choice(np.asarray([10, 20, 30]), 2, p=[0, 1, 0]).tolist()
    [20, 20]
    >>> tfr.random.choice(np.asarray([[1, 2], [3, 4]]), 3, axis=1, p=[0, 1]).tolist()
    [[2, 2, 2], [4, 4, 4]]
    """
    candidates: Any = a
    tensor = None if isinstance(a, int | np.integer) else operand(a)
    if tensor is not None and not tensor.ndim:
        raise ShapeError("choice: a tensor without axes has no slices to choose from")
    dimension = 0 if tensor is None else normalize_axis("choice", axis, tensor.ndim)
    count = operator.index(candidates) if tensor is None else tensor.shape[dimension]
    if tensor is not None and device is None:
        device = tensor.device
    sizes = as_shape(shape if size is None else size)
    wanted = math.prod(sizes)
    _check_candidates(count, wanted, replace)
    if p is None:
        chosen = (
            integers(count, shape=wanted, device=device, key=key)
            if replace and wanted
            else _random_order(count, resolve_device(device), key=key)[:wanted]
        )
    else:
        weights = operand(p, dtype=float64)
        _check_weights(weights, count)
        chosen = (_weighted if replace else _weighted_order)(weights, wanted, device, key)
    if tensor is None:
        return reshaped(chosen, sizes)
    picked = take(tensor, chosen, axis=dimension)
    return reshaped(picked, tensor.shape[:dimension] + sizes + tensor.shape[dimension + 1 :])


def _check_candidates(count: int, wanted: int, replace: bool) -> None:
    if count < 1 and wanted:
        raise ArgumentError("choice: there is nothing to choose from")
    if not replace and wanted > count:
        message = f"choice: {wanted} of {count} cannot be chosen without replacement"
        raise ArgumentError(message, suggestions=("replace=True",))


def _check_weights(weights: Tensor, count: int) -> None:
    if weights.shape != (count,):
        raise ShapeError(f"choice: {count} candidates, but weights p of shape {weights.shape}")


def _weighted(weights: Any, wanted: int, device: OnDevice, key: Source) -> Tensor:
    """Return positions with these weights: where a random part of their sum falls.

    Weights become integers, as large as leaves room for their sum: unlike sums of floats, theirs are the same in any
    order, and so on any device.
    """
    room = 63 - weights.size.bit_length()
    sums: Any = cumulative_sum(converted(weights / largest(weights) * 2.0**room, uint64))
    home = _home(resolve_device(device))
    high, low = (converted(lane, uint64) for lane in lanes(positions((wanted,), home), 2, key))
    fraction: Any = high
    return searchsorted(sums, _upper_half(fraction << 32 | low, sums[-1]), side="right")


def _weighted_order(weights: Any, wanted: int, device: OnDevice, key: Source) -> Tensor:
    """Return the first positions of a race: the one with twice the weight is twice as fast."""
    times: Any = exponential(weights.shape, dtype=float64, device=device, key=key)
    return argsort(times / weights)[:wanted]


def permuted(x: ArrayLike, axis: int | None = None, *, key: Source = None) -> Tensor:
    """The elements in random order: of each line along `axis` by itself, of all of them if it is None.

    >>> sorted(tfr.random.permuted([[1, 2], [3, 4]], key=tfr.random.key(1)).numpy().ravel().tolist())
    [1, 2, 3, 4]
    """
    tensor = operand(x)
    flat = flattened(tensor) if axis is None else tensor
    along = normalize_axis("permuted", -1 if axis is None else axis, flat.ndim)
    words: Any = [converted(lane, uint64) for lane in lanes(positions(flat.shape, CPU), 2, key)]
    order = argsort(words[0] << 32 | words[1], axis=along)
    result = take_along_axis(flat, order.to_device(flat.device), along)
    return reshaped(result, tensor.shape)
