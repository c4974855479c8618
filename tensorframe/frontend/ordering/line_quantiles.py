"""Quantiles of lines: the elements on both sides of each are selected or sorted, and interpolated between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import COMPLEX, FLOAT, NARROW, float32, float64, int64
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.items import getitem
from tensorframe.frontend.manipulation.views import part_of
from tensorframe.frontend.operand_nodes import data_node
from tensorframe.frontend.operands import converted, expanded, filled, floating
from tensorframe.frontend.ordering.quantile_methods import Method, Shares
from tensorframe.frontend.ordering.sorting import sort
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import holds
from tensorframe.ops.elementwise import (
    EQUAL,
    FLOOR_DIVIDE,
    ISFINITE,
    ISNAN,
    LOGICAL_NOT,
    MAXIMUM,
    WHERE,
)
from tensorframe.ops.indexing import TAKE_ALONG_AXIS
from tensorframe.ops.movement import CONCAT
from tensorframe.ops.reduction import MAX, SUM
from tensorframe.ops.rules.ordering import is_selected
from tensorframe.ops.sorting import PARTITION, SELECT

Array = np.ndarray[Any, Any]
# what makes one of the two elements on its sides, and the share of the upper one
Join = Callable[[Tensor, Tensor, Shares], Tensor]


def _between(low: Tensor, high: Tensor, weight: Shares) -> Tensor:
    """Interpolate from the nearer end, so that the result never leaves the interval.

    Where the distance is infinite, each end is weighed by itself: what lies between a number and an infinity, or
    between two equal ones, is that infinity.
    """
    if isinstance(weight, np.ndarray):
        if not weight.any():
            return low
        weight = weight.astype(low.dtype)
        if weight.shape == (1,):
            return _between_by_one(low, high, weight)
        weight = Tensor(data_node(weight, low.device))
    weight = converted(weight, low.dtype)
    rest = 1 - weight
    rise = high - low
    near = apply(WHERE, weight < 0.5, low + rise * weight, high - rise * rest)
    result = apply(WHERE, apply(ISFINITE, rise), near, low * rest + high * weight)
    return apply(WHERE, apply(EQUAL, weight, 0), low, result)


def _between_by_one(low: Tensor, high: Tensor, weight: Array) -> Tensor:
    """Return what `_between` does where there is one weight, which says now which end is the nearer one."""
    upper, lower = float(weight[0]), float((1 - weight)[0])
    if not upper:
        return low
    rise = high - low
    near = low + rise * upper if upper < 0.5 else high - rise * lower
    return apply(WHERE, apply(ISFINITE, rise), near, low * lower + high * upper)


def _middle(low: Tensor, high: Tensor, weight: Shares) -> Tensor:
    """Return the mean of two neighbours, rounded as NumPy's is, or the one that is in the middle."""
    if isinstance(weight, np.ndarray) and not weight.any():
        return low
    narrow = low.dtype in NARROW  # whose sum may be infinite
    first, second = (converted(end, float32) if narrow else end for end in (low, high))
    mean = converted(_halfway(first, second), low.dtype)
    if isinstance(weight, np.ndarray):
        return mean
    return apply(WHERE, apply(EQUAL, weight, 0), low, mean)


def quantiles_of_lines(
    lines: Tensor, shares: Shares, method: Method, join: Join = _between
) -> Tensor:
    """Return quantiles of lines, NaN for those with NaN."""
    below, above, weight = method(shares, lines.shape[-1] - 1)
    selects = _selects(lines, 2 * shares.size)
    if isinstance(below, Tensor) or isinstance(above, Tensor) or selects:
        low, high = _selected(lines, below, above)
        last = call(MAX, lines, attrs=((lines.ndim - 1,), True))  # NaN if any element is
    else:
        ordered = _partitioned(lines, below, above)
        low, high = (_at(ordered, _places(bound)) for bound in (below, above))
        last = part_of(ordered, ordered.ndim - 1, lines.shape[-1] - 1, 1)  # NaN is the largest
    low, high = floating(low, high)
    between = join(low, high, weight)
    return apply(WHERE, apply(ISNAN, last), last, between) if lines.dtype in FLOAT else between


def medians_of_lines(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of lines of real numbers, or means of the middle ones of complex ones, which are sorted."""
    if lines.dtype not in COMPLEX:
        return quantiles_of_lines(lines, shares, method, _middle)
    ordered = sort(lines)
    size = lines.shape[-1]
    low, high = (
        part_of(ordered, lines.ndim - 1, place, 1) for place in ((size - 1) // 2, size // 2)
    )
    last = part_of(ordered, lines.ndim - 1, size - 1, 1)  # NaN counts as the largest
    return apply(WHERE, apply(ISNAN, last), last, _halfway(low, high))


def nan_medians_of_lines(lines: Tensor, shares: Shares, method: Method) -> Tensor:
    """Return quantiles of the real numbers that are not NaN, or the mean of the middle ones of complex ones."""
    if lines.dtype not in COMPLEX:
        return nan_quantiles_of_lines(lines, shares, method, _middle)
    axis = lines.ndim - 1
    count, last = _present(lines)
    below, above = (apply(FLOOR_DIVIDE, number, 2) for number in (last, count))
    ordered = sort(lines)  # NaN comes last, and first where there is nothing else
    low, high = (call(TAKE_ALONG_AXIS, ordered, place, attrs=(axis,)) for place in (below, above))
    return _halfway(low, high)


def _halfway(low: Any, high: Any) -> Tensor:
    middle: Tensor = (low + high) / 2
    return middle


def _present(lines: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many elements of each line are not NaN, and the place of the last of them in order, 0 if none is."""
    present = converted(apply(LOGICAL_NOT, apply(ISNAN, lines)), int64)
    count = call(SUM, present, attrs=((lines.ndim - 1,), True))
    return count, apply(MAXIMUM, count - 1, 0)


def _partitioned(lines: Tensor, below: Array, above: Array) -> Tensor:
    """Return lines with the elements at some places, and the last, where sorting puts them, which takes longer."""
    places = {lines.shape[-1] - 1, *_places(below).tolist(), *_places(above).tolist()}
    return call(PARTITION, lines, attrs=(tuple(sorted(places)), lines.ndim - 1))


def _at(lines: Tensor, places: Array) -> Tensor:
    """Return the elements of lines at some places; of one place, as a view."""
    if places.shape == (1,):
        return part_of(lines, lines.ndim - 1, int(places[0]), 1)
    return getitem(lines, (..., places))


def _places(positions: Any) -> Any:
    return positions.astype(int64)


def nan_quantiles_of_lines(
    lines: Tensor, shares: Shares, method: Method, join: Join = _between
) -> Tensor:
    """Return quantiles of the elements that are not NaN, which counts as larger than these."""
    if lines.dtype not in FLOAT:
        return quantiles_of_lines(lines, shares, method, join)
    # lines of NaN alone have nothing to pick from: their first element, NaN, is the answer
    last = converted(_present(lines)[1], float64)
    below, above, weight = method(shares, last)
    low, high = _selected(lines, below, above)
    return join(low, high, weight)


def _selected(lines: Tensor, below: Any, above: Any) -> tuple[Tensor, Tensor]:
    """Return the elements that sorting would put at places, of which each line may have its own."""
    axis = lines.ndim - 1
    if isinstance(below, np.ndarray) and np.array_equal(below, above):
        only = call(SELECT, lines, _beside(lines, below))
        return only, only
    low, high = (_beside(lines, bound) for bound in (below, above))
    selected = call(SELECT, lines, call(CONCAT, low, high, attrs=(axis,)))
    count = low.shape[axis]
    return part_of(selected, axis, 0, count), part_of(selected, axis, count, count)


def _selects(lines: Tensor, count: int) -> bool:
    """Whether so many places are selected by kernels that leave a line as it is, where partitioning would sort it."""
    able = capabilities(lines.device)
    has_kernels = able.compiles and not able.host_memory and holds(lines.device, int64)
    return has_kernels and is_selected(lines.shape[-1], count)


def _beside(lines: Tensor, positions: Any) -> Tensor:
    """Return places in lines as a tensor beside them; one that is known is a number of a kernel."""
    places = _places(positions)
    shape = (*lines.shape[:-1], places.shape[-1])
    if isinstance(places, Tensor):
        return expanded(places, shape)
    if places.size == 1:
        return filled(shape, int(places[0]), int64, lines.device)
    return expanded(Tensor(data_node(places, lines.device)), shape)
