"""Derivatives, integrals and convolutions of sampled functions."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operands import floating, operand, promoted, reshaped
from tensorframe.frontend.parameters import is_number
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes, normalize_axis
from tensorframe.ops.library import CONVOLVE

__all__ = ["convolve", "gradient", "trapezoid"]


def trapezoid(y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """Integral of samples `y` along `axis` by the trapezoidal rule.

    `x` holds the sample points, 1-d along the axis or in the shape of `y`; without it they are `dx` apart. Integers
    give the default real dtype.

    >>> tfr.trapezoid(tfr.asarray([1.0, 2.0, 3.0]), dx=2.0).item()
    8.0
    """
    (values,) = floating(y)
    at = normalize_axis("trapezoid", axis, values.ndim)
    dx = dx if is_number(dx) else operand(dx)
    steps = dx if x is None else _steps(operand(x), values, at)
    return total(steps * _neighbours(values, at) / 2.0, axis=at)


def _neighbours(values: Tensor, axis: int) -> Tensor:
    """Return the sum of each two neighbours."""
    size = max(values.shape[axis] - 1, 0)
    return part_of(values, axis, min(1, values.shape[axis]), size) + part_of(values, axis, 0, size)


def _steps(points: Tensor, values: Tensor, axis: int) -> Tensor:
    """Return the distances between points, along `axis` of `values`."""
    along = axis if points.ndim == values.ndim else 0
    size = values.shape[axis]
    if points.ndim not in (1, values.ndim) or points.shape[along] != size:
        raise ShapeError(f"points of shape {points.shape} for {size} samples along axis {axis}")
    steps = part_of(points, along, 1, size - 1) - part_of(points, along, 0, size - 1)
    if points.ndim == values.ndim:
        return steps
    return reshaped(steps, tuple(size - 1 if at == axis else 1 for at in range(values.ndim)))


def gradient(x: Any, /, *spacing: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Derivatives of samples along `axis`: central differences inside, one-sided ones at the two ends.

    `spacing` is one number for all axes, or one number or 1-d tensor of sample points per axis. Gives one tensor
    for one axis, and a tuple for several (None: all). The error is of second order inside; at the ends of order
    `edge_order`, 1 or 2. Each axis needs `edge_order + 1` samples, else ShapeError.

    Source: the polynomial through three neighbours, differentiated (A. Quarteroni, R. Sacco, F. Saleri, Numerical
    Mathematics, 2nd edition, section 10.10.1).

    >>> tfr.gradient(tfr.asarray([1.0, 4.0, 9.0, 16.0])).tolist()
    [3.0, 4.0, 6.0, 7.0]
    """
    (values,) = floating(x)
    axes = normalize_axes("gradient", axis, values.ndim)
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order is 1 or 2, got {edge_order}")
    if len(spacing) not in (0, 1, len(axes)):
        raise ArgumentError(f"gradient: {len(spacing)} spacings for {len(axes)} axes")
    spacings = spacing if len(spacing) == len(axes) else (spacing or (1.0,)) * len(axes)
    found = tuple(
        _derivative(values, at, step, edge_order) for at, step in zip(axes, spacings, strict=True)
    )
    return found[0] if len(found) == 1 else found


def _derivative(values: Tensor, axis: int, spacing: Any, order: int) -> Tensor:
    size = values.shape[axis]
    if size < order + 1:
        raise ShapeError(f"gradient: axis {axis} has {size} samples and needs {order + 1}")
    slopes = _slopes(values, axis, spacing)
    left, right = part_of(slopes, axis, 0, size - 2), part_of(slopes, axis, 1, size - 2)
    share = _share_of_left(values, axis, spacing)
    inside = left * share + right * (1.0 - share)
    first, last = part_of(slopes, axis, 0, 1), part_of(slopes, axis, size - 2, 1)
    if order == 2:
        # the three-point polynomial at its ends: its slope there and at the middle average to that of the chord
        first = 2.0 * first - part_of(inside, axis, 0, 1)
        last = 2.0 * last - part_of(inside, axis, size - 3, 1)
    return concat([first, inside, last], axis=axis)


def _slopes(values: Tensor, axis: int, spacing: Any) -> Tensor:
    size = values.shape[axis]
    rise = part_of(values, axis, 1, size - 1) - part_of(values, axis, 0, size - 1)
    if _is_points(spacing):
        return rise / _steps(operand(spacing), values, axis)
    slopes: Tensor = rise / spacing
    return slopes


def _share_of_left(values: Tensor, axis: int, spacing: Any) -> Any:
    """Return the weight of the slope on the left: the nearer neighbour counts more."""
    if not _is_points(spacing):
        return 0.5
    size = values.shape[axis]
    steps = _steps(operand(spacing), values, axis)
    left, right = part_of(steps, axis, 0, size - 2), part_of(steps, axis, 1, size - 2)
    return right / (left + right)


def _is_points(spacing: Any) -> bool:
    return getattr(spacing, "ndim", 0) == 1


def convolve(x1: Any, x2: Any, /, mode: str = "full") -> Tensor:
    """Discrete convolution of two vectors: sums of products, one of them reversed and shifted along the other.

    `mode` is "full" (n + m - 1 elements: wherever the two overlap), "same" (as many as the longer one has, the
    middle of "full") or "valid" (where they overlap completely). Numeric dtypes; bools raise DTypeError.

    >>> tfr.convolve(tfr.asarray([1, 2, 3]), tfr.asarray([0, 1, 2])).tolist()
    [0, 1, 4, 7, 6]
    """
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f'convolve: mode is "full", "same" or "valid", got {mode!r}')
    pair = promoted(x1, x2)
    if pair[0].dtype in dtypes.BOOL:
        raise DTypeError("convolve: takes numbers, got bool", suggestions=("x.astype(tfr.int64)",))
    long, short = sorted(pair, key=lambda one: -one.size)
    return call(CONVOLVE, long, short, attrs=(mode,))
