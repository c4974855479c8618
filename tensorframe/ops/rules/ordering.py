"""Gradients of what orders elements, and of convolution: each goes back to where its element came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.dtypes import int32, int64
from tensorframe.ops.derivatives import conjugate
from tensorframe.ops.rules.indexing import of_take_along_axis
from tensorframe.ops.term import (
    Term,
    call,
    equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    where,
)

# Elements of a line for each place of it from which kernels of devices select, and places up to which they do: for
# each of them they read the line digit by digit.
_LONG, _FEW = 512, 16


def is_selected(length: int, count: int) -> bool:
    """Whether so many elements of a line are selected by kernels of devices, and found again, instead of sorting it."""
    return count <= _FEW and length >= _LONG * count


def _order(x: Term, axis: int, *, descending: bool = False) -> Term:
    return call("argsort", x, attrs=(axis, descending, True))


def _along(x: Term, indices: Term, axis: int) -> Term:
    return call("take_along_axis", x, indices, attrs=(axis,))


def of_sort(ct: Term, _out: Term, x: Term, axis: int, descending: bool) -> Sequence[Any]:
    """Rule of sorting: the order undone."""
    rank = _order(_order(x, axis, descending=descending), axis)
    return (_along(ct, rank, axis),)


def of_partition(ct: Term, out: Term, x: Term, _kth: Any, axis: int) -> Sequence[Any]:
    """Rule of partitioning: what is the n-th of the result was the n-th of the tensor."""
    rank = _order(_order(x, axis), axis)
    return (_along(_along(ct, _order(out, axis), axis), rank, axis),)


def of_select(ct: Term, out: Term, lines: Term, places: Term) -> Sequence[Any]:
    """Rule of the elements at places of sorted lines: added up where they came from."""
    axis = len(lines.shape) - 1
    count = places.shape[axis]
    if is_selected(lines.shape[axis], count):
        shares = [
            _found_again(
                _one(ct, axis, number), _one(out, axis, number), _one(places, axis, number), lines
            )
            for number in range(count)
        ]
        return sum(shares[1:], shares[0]), None
    positions = _along(_order(lines, axis), places, axis)
    return of_take_along_axis(ct, ct, lines, positions, axis)


def _one(x: Term, axis: int, number: int) -> Term:
    starts = (*[0] * axis, number)
    return x.sliced(starts, (*x.shape[:axis], 1), (1,) * (axis + 1))


def _found_again(ct: Term, value: Term, place: Term, lines: Term) -> Term:
    """Return cotangents of one element of each line where that is: of equal ones, the one a stable order puts there."""
    axis = len(lines.shape) - 1
    missing, is_missing = [call("isnan", x, attrs=()) for x in (lines, value)]
    smaller = where(is_missing, logical_not(missing), lines < value)
    before = smaller.cast(int32).sum((axis,), True)
    alike = logical_or(equal(lines, value), logical_and(missing, is_missing))
    number = alike.cast(int32).scanned("cumulative_sum", axis)
    wanted = place.cast(int32) - before + 1
    return where(logical_and(alike, equal(number, wanted)), ct, 0)


def of_topk(
    cts: Sequence[Term | None], out: Term, x: Term, count: int, axis: int, _largest: bool
) -> Sequence[Any]:
    """Rule of the largest or smallest few: to their positions."""
    ct = cts[0]
    if ct is None:
        return (None,)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    positions = out.part(1, shape, int64)
    return of_take_along_axis(ct, ct, x, positions, axis)[:1]


def of_histogram(
    ct: Term, _out: Term, x: Term, edges: Term, *weights_uniform_dtype: Any
) -> Sequence[Any]:
    """Rule of a weighted histogram: to each weight what its bin has. Values change bins in jumps."""
    *weights, _uniform, _dtype = weights_uniform_dtype
    if not weights:
        return None, None

    def of_weights() -> Term:
        bins = edges.shape[0] - 1
        place = call("searchsorted", edges, x, attrs=("right",)) - 1
        inside = logical_and(x >= _edge(edges, 0), x <= _edge(edges, bins))
        bin_number = maximum(minimum(place, bins - 1), 0)  # the last edge belongs to its bin
        return where(inside, call("gather", ct, bin_number, attrs=((0,), 0)), 0)

    return None, None, of_weights


def _edge(edges: Term, index: int) -> Term:
    return edges.sliced((index,), (1,), (1,)).reshaped(())


def of_convolve(ct: Term, _out: Term, long: Term, short: Term, mode: str) -> Sequence[Any]:
    """Rule of a convolution: correlations of the cotangent with the other operand."""
    (n,), (m,) = long.shape, short.shape
    whole = n + m - 1
    start = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    ct = ct.padded((start,), (whole - start - ct.shape[0],))

    def against(other: Term) -> Term:
        turned = conjugate(other).flipped((0,))
        return call("convolve", ct, turned, attrs=("valid",))

    return lambda: against(short), lambda: against(long)

