"""Pooling: windows on an axis that are added up where they lie, and the largest element or the sum of each window.

Few elements are combined as slices of the whole, which is elementwise; many as windows that are reduced. What flows back
to an element comes from the windows that it lies in: these are consecutive, so it is the sum of a few shifted tensors.
Only the largest elements of windows that overlap are few enough for a scatter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from tensorframe.dtypes import FLOAT, FLOATING, REAL, DType, int32
from tensorframe.graph.op import FULL, NONE, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.formulas import formula
from tensorframe.ops.term import Term, arange, call, equal, maximum, where

# up to how many elements of an axis are slices of the whole, one for each
_MOST_SLICES = 8
# and up to how many elements of a window, on several axes; more are joined along one axis after the other
_MOST_PLACES = 16
# elements whose positions are numbers of 32 bits
_MOST_POSITIONS = 1 << 31


# --- windows, added up


def _fold_shape(shapes: tuple[Shape, ...], axis: int, _step: int, _dilation: int, length: int) -> Shape:
    *shape, _size = shapes[0]
    return (*shape[:axis], length, *shape[axis + 1 :])


def _fold(windows: Term, axis: int, step: int, dilation: int, length: int) -> Term:
    """Add up windows: where one of step and dilation is 1, interleaved elements of the other; else one place after another."""
    if dilation == 1:
        return _fitted(_turns(windows, axis, step), axis, length)
    if step == 1:  # windows and places inside of them change roles
        last = len(windows.shape) - 1
        order = list(range(last + 1))
        order[axis], order[last] = last, axis
        return _fitted(_turns(windows.permuted(tuple(order)), axis, dilation), axis, length)
    return _place_by_place(windows, axis, step, dilation, length)


def _turns(windows: Term, axis: int, step: int) -> Term:
    """Return the sum of windows `step` elements apart: turn j of each is what lies in the reach of j windows further."""
    *shape, size = windows.shape
    turns = max(-(-size // step), 1)
    last = len(shape)
    total: Term | None = None
    for turn in range(turns):
        first = turn * step
        count = min(step, size - first)
        part = windows.sliced((0,) * last + (first,), (*shape, count), (1,) * (last + 1))
        before = tuple([turn if place == axis else 0 for place in range(last + 1)])
        after = [turns - 1 - turn if place == axis else 0 for place in range(last)]
        part = part.padded(before, (*after, step - count))
        total = part if total is None else total + part
    assert total is not None
    order = (*range(axis + 1), last, *range(axis + 1, last))
    count = shape[axis] + turns - 1
    return total.permuted(order).reshaped((*shape[:axis], count * step, *shape[axis + 1 :]))


def _place_by_place(windows: Term, axis: int, step: int, dilation: int, length: int) -> Term:
    """Return the sum of windows, the elements at one place of all windows after those at another."""
    *shape, size = windows.shape
    last = len(shape)
    total: Term | None = None
    for place in range(size):
        starts = (0,) * last + (place,)
        part = windows.sliced(starts, (*shape, 1), (1,) * (last + 1))
        spread = _fitted(_turns(part, axis, step), axis, length - place * dilation)
        spread = _moved(spread, axis, place * dilation)
        total = spread if total is None else total + spread
    assert total is not None
    return total


def _moved(x: Term, axis: int, by: int) -> Term:
    return x.padded(tuple([by if place == axis else 0 for place in range(len(x.shape))]), (0,) * len(x.shape))


def _spread(x: Term, steps: Mapping[int, int]) -> Term:
    """Return the elements of axes so many steps apart, with zeros behind each."""
    counts = [steps.get(axis, 1) for axis in range(len(x.shape))]
    if max(counts) == 1:
        return x
    apart = [size for length in x.shape for size in (length, 1)]
    after = [size for step in counts for size in (0, step - 1)]
    padded = x.reshaped(tuple(apart)).padded((0,) * len(apart), tuple(after))
    return padded.reshaped(tuple([length * step for length, step in zip(x.shape, counts, strict=True)]))


def _fitted(x: Term, axis: int, length: int) -> Term:
    """Return a term with zeros put after an axis, or zeros cut off from it."""
    missing = length - x.shape[axis]
    if missing > 0:
        after = tuple([missing if place == axis else 0 for place in range(len(x.shape))])
        return x.padded((0,) * len(x.shape), after)
    if missing < 0:
        sizes = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        return x.sliced((0,) * len(sizes), sizes, (1,) * len(sizes))
    return x


def _of_fold(
    ct: Term, _out: Term, windows: Term, axis: int, step: int, dilation: int, _length: int
) -> Sequence[Any]:
    """Rule of windows that are added up: the windows."""
    return (call("windows", ct, attrs=(axis, windows.shape[-1], step, dilation)),)


# --- the largest, or the sum, of each window


def _pooled_shape(
    shapes: tuple[Shape, ...], axes: Shape, sizes: Shape, steps: Shape, dilations: Shape
) -> Shape:
    shape = list(shapes[0])
    for axis, size, step, dilation in zip(axes, sizes, steps, dilations, strict=True):
        shape[axis] = (shape[axis] - (size - 1) * dilation - 1) // step + 1
    return tuple(shape)


def _pooled(
    x: Term,
    join: Callable[[Term, Term], Term],
    reduction: str,
    windows: Sequence[Shape],
) -> Term:
    """Return the elements of each window joined: first along axes that have one window, as they are reduced."""
    whole = [_is_whole(x, *window) for window in zip(*windows, strict=True)]
    if any(whole):
        axes = tuple([axis for axis, is_whole in zip(windows[0], whole, strict=True) if is_whole])
        x = call(reduction, x, attrs=(axes, True))
    rest = [window for window, is_whole in zip(zip(*windows, strict=True), whole, strict=True) if not is_whole]
    if prod([size for _, size, _, _ in rest]) <= _MOST_PLACES:
        return _joined(x, rest, join)
    for window in reversed(rest):
        size = window[1]
        if size <= _MOST_SLICES:
            x = _joined(x, [window], join)
        else:
            seen = call("windows", x, attrs=window)
            x = call(reduction, seen, attrs=((len(x.shape),), False))
    return x


def _is_whole(x: Term, axis: int, size: int, _step: int, dilation: int) -> bool:
    return x.shape[axis] == size and dilation == 1


def _joined(
    x: Term, windows: Sequence[Sequence[int]], join: Callable[[Term, Term], Term]
) -> Term:
    """Return the slices of windows joined, one for each place in a window."""
    total: Term | None = None
    for place in range(prod([window[1] for window in windows])):
        part = _at_place(x, place, windows)
        total = part if total is None else join(total, part)
    assert total is not None
    return total


def _at_place(x: Term, place: int, windows: Sequence[Sequence[int]]) -> Term:
    """Return the elements at one place, in C order, of all windows."""
    for axis, size, step, dilation in reversed(windows):
        x = _taken(x, axis, place % size, size, step, dilation)
        place //= size
    return x


def _taken(x: Term, axis: int, place: int, size: int, step: int, dilation: int) -> Term:
    """Return the elements at one place of all windows on an axis."""
    count = (x.shape[axis] - (size - 1) * dilation - 1) // step + 1
    starts = tuple([place * dilation if other == axis else 0 for other in range(len(x.shape))])
    sizes = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    steps = tuple([step if other == axis and count > 1 else 1 for other in range(len(x.shape))])
    return x.sliced(starts, sizes, steps)


def _largest(x: Term, *windows: Shape) -> Term:
    return _pooled(x, maximum, "max", windows)


def _total(x: Term, *windows: Shape) -> Term:
    return _pooled(x, Term.__add__, "sum", windows)


def _index_dtype(*_: Any) -> DType:
    return int32


def _index(x: Term, largest: Term, axes: Shape, sizes: Shape, steps: Shape, dilations: Shape) -> Term:
    """Return the place in its window, in C order, of the first element that equals the largest."""
    count = prod(sizes)
    if count > _MOST_SLICES**2:
        seen = x
        for window in zip(axes, sizes, steps, dilations, strict=True):
            seen = call("windows", seen, attrs=window)
        added = tuple(range(len(x.shape), len(seen.shape)))
        is_largest = equal(seen, largest.reshaped((*largest.shape, *[1] * len(axes))))
        places = where(is_largest, arange(x, count).reshaped(sizes), count - 1)
        return places.min(added, keepdims=False)
    index = (arange(x, 1) + (count - 1)).reshaped((1,) * len(x.shape)).expanded(largest.shape)
    windows = list(zip(axes, sizes, steps, dilations, strict=True))
    for place in reversed(range(count - 1)):
        index = where(equal(_at_place(x, place, windows), largest), place, index)
    return index


def _spread_back(windows: Term, x: Term, axes: Shape, steps: Shape, dilations: Shape) -> Term:
    """Return what windows, whose elements lie along the last axes, add up to on the axes that they are of."""
    for axis, step, dilation in reversed(list(zip(axes, steps, dilations, strict=True))):
        windows = call("fold", windows, attrs=(axis, step, dilation, x.shape[axis]))
    return windows


def _of_largest(
    ct: Term, _out: Term, x: Term, axes: Shape, sizes: Shape, steps: Shape, dilations: Shape
) -> Sequence[Any]:
    """Rule of the largest element of each window: all to the first that is.

    It is recorded again: a stored one may be of another plan, whose kernels rounded the elements otherwise.
    """
    largest = call("max_pool", x, attrs=(axes, sizes, steps, dilations))
    chosen = call("pool_index", x, largest, attrs=(axes, sizes, steps, dilations))
    if _overlap(sizes, steps, dilations) and 0 < prod(x.shape) < _MOST_POSITIONS:
        return (_added_where_chosen(ct, chosen, x, axes, sizes, steps, dilations),)
    beside = (*ct.shape, *[1] * len(axes))
    places = arange(x, prod(sizes)).reshaped(sizes)
    share = where(equal(chosen.reshaped(beside), places), ct.reshaped(beside), 0)
    return (_spread_back(share, x, axes, steps, dilations),)


def _added_where_chosen(
    ct: Term, chosen: Term, x: Term, axes: Shape, sizes: Shape, steps: Shape, dilations: Shape
) -> Term:
    """Return what flows to each element of windows that overlap: one place in each, rather than sums over all places."""
    rank, stride, inside = len(x.shape), 1, chosen
    position: Term | None = None
    for axis in reversed(range(rank)):
        begin = arange(x, ct.shape[axis]).reshaped((ct.shape[axis], *[1] * (rank - axis - 1)))
        if axis in axes:
            number = axes.index(axis)
            rest = call("floor_divide", inside, chosen.filled(sizes[number], ()), attrs=())
            begin = begin * steps[number] + (inside - rest * sizes[number]) * dilations[number]
            inside = rest
        along = begin * stride
        position = along if position is None else position + along
        stride *= x.shape[axis]
    assert position is not None
    count = (prod(ct.shape),)
    index = position.expanded(ct.shape).reshaped(count)
    zeros = x.filled(0, (stride,))
    return call("scatter_add", zeros, ct.reshaped(count), index, attrs=((0,), 0)).reshaped(x.shape)


def _of_total(
    ct: Term, _out: Term, x: Term, axes: Shape, sizes: Shape, steps: Shape, dilations: Shape
) -> Sequence[Any]:
    """Rule of sums of windows: sums of what flows to the windows that an element lies in, with zeros in between."""
    windows = list(zip(axes, sizes, steps, dilations, strict=True))
    if _overlap(sizes, steps, dilations):
        spread = _spread(ct, dict(zip(axes, steps, strict=True)))
        before, after = [0] * len(x.shape), [0] * len(x.shape)
        for axis, size, _, dilation in windows:
            before[axis] = (size - 1) * dilation
            after[axis] = max(x.shape[axis] - spread.shape[axis], 0)
        padded = spread.padded(tuple(before), tuple(after))
        for axis in axes:
            padded = _fitted(padded, axis, x.shape[axis] + before[axis])
        return (call("sum_pool", padded, attrs=(axes, sizes, (1,) * len(axes), dilations)),)
    for axis, size, step, dilation in reversed(windows):
        share = ct.reshaped((*ct.shape, 1)).expanded((*ct.shape, size))
        ct = call("fold", share, attrs=(axis, step, dilation, x.shape[axis]))
    return (ct,)


def _overlap(sizes: Shape, steps: Shape, dilations: Shape) -> bool:
    """Whether an element may lie in several windows."""
    return any(step < size * dilation for size, step, dilation in zip(sizes, steps, dilations, strict=True))


_WINDOWS = ("axes", "sizes", "steps", "dilations")

FOLD = formula("fold", FLOATING, same, _fold, "Windows, whose elements lie along the last axis, added up on an axis of some length.", shape=_fold_shape, attributes=("axis", "step", "dilation", "length"), in_standard=False, public=False, costly=True, precision=FULL, vjp=_of_fold)
MAX_POOL = formula("max_pool", REAL, same, _largest, "The largest element of each window.", shape=_pooled_shape, attributes=_WINDOWS, in_standard=False, public=False, costly=True, vjp=_of_largest)
SUM_POOL = formula("sum_pool", FLOAT, same, _total, "The sum of each window.", shape=_pooled_shape, attributes=_WINDOWS, in_standard=False, public=False, costly=True, precision=FULL, vjp=_of_total)
POOL_INDEX = formula("pool_index", REAL, _index_dtype, _index, "The place of the largest element in each window, in C order.", shape=_pooled_shape, arity=2, attributes=_WINDOWS, in_standard=False, public=False, costly=True, vjp=NONE)
