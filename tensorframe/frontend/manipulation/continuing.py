"""Continuing: padding by what is computed of the elements, such as their mean or a ramp. Few programs need it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.errors import ArgumentError
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.manipulation.views import flip, joined, part_of
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import converted, expanded, filled, operand, reshaped
from tensorframe.frontend.parameters import count
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.graph.record import source
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.elementwise import FLOOR, ROUND
from tensorframe.ops.reduction import MAX, MIN, SUM

STATISTICS = ("maximum", "mean", "median", "minimum")

Side = tuple[int, int]


def with_statistic(tensor: Tensor, axis: int, pair: Side, mode: str, lengths: Any) -> Tensor:
    """Return the tensor with a statistic of its first or last elements before and after an axis."""
    size = tensor.shape[axis]
    parts = [tensor]
    for side, (width, length) in enumerate(zip(pair, lengths, strict=True)):
        if not width:
            continue
        used = size if length is None else min(count("pad", "stat_length", length), size)
        if used < 1:
            raise ArgumentError(f"pad: stat_length={length} leaves no elements for {mode!r}")
        value = _statistic(part_of(tensor, axis, size - used if side else 0, used), axis, mode)
        if tensor.dtype in dtypes.INTEGER and value.dtype not in dtypes.INTEGER:
            value = apply(ROUND, value)
        block = expanded(converted(value, tensor.dtype), _sized(tensor, axis, width))
        parts = [*parts, block] if side else [block, *parts]
    return joined(parts, axis)


def _statistic(part: Tensor, axis: int, mode: str) -> Tensor:
    """Return the statistic of elements along an axis, which stays with size 1."""
    from tensorframe.frontend.ordering.sorting import sort  # which pad themselves
    from tensorframe.frontend.reductions.elementary import reduced_along

    if mode in ("maximum", "minimum"):
        return reduced_along(MAX if mode == "maximum" else MIN, part, (axis,), True)
    wide: Any = converted(part, _floating(part))
    size = part.shape[axis]
    if mode == "mean":
        mean: Tensor = call(SUM, wide, attrs=((axis,), True)) / size
        return mean
    ordered = sort(wide, axis)
    low, high = (part_of(ordered, axis, place, 1) for place in ((size - 1) // 2, size // 2))
    middle: Tensor = (low + high) * 0.5
    return middle


def _floating(tensor: Tensor) -> Any:
    """Return the dtype that statistics of a tensor are computed in: float64 for integers, where there is such."""
    if tensor.dtype in dtypes.FLOATING:
        return dtypes.wide_of(tensor.dtype)
    wide = dtypes.as_dtype("float64")
    return wide if holds(tensor.device, wide) else dtypes.default_float()


def with_ramp(tensor: Tensor, axis: int, pair: Side, ends: tuple[Any, Any]) -> Tensor:
    """Return the tensor with evenly spaced numbers from a value to its first elements, and from its last ones."""
    size = tensor.shape[axis]
    parts = [tensor]
    work = _floating(tensor)
    for side, (width, end) in enumerate(zip(pair, ends, strict=True)):
        if not width:
            continue
        edge: Any = converted(part_of(tensor, axis, size - 1 if side else 0, 1), work)
        line = (width,) + (1,) * (tensor.ndim - 1 - axis)
        places: Any = Tensor(source(ARANGE, (width,), work, tensor.device, 0.0, 1.0, 0, 1))
        start: Any = converted(operand(end), work)
        ramp: Any = start + reshaped(places, line) * ((edge - start) / width)
        if tensor.dtype in dtypes.INTEGER:
            ramp = apply(FLOOR, ramp)
        ramp = converted(ramp, tensor.dtype)
        parts = [*parts, flip(ramp, axis)] if side else [ramp, *parts]
    return joined(parts, axis)


def mirrored_oddly(tensor: Tensor, axis: int, pair: Side, *, twice: bool) -> Tensor:
    """Return the tensor continued by its elements turned about the one at the end, which stands `twice` or once."""
    before, after = pair
    step = tensor.shape[axis] - (not twice)
    if step < 1:
        ends = [part_of(tensor, axis, 0, 1), part_of(tensor, axis, tensor.shape[axis] - 1, 1)]
        blocks = [
            expanded(end, _sized(tensor, axis, width))
            for end, width in zip(ends, pair, strict=True)
        ]
        return joined([blocks[0], tensor, blocks[1]], axis)
    while before or after:
        size = tensor.shape[axis]
        parts: list[Any] = [tensor]
        if before:
            width = min(before, step)
            mirror = flip(part_of(tensor, axis, 0 if twice else 1, width), axis)
            parts = [_turned(part_of(tensor, axis, 0, 1), mirror), *parts]
            before -= width
        if after:
            width = min(after, step)
            mirror = flip(part_of(tensor, axis, size - width - (not twice), width), axis)
            parts = [*parts, _turned(part_of(tensor, axis, size - 1, 1), mirror)]
            after -= width
        tensor = joined(parts, axis)
        step = tensor.shape[axis] - (not twice)
    return tensor


def _turned(end: Any, mirror: Any) -> Any:
    """Return values turned about one."""
    return converted(operand(2 * end - mirror), mirror.dtype)


def by_function(tensor: Tensor, widths: list[Side], function: Any, options: Any) -> Tensor:
    """Return what NumPy's `pad` makes of the computed elements with a function of the user's."""
    padded: Any = np.pad(tensor._array(), widths, function, **options)
    return Tensor(data_node(padded, tensor.device))


def unsaid(tensor: Tensor, axis: int, pair: Side) -> Tensor:
    """Return the tensor with zeros around an axis, where anything may be."""
    sides = [
        filled(_sized(tensor, axis, width), False, dtypes.bool_, tensor.device) for width in pair
    ]
    before, after = (converted(side, tensor.dtype) for side in sides)
    return joined([before, tensor, after], axis)


def _sized(tensor: Tensor, axis: int, size: int) -> tuple[int, ...]:
    return (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
