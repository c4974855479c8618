"""Histograms: how many values lie where, and in which bin each of them lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tensorframe import config
from tensorframe.dtypes import BITWISE, BOOL, COMPLEX, FLOATING, float64, int64
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.dispatch import apply, call, handle_on
from tensorframe.frontend.indexing.index_nodes import as_array, index_node
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.indexing.segments import combined
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import (
    beside,
    converted,
    expanded,
    filled,
    flattened,
    floating,
    operand,
    promoted,
)
from tensorframe.frontend.parameters import choice, count, number, pair
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.ops.elementwise import EQUAL, WHERE
from tensorframe.ops.indexing import SCATTER_ADD
from tensorframe.ops.reduction import MAX, MIN, SUM
from tensorframe.ops.sorting import HISTOGRAM, SEARCHSORTED
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import evaluate

__all__ = ["Histogram", "bincount", "digitize", "histogram", "histogram_bin_edges"]

# the names of NumPy's rules for the number of bins
_RULES: Final = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")


class Histogram(NamedTuple):
    """What `histogram` gives.

    A pair: how many elements fell into each bin (or the density there), and the edges, one more
    than bins.
    """

    counts: Tensor
    edges: Tensor


def histogram(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> Histogram:
    """How many of the values, or how much of their weight, each bin holds, and the edges of the bins.

    `bins` is their number, equally wide between the smallest and the largest value or in `range`; or the edges; or
    the name of one of NumPy's rules, for which `a` is computed. A bin holds its lower edge, the last its upper one
    too. `density` divides by the total and the widths. Counts are int64.

    >>> counts, edges = tfr.histogram(tfr.asarray([1.0, 2.0, 1.5, 5.0]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([3, 1], [1.0, 3.0, 5.0])
    """
    a = operand(a)
    edges, uniform = _edges(a, bins, range, weights)
    operands = promoted(flattened(a), edges)
    dtype = int64
    if weights is not None:
        weights = operand(weights)
        if weights.shape != a.shape:
            raise ShapeError(f"histogram: weights of shape {weights.shape} for a of {a.shape}")
        if weights.dtype in BOOL:
            weights = converted(weights, int64)
        operands.append(flattened(weights))
        dtype = weights.dtype
    counts = call(HISTOGRAM, *operands, attrs=(uniform, dtype))
    if density:
        (counts,) = floating(counts)
        widths = getitem(edges, slice(1, None)) - getitem(edges, slice(-1))
        counts = counts / widths / call(SUM, counts, attrs=((0,), False))
    return Histogram(counts, edges)


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: tuple[float, float] | None = None,
    weights: ArrayLike | None = None,
) -> Tensor:
    """The edges of the bins that `histogram` counts in.

    All bins have the same width when `bins` is a number or the name of one of NumPy's rules.

    >>> tfr.histogram_bin_edges(tfr.asarray([1.0, 2.0, 5.0]), bins=2).tolist()
    [1.0, 3.0, 5.0]
    """
    return _edges(operand(a), bins, range, weights)[0]


def _edges(x: Tensor, bins: Any, limits: Any, weights: Any) -> tuple[Tensor, bool]:
    """Return the edges, and whether they are equally far apart."""
    if x.dtype in COMPLEX:
        hints = ("x.real", "abs(x)", "tfr.histogram2d(x.real, x.imag)")
        raise DTypeError("histogram: bins hold real numbers, got complex ones", suggestions=hints)
    if isinstance(bins, str):
        if weights is not None:
            raise ArgumentError(f"histogram: the rule {bins!r} does not know weights")
        choice("histogram", "rule for bins", bins, _RULES)
        by_rule = np.histogram_bin_edges(x._array(), bins, limits)
        return Tensor(data_node(by_rule, x.device)), True
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise ArgumentError(f"histogram: takes one bin at least, got {bins}")
        return _uniform_edges(x, count("histogram", "bins", bins), limits), True
    edges = beside(x, bins)
    if edges.ndim != 1 or edges.size < 2:
        raise ShapeError(f"histogram: edges are a vector of two at least, got shape {edges.shape}")
    return edges, False


def _uniform_edges(x: Tensor, bins: int, limits: Any) -> Tensor:
    # float32 does not tell large integers apart
    dtype = x.dtype if x.dtype in FLOATING else float64
    low, high = _limits(x, limits, converted(x, dtype))
    alike = apply(EQUAL, low, high)
    low, high = apply(WHERE, alike, low - 0.5, low), apply(WHERE, alike, high + 0.5, high)
    steps = np.arange(bins + 1)
    rising = low + Tensor(data_node(steps.astype(dtype), x.device)) * ((high - low) / bins)
    # exactly the upper limit, whatever the rounding
    return apply(WHERE, Tensor(data_node(steps == bins, x.device)), high, rising)


def _limits(x: Tensor, limits: Any, values: Tensor) -> tuple[Tensor, Tensor]:
    if limits is None and x.size:
        axes = tuple(range(x.ndim))
        return call(MIN, values, attrs=(axes, False)), call(MAX, values, attrs=(axes, False))
    low, high = (0.0, 1.0) if limits is None else _given_limits(limits)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise OutOfRangeError(f"histogram: range is two finite numbers in order, got {limits}")
    ends = [Tensor(data_node(np.asarray(end, values.dtype), x.device)) for end in (low, high)]
    return ends[0], ends[1]


def _given_limits(limits: Any) -> Iterator[float]:
    return (number("histogram", "range", limit) for limit in pair("histogram", "range", limits))


def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a vector of non-negative integers, or the sum of its weights.

    The result reaches to the largest element, and has `minlength` elements at least. `x` is computed at once, since the
    shape depends on it; `segment_sum` takes the length instead. Counts are int64; sums have the dtype of the weights,
    integers as the default real dtype.

    >>> tfr.bincount(tfr.asarray([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    x = operand(x)
    minlength = count("bincount", "minlength", minlength)
    if x.dtype not in BITWISE or x.ndim != 1:
        raise DTypeError(f"bincount: takes a vector of integers, got {x.dtype} of shape {x.shape}")
    if minlength < (length := _reach(x)):
        minlength = length
    if weights is None:
        counts = _counted(x, minlength)
        if counts is not None:
            return counts
        weights = expanded(filled((), 1, default_on(x.device, int64), x.device), x.shape)
    else:
        (weights,) = floating(weights)
        if weights.shape != x.shape:
            raise ShapeError(f"bincount: weights of shape {weights.shape} for x of {x.shape}")
    places = Tensor(
        index_node(
            converted(x, int64) if x.dtype in BOOL else x, 0, minlength, x.device, checked=True
        )
    )
    return combined(SCATTER_ADD, weights, places, minlength, 0)


def _counted(x: Tensor, length: int) -> Tensor | None:
    """Return the counts of a small vector in host memory, all of whose elements were just looked at; None of others."""
    storage, most = x.node.storage, config.get().small_size
    if storage is None or type(storage.handle) is not np.ndarray or max(x.size, length) > most:
        return None
    counts = np.bincount(storage.handle.astype(np.int64, copy=False), minlength=length)
    return handle_on(data_node(counts, x.device))


def _reach(x: Tensor) -> int:
    """Return the largest element and one; OutOfRangeError if one is negative."""
    if not x.size:
        return 0
    storage = x.node.storage
    if storage is not None and type(storage.handle) is np.ndarray:
        low, high = int(storage.handle.min()), int(storage.handle.max())
    else:
        bounds = [call(op, x, attrs=((0,), False)) for op in (MIN, MAX)]
        evaluate((x.node, *[bound.node for bound in bounds]))
        low, high = (int(bound.item()) for bound in bounds)
    if low < 0:
        raise OutOfRangeError(f"bincount: takes integers from 0 on, got {low}")
    return high + 1


def digitize(x: ArrayLike, bins: ArrayLike | str, right: bool = False) -> Tensor:
    """The number of the bin that each value lies in: 0 before the first edge, `len(bins)` after the last.

    `bins` rise or fall; they are computed at once to tell which. `right` puts a value on an edge in the bin below.

    >>> tfr.digitize(tfr.asarray([0.5, 1.0, 9.0]), tfr.asarray([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    edges = as_array(beside(operand(x), bins))
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins are a vector, got shape {edges.shape}")
    falling = _falls(edges)
    rises = edges[::-1] if falling else edges
    if (rises[1:] < rises[:-1]).any():
        raise OutOfRangeError("digitize: bins must rise or fall throughout")
    values, ordered = promoted(x, Tensor(data_node(rises, operand(x).device)))
    place = call(SEARCHSORTED, ordered, values, attrs=("left" if right else "right",))
    return edges.size - place if falling else place


def _falls(edges: Any) -> bool:
    """Whether the first two edges that differ do not rise; NaN, which sorting puts last, is above every number."""
    differ = np.flatnonzero(edges[1:] != edges[:-1])
    return differ.size > 0 and not edges[differ[0]] < edges[differ[0] + 1]
