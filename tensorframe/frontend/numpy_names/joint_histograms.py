"""Histograms of several variables together, and vectors without the zeros at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.indexing.searching import searchsorted
from tensorframe.frontend.indexing.segments import segment_sum
from tensorframe.frontend.manipulation.joining import stack
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operands import converted, operand, reshaped
from tensorframe.frontend.ordering.histograms import histogram_bin_edges
from tensorframe.frontend.parameters import flag, integer, is_number, items, pair
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axes
from tensorframe.ops.elementwise import WHERE

__all__ = ["histogram2d", "histogramdd", "trim_zeros"]


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Counts of points in the bins of a grid, and the edges along each axis.

    `sample` has a point in each row, or is a sequence of coordinates. `bins` is a number, or for each axis a number
    or its edges; `range` has a pair of ends for each axis. Points outside count nowhere. `density` divides by the
    number of points and by the volumes of bins. Counts are floats, as in NumPy.

    >>> counts, edges = tfr.histogramdd(tfr.asarray([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    points: Any = operand(sample) if not isinstance(sample, tuple | list) else None
    if points is None:
        columns = [operand(column) for column in items("histogramdd", "sample", sample)]
        points = stack(columns, axis=-1) if columns and columns[0].ndim == 1 else operand(sample)
    if points.ndim == 1:
        points = reshaped(points, (points.size, 1))
    if points.ndim != 2:
        raise ShapeError(f"histogramdd: points are rows of a matrix, got shape {points.shape}")
    count, axes = points.shape
    given = [bins] * axes if is_number(bins) else list(items("histogramdd", "bins", bins))
    limits = [None] * axes if range is None else list(items("histogramdd", "range", range))
    if len(given) != axes or len(limits) != axes:
        raise ArgumentError(f"histogramdd: bins and range are for {axes} axes")
    columns = [points[:, axis] for axis in np.arange(axes).tolist()]
    edges = [
        histogram_bin_edges(column, _bins(bin_count), limit)
        for column, bin_count, limit in zip(columns, given, limits, strict=True)
    ]
    sizes = tuple(edge.size - 1 for edge in edges)
    places, inside = _places(columns, edges)
    # as precise as the edges: counts are divided by the volumes between these
    precision = dtypes.promote(dtypes.default_float(), *[edge.dtype for edge in edges])
    mass = operand(1.0 if weights is None else weights)
    if mass.dtype in dtypes.COMPLEX:
        raise DTypeError(f"histogramdd: weights are real numbers, got {mass.dtype}")
    mass = converted(mass, precision)
    if mass.ndim and mass.shape != (count,):
        raise ShapeError(f"histogramdd: weights of shape {mass.shape} for {count} points")
    each = apply(WHERE, inside, mass, 0.0)
    counts: Any = reshaped(segment_sum(each, apply(WHERE, inside, places, 0), prod(sizes)), sizes)
    if density is not None and flag("histogramdd", "density", density):
        counts = counts / total(counts)
        for axis, edge in enumerate(edges):
            widths: Any = part_of(edge, 0, 1, edge.size - 1) - part_of(edge, 0, 0, edge.size - 1)
            counts = counts / reshaped(widths, (widths.size,) + (1,) * (axes - 1 - axis))
    return counts, tuple(edges)


def _bins(bins: Any) -> Any:
    is_edges = isinstance(bins, list | tuple) or bool(getattr(bins, "ndim", 0))
    return bins if is_edges else integer("histogramdd", "bins", bins)


def _places(columns: list[Any], edges: list[Any]) -> tuple[Any, Any]:
    """Return the number of each point's bin in C order, and whether it is in one."""
    place: Any = 0
    inside: Any = True
    for column, edge in zip(columns, edges, strict=True):
        size = edge.size - 1
        last = edge[-1]
        index = searchsorted(edge, column, side="right") - 1
        index = apply(WHERE, column == last, size - 1, index)  # the last bin has its upper edge
        inside = inside & (column >= edge[0]) & (column <= last)
        place = place * size + index
    return place, inside


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Counts of points (x, y) in the bins of a grid, and the edges along both axes: see `histogramdd`.

    `bins` is a number or edges for both axes, or a pair of these.

    >>> counts, x_edges, y_edges = tfr.histogram2d([0.0, 1.0], [0.0, 1.0], bins=2)
    >>> counts.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    first, second = operand(x), operand(y)
    if first.ndim != 1 or first.shape != second.shape:
        raise ShapeError(f"histogram2d: takes two vectors, got {first.shape} and {second.shape}")
    if is_number(bins):
        both = (bins, bins)
    else:
        given = operand(bins) if not isinstance(bins, tuple | list) else bins
        is_pair = isinstance(given, tuple | list) and len(given) == 2
        both = pair("histogram2d", "bins", given) if is_pair else (given, given)
    counts, edges = histogramdd((first, second), both, range, density, weights)
    return counts, edges[0], edges[1]


def trim_zeros(
    filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> Tensor:
    """A tensor without the zeros at the front ("f") and the back ("b") of `axis` (all, if None). Computes it.

    >>> tfr.trim_zeros(tfr.asarray([0, 0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    >>> tfr.trim_zeros(tfr.asarray([[0, 0, 0], [0, 1, 2]])).tolist()
    [[1, 2]]
    """
    tensor = operand(filt)
    if not isinstance(trim, str) or not trim or set(trim.lower()) - {"f", "b"}:
        raise ArgumentError(f'trim_zeros: trim is made of "f" and "b", got {trim!r}')
    if not tensor.ndim:
        return tensor  # it has no ends
    axes = normalize_axes("trim_zeros", axis, tensor.ndim)
    places = np.nonzero(tensor._array())
    for along in axes:
        size = tensor.shape[along]
        edges = places[along]
        start = int(edges.min()) if edges.size and "f" in trim.lower() else 0
        stop = int(edges.max()) + 1 if edges.size and "b" in trim.lower() else size
        stop = stop if edges.size else 0
        tensor = part_of(tensor, along, start, max(stop - start, 0))
    return tensor
