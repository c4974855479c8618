"""Rotary positions: pairs of features are turned by an angle that grows with the position."""

from __future__ import annotations

from math import log2
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import FLOAT, DType
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.manipulation.joining import concat, stack
from tensorframe.frontend.operands import converted, operand, reshaped, widened
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.ops.elementwise import ADD, COS, EXP2, MULTIPLY, SIN, SUBTRACT

__all__ = ["rope"]


def rope(
    input: ArrayLike,
    dims: int | None = None,
    *,
    interleaved: bool = False,
    base: float = 10000.0,
    scale: float = 1.0,
    offset: ArrayLike = 0,
    frequencies: ArrayLike | None = None,
) -> Tensor:
    """Turn pairs of features by angles that grow with the position, so that products of two depend on their distance.

    `input` is (..., T, D) of a real floating dtype, and so is the result. Position t is turned by
    `scale * (offset + t) * base ** (-2 * i / dims)` in pair i of the first `dims` features (all by default); the
    rest stays. A pair is features i and i + dims / 2, or 2 * i and 2 * i + 1 if `interleaved`. `offset` is a number, or
    a tensor that broadcasts to the axes in front of T: how far each sequence has come. `frequencies`, of shape
    (dims / 2,), stand in place of the powers of `base`.

    Raises DTypeError for other dtypes, ShapeError for an odd number of features or less than two axes.
    Source: J. Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), arXiv 2104.09864.

    >>> x = tfr.asarray([[1.0, 0.0], [1.0, 0.0]])
    >>> tfr.nn.functional.rope(x).numpy().round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]], dtype=float32)
    """
    given = operand(input)
    _check(given, dims, base)
    x = widened(given)
    size = x.shape[-1] if dims is None else dims
    angles = _angles(x, size, base, scale, offset, frequencies)
    cosine, sine = apply(COS, angles), apply(SIN, angles)
    first, second = _pairs(x, size, interleaved)
    turned = [
        apply(SUBTRACT, apply(MULTIPLY, first, cosine), apply(MULTIPLY, second, sine)),
        apply(ADD, apply(MULTIPLY, second, cosine), apply(MULTIPLY, first, sine)),
    ]
    rest = [] if size == x.shape[-1] else [x[..., size:]]
    if interleaved:
        turned = [reshaped(stack(turned, axis=-1), (*x.shape[:-1], size))]
    parts = [*turned, *rest]
    return converted(concat(parts, axis=-1) if len(parts) > 1 else parts[0], given.dtype)


def _check(x: Tensor, dims: int | None, base: float) -> None:
    if x.dtype not in FLOAT:
        raise DTypeError(
            f"rope: takes real floating dtypes, got {x.dtype}",
            suggestions=("input.astype(tfr.float32) first",),
        )
    if x.ndim < 2:
        raise ShapeError(
            f"rope: takes (..., positions, features), got shape {x.shape}",
            suggestions=("input[None] for one position, with offset=... for which one",),
        )
    size = x.shape[-1] if dims is None else dims
    if size % 2 or not 0 <= size <= x.shape[-1]:
        raise ShapeError(
            f"rope: turns pairs of features, an even number of up to {x.shape[-1]}, got {size}",
            suggestions=(f"dims={x.shape[-1] // 2 * 2}",),
        )
    if base <= 0:
        raise ArgumentError(f"rope: the base of frequencies is positive, got {base!r}")


def _angles(
    x: Tensor, size: int, base: float, scale: float, offset: Any, frequencies: Any
) -> Tensor:
    """Return the angle of each position and pair: (..., T, size / 2), with the axes in front that `offset` has."""
    steps = counted(x.shape[-2], 0, 1, dtypes.int32, x.device)
    if isinstance(offset, Tensor) and offset.ndim:
        offset = reshaped(offset, (*offset.shape, 1))
    places = converted(apply(ADD, steps, offset), x.dtype)
    if frequencies is None:
        frequencies = _powers(size, base, x.dtype, x.device)
    elif operand(frequencies).shape != (size // 2,):
        raise ShapeError(
            f"rope: {size} features have {size // 2} frequencies, got shape {operand(frequencies).shape}"
        )
    column = reshaped(apply(MULTIPLY, places, scale), (*places.shape, 1))
    return apply(MULTIPLY, column, converted(operand(frequencies), x.dtype))


def _powers(size: int, base: float, dtype: DType, device: Device) -> Tensor:
    """Return base ** (-2 * i / size) for each pair."""
    pairs = counted(size // 2, 0, 1, dtypes.int32, device)
    exponents = apply(MULTIPLY, converted(pairs, dtype), -2 * log2(base) / max(size, 1))
    return apply(EXP2, exponents)


def _pairs(x: Tensor, size: int, interleaved: bool) -> tuple[Tensor, Tensor]:
    """Return the first and the second features of all pairs."""
    if interleaved:
        return x[..., 0:size:2], x[..., 1:size:2]
    return x[..., : size // 2], x[..., size // 2 : size]
