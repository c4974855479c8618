"""Derivatives, integrals and convolutions of sampled functions."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from tensorframe import dtypes
from tensorframe.dtypes import COMPLEX, DType
from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.fast_paths.memoization import memoized
from tensorframe.frontend.manipulation.joining import concat
from tensorframe.frontend.manipulation.views import flip, part_of
from tensorframe.frontend.operands import beside, converted, floating, promoted, reshaped, with_axes
from tensorframe.frontend.parameters import is_number
from tensorframe.frontend.reductions.elementary import Axis
from tensorframe.frontend.reductions.elementary import all as all_true
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.graph.shape import axes_in_order, normalize_axis
from tensorframe.ops.elementwise import ABS, CONJ, EQUAL, LESS, NOT_EQUAL, WHERE
from tensorframe.ops.library import CONVOLVE

Mode = Literal["full", "same", "valid"]
# NumPy adds up in half precision, and of bools whether any of the products is true
_OTHERS: Final = dtypes.NARROW | dtypes.BOOL

__all__ = ["convolve", "correlate", "gradient", "trapezoid"]


@memoized
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Tensor:
    """Integral of samples `y` along `axis` by the trapezoidal rule.

    `x` holds the sample points, 1-d along the axis or in the shape of `y`; without it they are `dx` apart. Integers
    give the default real dtype.

    >>> tfr.trapezoid(tfr.asarray([1.0, 2.0, 3.0]), dx=2.0).item()
    8.0
    >>> tfr.trapezoid(tfr.asarray([[1, 2, 3], [4, 5, 6]]), axis=0).tolist()
    [2.5, 3.5, 4.5]
    """
    (values,) = floating(y)
    along = normalize_axis("trapezoid", axis, values.ndim)
    width: Any = dx if is_number(dx) else beside(values, dx)
    steps = width if x is None else _steps(beside(values, x), values, along)
    return total(steps * _neighbours(values, along) / 2.0, axis=along)


def _neighbours(values: Tensor, axis: int) -> Tensor:
    """Return the sum of each two neighbours."""
    size = max(values.shape[axis] - 1, 0)
    return part_of(values, axis, min(1, values.shape[axis]), size) + part_of(values, axis, 0, size)


def _steps(points: Tensor, values: Tensor, axis: int) -> Tensor:
    """Return the distances between points, along `axis` of `values`; those between integers are floating too."""
    along = axis if points.ndim == values.ndim else 0
    size = values.shape[axis]
    if points.ndim not in (1, values.ndim) or points.shape[along] != size:
        raise ShapeError(f"points of shape {points.shape} for {size} samples along axis {axis}")
    if points.dtype in dtypes.BITWISE:
        steps = _distances(points, along, dtypes.real_of(values.dtype))
    else:
        steps = _differences(points, along)
    if points.ndim == values.ndim:
        return steps
    return reshaped(
        steps, tuple(steps.size if dimension == axis else 1 for dimension in range(values.ndim))
    )


def _differences(x: Tensor, axis: int) -> Tensor:
    """Return how far each element is above the one before it."""
    size = max(x.shape[axis] - 1, 0)
    return part_of(x, axis, min(1, x.shape[axis]), size) - part_of(x, axis, 0, size)


def _distances(points: Tensor, axis: int, dtype: DType) -> Tensor:
    """Return distances between integers: narrow ones would wrap, and as floats large ones would be one number."""
    widest = default_on(points.device, dtypes.int64)
    exact = converted(_differences(converted(points, widest), axis), dtype)
    if points.dtype.itemsize < widest.itemsize:
        return exact
    # only distances that the widest integers do not hold are as exact as floats are
    rounded = _differences(converted(points, dtype), axis)
    return apply(
        WHERE, apply(LESS, apply(ABS, rounded), 2.0 ** (8 * widest.itemsize - 2)), exact, rounded
    )


@memoized
def gradient(f: ArrayLike, *spacing: ArrayLike, axis: Axis = None, edge_order: int = 1) -> Any:
    """Derivatives of samples along `axis`: central differences inside, one-sided ones at the two ends.

    `spacing` is one number for all axes, or one number or 1-d tensor of sample points per axis. Gives one tensor
    for one axis, and a tuple for several (None: all), in the order in which they are named. The error is of second
    order inside; at the ends of order `edge_order`, 1 or 2. Each axis needs `edge_order + 1` samples, else ShapeError.
    Between neighbours at equal distances the sample itself does not count, even if it is NaN.

    Source: the polynomial through three neighbours, differentiated (A. Quarteroni, R. Sacco, F. Saleri, Numerical
    Mathematics, 2nd edition, section 10.10.1).

    >>> tfr.gradient(tfr.asarray([1.0, 4.0, 9.0, 16.0])).tolist()
    [3.0, 4.0, 6.0, 7.0]
    >>> tfr.gradient(tfr.asarray([[1.0, 4.0, 9.0], [0.0, 2.0, 4.0]]), axis=1).tolist()
    [[3.0, 4.0, 5.0], [2.0, 2.0, 2.0]]
    """
    (values,) = floating(f)
    axes = axes_in_order("gradient", axis, values.ndim)
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order is 1 or 2, got {edge_order}")
    if len(spacing) not in (0, 1, len(axes)):
        raise ArgumentError(f"gradient: {len(spacing)} spacings for {len(axes)} axes")
    spacings = spacing if len(spacing) == len(axes) else (spacing or (1.0,)) * len(axes)
    slopes = tuple(
        _derivative(values, along, step, edge_order)
        for along, step in zip(axes, spacings, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _derivative(values: Tensor, axis: int, spacing: Any, order: int) -> Tensor:
    size = values.shape[axis]
    if size < order + 1:
        raise ShapeError(f"gradient: axis {axis} has {size} samples and needs {order + 1}")
    spacing = spacing if is_number(spacing) else beside(values, spacing)
    if getattr(spacing, "ndim", 0) == 1:
        steps = _steps(spacing, values, axis)
        parts = _between_points(values, steps, axis, order)
    else:
        parts = _evenly_spaced(values, spacing, axis, order)
    return concat(parts, axis=axis)


def _evenly_spaced(values: Tensor, spacing: Any, axis: int, order: int) -> list[Tensor]:
    """Return the slopes at the start, inside and at the end of samples that are `spacing` apart."""
    size = values.shape[axis]
    inside = part_of(values, axis, 2, size - 2) - part_of(values, axis, 0, size - 2)
    if order == 1:
        pairs = (part_of(values, axis, start, 2) for start in (0, size - 2))
        first, last = (_differences(pair, axis) / spacing for pair in pairs)
    else:
        weights = _end_weights(spacing, spacing)
        first, last = _at_ends(values, axis, weights, weights)
    return [first, inside / (2.0 * spacing), last]


def _between_points(values: Tensor, steps: Tensor, axis: int, order: int) -> list[Tensor]:
    """Return the same of samples that are `steps` apart."""
    count = steps.shape[axis]
    if order == 1:
        first, last = (
            _differences(part_of(values, axis, start, 2), axis) / part_of(steps, axis, start, 1)
            for start in (0, count - 1)
        )
    else:
        steps_at = [part_of(steps, axis, start, 1) for start in (0, 1, count - 1, count - 2)]
        first, last = _at_ends(
            values, axis, _end_weights(*steps_at[:2]), _end_weights(*steps_at[2:])
        )
    return [first, _inside(values, steps, axis), last]


def _inside(values: Tensor, steps: Tensor, axis: int) -> Tensor:
    """Return the slopes at the middle of three samples; where all steps are equal, the middle one has no weight."""
    size = values.shape[axis] - 2
    left, middle, right = (part_of(values, axis, start, size) for start in range(3))
    before, after = part_of(steps, axis, 0, size), part_of(steps, axis, 1, size)
    both = before + after
    even = all_true(apply(EQUAL, steps, part_of(steps, axis, 0, 1)))
    own = apply(WHERE, even, 0.0, (after - before) / (before * after) * middle)
    slopes: Tensor = -after / (before * both) * left + own + before / (after * both) * right
    return slopes


def _end_weights(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """Return the weights of three samples in the slope at the first, by the steps from it to the next and on."""
    both = near + far
    return -(near + both) / (near * both), both / (near * far), -near / (far * both)


def _at_ends(values: Tensor, axis: int, first: Any, last: Any) -> tuple[Tensor, Tensor]:
    """Return the slopes at both ends; seen from the last sample, steps go backwards, and so weights are negative."""
    size = values.shape[axis]
    start = [part_of(values, axis, offset, 1) for offset in (0, 1, 2)]
    end = [part_of(values, axis, size - 1 - offset, 1) for offset in (0, 1, 2)]
    return (
        first[0] * start[0] + first[1] * start[1] + first[2] * start[2],
        -last[2] * end[2] - last[1] * end[1] - last[0] * end[0],
    )


@exact(np.convolve, 3, besides=_OTHERS)
def convolve(a: ArrayLike, v: ArrayLike, mode: Mode = "full") -> Tensor:
    """Discrete convolution of two vectors: sums of products, one of them reversed and shifted along the other.

    `mode` is "full" (n + m - 1 elements: wherever the two overlap), "same" (as many as the longer one has, the
    middle of "full") or "valid" (where they overlap completely). Of bools it is whether two true ones meet.

    >>> tfr.convolve(tfr.asarray([1, 2, 3]), tfr.asarray([0, 1, 2])).tolist()
    [0, 1, 4, 7, 6]
    """
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f'convolve: mode is "full", "same" or "valid", got {mode!r}')
    pair = [with_axes(tensor, 1) for tensor in promoted(a, v)]
    if pair[0].dtype in dtypes.BOOL:
        first, second = (converted(tensor, dtypes.int64) for tensor in pair)
        return apply(NOT_EQUAL, convolve(first, second, mode), 0)
    long, short = sorted(pair, key=lambda vector: -vector.size)
    return call(CONVOLVE, long, short, attrs=(mode,))


@exact(np.correlate, 3, besides=_OTHERS | COMPLEX)  # NumPy's zeros have other signs
def correlate(a: ArrayLike, v: ArrayLike, mode: Mode = "valid") -> Tensor:
    """Cross-correlation of two vectors: sums of products, the conjugate of one shifted along the other.

    `mode` is that of `convolve`.

    >>> tfr.correlate(tfr.asarray([1, 2, 3]), tfr.asarray([0, 1, 2]), "full").tolist()
    [2, 5, 8, 3, 0]
    """
    first, second = (with_axes(tensor, 1) for tensor in promoted(a, v))
    if first.size >= second.size:
        return convolve(first, flip(_conjugated(second)), mode)
    return flip(_conjugated(convolve(second, flip(_conjugated(first)), mode)))


def _conjugated(tensor: Tensor) -> Tensor:
    return apply(CONJ, tensor) if tensor.dtype in dtypes.COMPLEX else tensor
