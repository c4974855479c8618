"""Gradients of reductions and scans."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorframe.dtypes import float32, wide_of
from tensorframe.graph.shape import reduced
from tensorframe.ops.derivatives import Rule, conjugate, nonzero
from tensorframe.ops.term import Term, call, equal, logical_and, where

Axes = tuple[int, ...]


def spread(ct: Term, x: Term, axes: Axes, keepdims: bool) -> Term:
    """Return the cotangent of a sum along axes for each of its elements."""
    return with_axes(ct, x, axes, keepdims).expanded(x.shape)


def with_axes(result: Term, x: Term, axes: Axes, keepdims: bool) -> Term:
    """Return what `x` was reduced to along axes with these axes, of size one."""
    return result if keepdims else result.reshaped(reduced(x.shape, axes, keepdims=True))


def extremum(name: str) -> Rule:
    """Return the rule of a largest or smallest element: to all that are, in equal shares.

    It is recorded again: a stored one may be of another plan, whose kernels rounded the elements otherwise.
    """

    def rule(ct: Term, _out: Term, x: Term, axes: Axes, keepdims: bool) -> Sequence[Any]:
        chosen = equal(x, call(name, x, attrs=(axes, True)))
        # half precision would stop counting at 2048, or 256
        ones = chosen.cast(wide_of(x.dtype))
        share = with_axes(ct, x, axes, keepdims) / ones.sum(axes, keepdims=True)
        return (where(chosen, share, 0),)

    return rule


def product(ct: Term, _out: Term, x: Term, axes: Axes, keepdims: bool) -> Sequence[Any]:
    """Rule of a product: that of all others, from both ends, so that zeros need no case of their own."""
    kept = tuple([axis for axis in range(len(x.shape)) if axis not in axes])
    order = kept + axes
    shape = tuple([x.shape[axis] for axis in kept])
    lines = x.permuted(order).reshaped((*shape, prod([x.shape[axis] for axis in axes])))
    last = len(shape)
    others = before(lines, last) * before(lines.flipped((last,)), last).flipped((last,))
    moved = tuple([x.shape[axis] for axis in order])
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    others = others.reshaped(moved).permuted(back)
    return (with_axes(ct, x, axes, keepdims) * conjugate(others),)


def before(x: Term, axis: int) -> Term:
    """Return the products of all elements before each one along an axis: 1 for the first."""
    size = x.shape[axis]
    if not size:
        return x
    ahead = tuple([1 if dimension == axis else 0 for dimension in range(len(x.shape))])
    starts, steps = (0,) * len(x.shape), (1,) * len(x.shape)
    shorter = tuple([size - 1 if dimension == axis else n for dimension, n in enumerate(x.shape)])
    head = x.sliced(starts, shorter, steps)
    return head.padded(ahead, starts, 1).scanned("cumulative_prod", axis)


def running_sum(ct: Term, _out: Term, _x: Term, axis: int) -> Sequence[Any]:
    """Rule of sums up to each position: sums from each position on."""
    return (following(ct, axis),)


def following(x: Term, axis: int) -> Term:
    """Return the sums of the elements from each position on."""
    return x.flipped((axis,)).scanned("cumulative_sum", axis).flipped((axis,))


def running_product(ct: Term, out: Term, x: Term, axis: int) -> Sequence[Any]:
    """Rule of products up to each position, of which all are zero from the first zero on.

    Before that zero, what flows is divided by the element; to the zero itself flows what would if it were 1, and after
    it nothing. The derivation is that of PyTorch's cumprod.
    """
    zero = equal(x, 0)
    zeros = zero.cast(float32).scanned("cumulative_sum", axis)
    first = logical_and(zero, equal(zeros, 1))
    others = where(first, 1, x).scanned("cumulative_prod", axis)
    to_first = following(ct * conjugate(others), axis)
    to_others = following(ct * conjugate(out), axis) / conjugate(nonzero(x))
    return (where(first, to_first, where(equal(zeros, 0), to_others, 0)),)
