"""Geometric ranges: powers of evenly spaced exponents, and numbers each the same multiple of the one before."""

from __future__ import annotations

import cmath
import math
from typing import Any

from tensorframe import dtypes
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import COMPLEX, DType, DTypeLike, as_dtype
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.filled import default_real
from tensorframe.frontend.creation.ranges import (
    ending,
    has_axes,
    holder_of,
    linspace,
    placed_on,
    positions,
)
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.fast_paths.memoization import memoized_of
from tensorframe.frontend.operands import (
    converted,
    expanded,
    floating,
    number,
    promoted,
    reshaped,
)
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import broadcast, normalize_axis
from tensorframe.ops.elementwise import (
    ABS,
    DIVIDE,
    EQUAL,
    EXP,
    LOG10,
    MULTIPLY,
    POW,
    SIGN,
    WHERE,
)

__all__ = ["geomspace", "logspace"]


@memoized_of(0)
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return `base` to the power of `num` evenly spaced exponents from `start` to `stop`. Computed in double precision.

    Ends and base that are tensors broadcast; the powers stand along the new axis `axis`. Ends and base may be complex:
    the powers are then complex64, or complex128 if a tensor is, unless `dtype` says otherwise.

    >>> tfr.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    >>> tfr.logspace(tfr.asarray([0.0, 2.0]), 2.0, 3, axis=1).tolist()
    [[1.0, 10.0, 100.0], [100.0, 100.0, 100.0]]
    """
    place = resolve_device(device)
    low: Any
    high: Any
    radix: Any
    given: DType | None
    any_axes = has_axes(start, stop, base)
    if any_axes:
        low, high, radix = promoted(start, stop, base)
        given = radix.dtype
    else:
        low, high, radix = (number("logspace", value) for value in (start, stop, base))
        given = _complex_of_numbers(low, high, radix)
    work = dtypes.complex128 if given in COMPLEX else dtypes.float64
    target = given if dtype is None and given in COMPLEX else default_real("logspace", dtype, place)
    if any_axes:
        low = expanded(low, broadcast("logspace", low.shape, radix.shape))
        radix = converted(_with_new_axis(radix, axis, low, high), work)
    wide = holder_of(place, work)
    exponents = linspace(low, high, num, endpoint, False, work, axis, device=wide)
    return placed_on(converted(apply(POW, radix, exponents), target), place)


def _complex_of_numbers(*values: Any) -> DType | None:
    """Return the dtype of Python's complex numbers if there are some."""
    return dtypes.default_complex() if any(isinstance(value, complex) for value in values) else None


def _with_new_axis(value: Tensor, axis: int, *others: Tensor) -> Tensor:
    """Return a tensor in the shape that it broadcasts to with others, with an axis of size 1 at a place among these."""
    shape = broadcast("logspace", value.shape, *[other.shape for other in others])
    place = normalize_axis("logspace", axis, len(shape) + 1)
    return reshaped(expanded(value, shape), (*shape[:place], 1, *shape[place:]))


@memoized_of(0)
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: OnDevice = None,
) -> Tensor:
    """Return `num` numbers from `start` to `stop`, each the same multiple of the one before.

    Neither end is zero, and real ones have one sign, else ArgumentError; between complex ones lies a spiral. Computed
    in float64, as powers of ten: the ends are exact, and so are powers of ten between them. Ends that are tensors
    broadcast, and keep their dtype; the numbers between them stand along the new axis `axis`, NaN between real ends of
    different signs.

    >>> tfr.geomspace(1, 1000, 4).tolist()
    [1.0, 10.0, 100.0, 1000.0]
    >>> tfr.geomspace(tfr.asarray([1.0, 100.0]), 100.0, 3, axis=1).tolist()
    [[1.0, 10.0, 100.0], [100.0, 100.0, 100.0]]
    """
    if has_axes(start, stop):
        return _between_tensors(start, stop, num, endpoint, dtype, axis, device)
    first, last = number("geomspace", start), number("geomspace", stop)
    if isinstance(first, complex) or isinstance(last, complex):
        return _spiral(complex(first), complex(last), num, endpoint, dtype, device)
    first, last = float(first), float(last)
    if 0.0 in (first, last) or first * math.copysign(1.0, last) < 0:
        raise ArgumentError(f"geomspace: from {first} to {last} there is no geometric sequence")
    last = math.nan if math.isnan(first) else last
    sign = math.copysign(1.0, first)
    ends = (math.log10(abs(first)), math.log10(abs(last)))
    place = resolve_device(device)
    target = default_real("geomspace", dtype, place)
    wide = holder_of(place, dtypes.float64)
    exponents = linspace(*ends, num, endpoint, dtype=dtypes.float64, device=wide)
    powers = apply(MULTIPLY, apply(POW, 10.0, exponents), sign)
    if endpoint and num > 1:
        powers = ending(powers, last)
    return placed_on(converted(ending(powers, first, index=0), target), place)


def _between_tensors(
    start: Any,
    stop: Any,
    num: int,
    endpoint: bool,
    dtype: DTypeLike | None,
    axis: int,
    device: OnDevice,
) -> Tensor:
    """Return geometric sequences between the elements of tensors, along a new axis; the ends are exact.

    The direction of the first end is taken out, as in NumPy: the angle between both is below half a turn.
    """
    first, last = floating(start, stop)
    shape = broadcast("geomspace", first.shape, last.shape)
    place = normalize_axis("geomspace", axis, len(shape) + 1)
    first, last = (expanded(end, shape) for end in (first, last))
    direction = apply(SIGN, first)
    low, high = apply(LOG10, apply(ABS, first)), apply(LOG10, apply(DIVIDE, last, direction))
    exponents = linspace(low, high, num, endpoint, axis=axis, device=device)
    column = (*shape[:place], 1, *shape[place:])
    powers = apply(MULTIPLY, apply(POW, 10.0, exponents), reshaped(direction, column))
    ends = [(num - 1, last), (0, first)] if endpoint else [(0, first)]  # 0 counts where it is both
    step = reshaped(positions(num, powers.device), (num,) + (1,) * (len(shape) - place))
    for index, end in ends:
        moved = reshaped(end, column).to_device(powers.device)
        powers = apply(WHERE, apply(EQUAL, step, index), moved, powers)
    return powers if dtype is None else converted(powers, as_dtype(dtype))


def _spiral(
    first: complex,
    last: complex,
    num: int,
    endpoint: bool,
    dtype: DTypeLike | None,
    device: OnDevice,
) -> Tensor:
    """Return a geometric sequence between complex ends: radius and angle grow at constant rates."""
    if 0 in (first, last):
        raise ArgumentError(f"geomspace: from {first} to {last} there is no geometric sequence")
    target = dtypes.default_complex() if dtype is None else as_dtype(dtype)
    place = resolve_device(device)
    wide = holder_of(place, dtypes.complex128)
    # the direction of the first end is taken out, as in NumPy: the angle between both is below half a turn
    direction = first / abs(first)
    exponents: Any = linspace(0.0, 1.0, num, endpoint, dtype=dtypes.float64, device=wide)
    angle = cmath.phase(last / direction)
    low, high = math.log10(abs(first)), math.log10(abs(last))
    radius: Any = apply(POW, 10.0, low + exponents * (high - low))
    turned: Any = apply(EXP, exponents * complex(0.0, angle))
    steps = radius * turned * direction
    if endpoint and num > 1:
        steps = ending(steps, last)
    return placed_on(converted(ending(steps, first, index=0), target), place)
