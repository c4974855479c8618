"""Continuous distributions as elementwise functions of random words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import FLOAT, FORMAT, NARROW, DType, DTypeLike, float32, float64
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import converted, operand, weakly
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.random.repeated import repeated
from tensorframe.frontend.random.words import lanes, positions
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape, as_shape, broadcast
from tensorframe.ops.elementwise import ADD, LESS, MULTIPLY, SQRT
from tensorframe.ops.random import COS_TURNS, SURPRISAL

__all__ = ["bernoulli", "exponential", "normal", "uniform"]

_WORD = 1 << 32


@repeated
def uniform(
    shape: ShapeLike | None = None,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
    size: ShapeLike | None = None,
) -> Tensor:
    """Numbers from `low` up to, not including, `high`, all equally likely.

    Each is a multiple of 2**-8 (bfloat16), 2**-11 (float16), 2**-24 (float32) or 2**-53 (float64), scaled; scaling may
    round up to `high`. `low` and `high` broadcast to `shape`, by default the shape of both. `size` is NumPy's name of
    `shape`. NumPy's order of arguments is recognised where it is unambiguous: `uniform(-1.0, 1.0, (2, 3))`,
    `uniform(0, 1, 5)`.

    >>> tfr.random.uniform((2, 3), key=tfr.random.key(1)).shape
    (2, 3)
    """
    given, lower, upper = _in_our_order(shape, low, high, size)
    target = real_dtype("uniform", dtype)
    sizes = shape_for("uniform", given, lower, upper)
    # as many as the significand holds, so that no fraction rounds up to 1
    bits = FORMAT[target].fraction + 1 if target in NARROW else 24
    result = unit(lanes(positions(sizes, device), _width(target), key), bits)
    if _is_tensor(lower, upper) or (lower, upper) != (0.0, 1.0):
        if _is_tensor(lower, upper):
            _, lower, upper = weakly((result, lower, upper))
        result = apply(ADD, lower, apply(MULTIPLY, result, upper - lower))
    return converted(result, target)


@repeated
def normal(
    shape: ShapeLike | None = None,
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
    loc: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    size: ShapeLike | None = None,
) -> Tensor:
    """Numbers of the normal distribution with this mean and standard deviation.

    `mean` and `std` broadcast to `shape`, by default the shape of both. Half precision is computed in float32. `loc`,
    `scale` and `size` are NumPy's names of the parameters; NumPy's order of arguments is recognised as in `uniform`.
    ArgumentError if a number or an array `std` is below zero.
    Two numbers come from one radius and one angle. Source: G. E. P. Box and M. E. Muller, "A note on the generation
    of random normal deviates", Annals of Mathematical Statistics 29 (1958).

    >>> tfr.random.normal((1000,), 5.0, 0.1, key=tfr.random.key(1)).numpy().mean().round(1).item()
    5.0
    """
    shape, mean, std = _in_our_order(shape, mean, std, size, largest=10)
    mean, std = (mean if loc is None else loc), (std if scale is None else scale)
    _need_positive("normal", "std", std)
    target = real_dtype("normal", dtype)
    sizes = shape_for("normal", shape, mean, std)
    places = positions(sizes, device)
    width = _width(target)
    drawn = lanes(places, 2 * width, key, every=2)
    radius = apply(SQRT, apply(MULTIPLY, apply(SURPRISAL, positive_unit(drawn[:width])), 2.0))
    turns = unit([_turned(drawn[width], places), *drawn[width + 1 :]])
    result = apply(MULTIPLY, radius, apply(COS_TURNS, turns))
    return converted(_scaled(result, mean, std), target)


def _in_our_order(
    shape: Any, first: Any, second: Any, size: Any, largest: float = math.inf
) -> tuple[Any, Any, Any]:
    """Return the shape and two parameters, where NumPy's order has the shape last.

    A tuple there, or a float first, tells. So do three integers that make no sense as a shape and two parameters: a
    shape of nothing, or a second parameter of `largest` or more.
    """
    if isinstance(second, tuple | list) and not isinstance(shape, tuple | list):
        return second, shape, first
    if isinstance(shape, float):
        is_size = isinstance(second, int) and not isinstance(second, bool)
        return (second if is_size else size), shape, first
    if all(type(value) is int for value in (shape, first, second)):
        if shape <= 0 or second >= largest:
            return second, shape, first
    return (shape if size is None else size), first, second


def _turned(word: Any, places: Tensor) -> Tensor:
    """Return the words of angles, those of odd positions less a quarter turn: the cosine is the sine then."""
    turned: Tensor = word - ((places & 1) << 30)
    return turned


def _scaled(result: Tensor, shift: Any, scale: Any) -> Tensor:
    if _is_tensor(scale) or scale != 1.0:
        result = apply(MULTIPLY, result, scale)
    if _is_tensor(shift) or shift != 0.0:
        result = apply(ADD, result, shift)
    return result


@repeated
def exponential(
    shape: ShapeLike | None = None,
    scale: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: OnDevice = None,
    key: Source = None,
    size: ShapeLike | None = None,
) -> Tensor:
    """Numbers of the exponential distribution with mean `scale`: waiting times between independent events.

    `size` is NumPy's name of `shape`; NumPy's order of arguments is recognised as in `uniform`. ArgumentError if a
    number or an array `scale` is below zero.

    >>> tfr.random.exponential(4, key=tfr.random.key(1)).shape
    (4,)
    """
    if isinstance(shape, float) or isinstance(scale, tuple | list):
        shape, scale = (scale if isinstance(scale, tuple | list | int) else None), shape
    shape = shape if size is None else size
    _need_positive("exponential", "scale", scale)
    target = real_dtype("exponential", dtype)
    sizes = shape_for("exponential", shape, scale)
    fractions = positive_unit(lanes(positions(sizes, device), _width(target), key))
    return converted(_scaled(apply(SURPRISAL, fractions), 0.0, scale), target)


def _need_positive(name: str, parameter: str, value: Any) -> None:
    """Raise ArgumentError for a number or an array below zero; tensors are not looked at, which would compute them."""
    known = isinstance(value, int | float | np.number | np.ndarray)
    if known and np.asarray(value).dtype.kind in "if" and np.any(np.asarray(value) < 0):
        raise ArgumentError(f"{name}: {parameter} < 0", suggestions=(f"abs({parameter})",))


def bernoulli(
    shape: ShapeLike | None = None,
    p: ArrayLike = 0.5,
    *,
    device: OnDevice = None,
    key: Source = None,
) -> Tensor:
    """True with probability `p` (to a multiple of 2**-24), else False. `p` broadcasts to `shape`.

    >>> tfr.random.bernoulli(3, 1.0).tolist()
    [True, True, True]
    """
    sizes = shape_for("bernoulli", shape, p)
    return apply(LESS, unit(lanes(positions(sizes, device), 1, key)), p)


def real_dtype(name: str, dtype: Any) -> DType:
    """Return the real floating dtype that a user means; the default one for None."""
    real = dtypes.default_float() if dtype is None else dtypes.as_dtype(dtype)
    if real not in FLOAT:
        raise DTypeError(f"{name}: gives real floating numbers, not {real}")
    return real


def shape_for(name: str, shape: Any, *parameters: Any) -> Shape:
    """Return the shape to draw: what the user says, or that of the parameters."""
    if not _is_tensor(*parameters):
        return () if shape is None else as_shape(shape)
    own = broadcast(name, *[operand(parameter).shape for parameter in parameters])
    if shape is None:
        return own
    sizes = as_shape(shape)
    if broadcast(name, sizes, own) != sizes:
        raise ShapeError(f"{name}: parameters of shape {own} do not broadcast to shape {sizes}")
    return sizes


def _is_tensor(*values: Any) -> bool:
    return not all(isinstance(value, int | float) for value in values)


def _width(dtype: DType) -> int:
    """Return how many words make one number: float64 has more than 32 bits."""
    return 2 if dtype == float64 else 1


def unit(drawn: list[Any], bits: int = 24) -> Tensor:
    """Return fractions from 0 to below 1, exactly: of up to 24 bits from one word, of 53 from two."""
    if len(drawn) == 1:
        return apply(MULTIPLY, _upper_bits(drawn[0], bits, float32), 2.0**-32)
    return apply(MULTIPLY, _fifty_three_bits(drawn), 2.0**-53)


def _upper_bits(word: Any, bits: int, dtype: DType) -> Tensor:
    """Return words without the bits below their upper ones, as floats.

    Masked, not shifted: LLVM's code for the conversion of what was shifted takes half as long again.
    """
    return converted(word & (_WORD - (1 << (32 - bits))), dtype)


def positive_unit(drawn: list[Any]) -> Tensor:
    """Return fractions above 0 up to 1, which have a logarithm: halfway between multiples of 2**-32 or 2**-53."""
    if len(drawn) == 1:
        # halves of the word are exact numbers, whichever way a device rounds integers that are not
        (word,) = drawn
        high = converted(word & 0xFFFF0000, float32)
        low = apply(ADD, converted(word & 0xFFFF, float32), 0.5)
        return apply(MULTIPLY, apply(ADD, high, low), 2.0**-32)
    return apply(MULTIPLY, apply(ADD, _fifty_three_bits(drawn), 0.5), 2.0**-53)


def _fifty_three_bits(drawn: list[Any]) -> Tensor:
    """Return integers of 53 bits, the upper 27 from one word and the lower 26 from another."""
    high, low = (
        _upper_bits(word, bits, float64) for word, bits in zip(drawn, (27, 26), strict=True)
    )
    return apply(ADD, apply(MULTIPLY, high, 2.0**21), apply(MULTIPLY, low, 2.0**-6))
