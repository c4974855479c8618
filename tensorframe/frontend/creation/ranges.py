"""Ranges: evenly spaced numbers, generated where they are used."""

from __future__ import annotations

import math
from typing import Any

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, INTEGER, DType, DTypeLike, as_dtype, int64
from tensorframe.errors import ArgumentError, DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice, as_value
from tensorframe.frontend.dispatch import apply, recorded
from tensorframe.frontend.fast_paths.memoization import memoized_of
from tensorframe.frontend.operand_nodes import SEQUENCES, placed
from tensorframe.frontend.operands import (
    converted,
    expanded,
    floating,
    number,
    reshaped,
)
from tensorframe.frontend.parameters import count
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import default_on, holds, require
from tensorframe.graph.shape import broadcast, check_size, normalize_axis
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.elementwise import (
    ADD,
    EQUAL,
    FLOOR,
    MULTIPLY,
    WHERE,
)

__all__ = ["arange", "linspace"]


def counted(size: int, start: Any, step: Any, dtype: DType, device: Device) -> Tensor:
    """Return `start + step * i` for i below `size`; both are numbers of the kind that `dtype` holds."""
    shape = check_size("arange", (size,))
    return recorded(ARANGE, (), (start, step, 0, 1), shape, dtype, device)


def positions(size: int, device: Device) -> Tensor:
    """Return 0 to size - 1 as the device's default integers."""
    return counted(size, 0, 1, default_on(device, int64), device)


@memoized_of(0)
def arange(
    start: ArrayLike,
    /,
    stop: ArrayLike | None = None,
    step: ArrayLike = 1,
    dtype: DTypeLike | None = None,
    *,
    device: OnDevice = None,
    like: ArrayLike | None = None,
) -> Tensor:
    """Return start, start + step, ... up to but without `stop`; with one number, from 0 up to it.

    There are ceil((stop - start) / step) elements, as in NumPy; with integers that is exact. int64 for integers, else
    float32, unless `dtype` says otherwise. Takes no memory before its elements are needed.

    >>> tfr.arange(2, 8, 3).tolist()
    [2, 5]
    """
    del like
    step = 1 if step is None else step
    first = 0 if stop is None else number("arange", start)
    last = number("arange", start if stop is None else stop)
    by = number("arange", step)
    place = resolve_device(device)
    own = default_on(place, _range_dtype(first, last, by))
    target = own if dtype is None else as_dtype(dtype)
    require("arange", place, target)
    size = _length(first, last, by)
    if target in INTEGER and isinstance(first, int) and isinstance(by, int):
        return counted(size, *_fitted(first, by, size, target), target, place)
    # fractions add up before they are dropped; complex numbers have a real part only
    work = target if target in FLOAT else dtypes.promote(dtypes.float64, dtypes.real_of(target))
    steps = counted(size, float(first), float(by), work, holder_of(place, work))
    return placed_on(converted(steps, target), place)


def holder_of(device: Device, dtype: DType) -> Device:
    """Return where a range of `dtype` is computed that ends up on `device`."""
    return device if holds(device, dtype) else CPU


def placed_on(steps: Tensor, device: Device) -> Tensor:
    """Return a range where the user wants it."""
    return steps if steps.device is device else Tensor(placed(steps.node, device))


def _range_dtype(first: Any, last: Any, step: Any) -> DType:
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        return dtypes.of_scalar(max(int(first), int(last)))
    return dtypes.default_float()


def _length(first: Any, last: Any, step: Any) -> int:
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int) and step:
        return max(0, -(int(first - last) // int(step)))
    if any(isinstance(number, complex) for number in (first, last, step)):
        raise DTypeError("arange: complex numbers have no order", suggestions=("tfr.linspace",))
    if step == 0:
        hint = "tfr.linspace for a number of elements"
        raise ArgumentError("arange: step is 0", suggestions=(hint,))
    length = float((last - first) / step)
    if not math.isfinite(length):
        raise ArgumentError(f"arange: from {first} to {last} by {step} has no finite length")
    return max(0, math.ceil(length))


def _fitted(first: int, step: int, size: int, dtype: DType) -> tuple[int, int]:
    """Return first and step within the range of `dtype`, where both ends of the range must be; steps may wrap."""
    if size == 0:
        return 0, 1
    for end in (first, first + step * (size - 1)):
        dtypes.check_fits(end, dtype, "dtype=tfr.{}")
    low, high = dtypes.LIMITS[dtype]
    return first, (step - low) % (high - low + 1) + low


@memoized_of(0)
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: OnDevice = None,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`, which is the last one unless `endpoint` is False.

    The ends are exact. float32, or complex64 if an end is complex, unless `dtype` says otherwise; integer dtypes round
    down, as in NumPy. Takes no memory before its elements are needed. Ends that are tensors broadcast; the numbers
    between them stand along the new axis `axis`. `retstep` gives the pair of the numbers and their distance.

    >>> tfr.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> tfr.linspace(tfr.asarray([0.0, 10.0]), 20.0, 3, axis=1).tolist()
    [[0.0, 10.0, 20.0], [10.0, 15.0, 20.0]]
    """
    size = _count("linspace", num)
    gaps = size - 1 if endpoint else size
    if has_axes(start, stop):
        result = along_new_axis(
            start, stop, size, gaps, None if dtype is None else as_dtype(dtype), axis
        )
        if device is not None:
            result = Tensor(placed(result.node, resolve_device(device)))
        return (result, _distance(start, stop, gaps)) if retstep else result
    first, last = number("linspace", start), number("linspace", stop)
    if retstep:
        steps = linspace(first, last, size, endpoint, dtype=dtype, device=device)
        return steps, _distance(first, last, gaps)
    any_complex = isinstance(first, complex) or isinstance(last, complex)
    place = resolve_device(device)
    default = dtypes.default_complex() if any_complex else dtypes.default_float()
    target = default_on(place, default) if dtype is None else as_dtype(dtype)
    require("linspace", place, target)
    work = target if target in FLOATING else dtypes.promote(default, dtypes.float64)
    steps = _spaced(first, last, size, endpoint, work, holder_of(place, work))
    steps = converted(steps if work == target else apply(FLOOR, steps), target)
    return placed_on(steps, place)


def has_axes(*values: Any) -> bool:
    """Whether a value is a sequence, or a tensor or array with axes."""
    return any(isinstance(value, SEQUENCES) or bool(getattr(value, "ndim", 0)) for value in values)


def _distance(first: Any, last: Any, gaps: int) -> Any:
    if has_axes(first, last):
        first, last = floating(first, last)
    return (last - first) / gaps if gaps else math.nan


def along_new_axis(
    start: Any, stop: Any, size: int, gaps: int, dtype: DType | None, axis: int
) -> Tensor:
    """Return evenly spaced numbers between the elements of tensors, along a new axis; the ends are exact."""
    first, last = floating(start, stop)
    ends = broadcast("linspace", first.shape, last.shape)
    place = normalize_axis("linspace", axis, len(ends) + 1)
    first, last = (
        reshaped(expanded(end, ends), (*ends[:place], 1, *ends[place:])) for end in (first, last)
    )
    line = (size,) + (1,) * (len(ends) - place)
    part = reshaped(converted(positions(size, first.device), first.dtype), line)
    result: Tensor = first + part * ((last - first) / max(gaps, 1))
    if gaps == size - 1 and size > 1:
        result = apply(WHERE, apply(EQUAL, part, size - 1), last, result)
    if dtype is None:
        return result
    return converted(result if dtype in FLOATING else apply(FLOOR, result), dtype)


def _count(name: str, num: Any) -> int:
    return count(name, "num", num)


def _spaced(
    first: Any, last: Any, size: int, endpoint: bool, dtype: DType, device: Device
) -> Tensor:
    if dtype in COMPLEX:
        first, last = complex(first), complex(last)
        real = dtypes.real_of(dtype)
        parts = [
            converted(_spaced(part, other, size, endpoint, real, device), dtype)
            for part, other in ((first.real, last.real), (first.imag, last.imag))
        ]
        return apply(ADD, parts[0], apply(MULTIPLY, parts[1], 1j))
    first, last = as_value("linspace", first, dtype), as_value("linspace", last, dtype)
    gaps = size - 1 if endpoint else size
    step = _step(first, last, gaps)
    steps = counted(size, first, step, dtype, device)
    if not endpoint or size < 2 or first == last:
        return steps
    return ending(steps, last)


def _step(first: float, last: float, gaps: int) -> float:
    if gaps < 1:
        return 0.0
    distance = last - first
    # opposite ends of the range are further apart than a float can say
    return distance / gaps if math.isfinite(distance) else last / gaps - first / gaps


def ending(steps: Tensor, last: Any, index: int = -1) -> Tensor:
    """Return a range with the element at its end (or start) replaced, since rounding may have moved it."""
    size = steps.shape[0]
    if size == 0:
        return steps
    return apply(WHERE, apply(EQUAL, positions(size, steps.device), index % size), last, steps)
