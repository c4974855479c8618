"""Gradients of gathers and scatters: what was read is added to, what was written is read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tensorframe.dtypes import float32, wide_of
from tensorframe.ops.derivatives import Rule, conjugate, nonzero
from tensorframe.ops.term import Term, arange, call, equal, logical_and, where

Selection = tuple[tuple[Term, ...], tuple[tuple[int, ...], int]]


def _taken_apart(values: Sequence[Any]) -> Selection:
    """Return the index tensors and the attributes that follow the first operands."""
    *indices, axes, place = values
    return tuple(indices), (axes, place)


def of_gather(ct: Term, _out: Term, x: Term, *rest: Any) -> Sequence[Any]:
    """Rule of elements selected by index tensors: added up where they came from."""
    indices, attrs = _taken_apart(rest)
    total = call("scatter_add", x.filled(0, x.shape), ct, *indices, attrs=attrs)
    return (total, *[None] * len(indices))


def of_take_along_axis(ct: Term, _out: Term, x: Term, indices: Term, axis: int) -> Sequence[Any]:
    """Rule of elements selected along lines: added up where they came from."""
    count = len(x.shape)
    # of the other axes every position is selected: the first one, over and over, of those of size 1
    places = [
        arange(x, size).cast(indices.dtype).reshaped((1,) * dimension + (size,) + (1,) * (count - dimension - 1))
        for dimension, size in enumerate(x.shape)
    ]
    places[axis] = indices
    attrs = (tuple(range(count)), 0)
    return call("scatter_add", x.filled(0, x.shape), ct, *places, attrs=attrs), None


def of_scatter(ct: Term, _out: Term, x: Term, values: Term, *rest: Any) -> Sequence[Any]:
    """Rule of elements that are replaced: to the tensor what is not, to each value that stayed what took its place."""
    indices, attrs = _taken_apart(rest)

    def kept() -> Term:
        return call("scatter", ct, ct.filled(0, values.shape), *indices, attrs=attrs)

    def stayed() -> Term:
        number = arange(x, prod(values.shape)).reshaped(values.shape)
        written = call("scatter", number.filled(-1, x.shape), number, *indices, attrs=attrs)
        last = equal(call("gather", written, *indices, attrs=attrs), number)
        return where(last, call("gather", ct, *indices, attrs=attrs), 0)

    return (kept, stayed, *[None] * len(indices))


def of_scatter_add(ct: Term, _out: Term, _x: Term, _values: Term, *rest: Any) -> Sequence[Any]:
    """Rule of values that are added."""
    indices, attrs = _taken_apart(rest)
    return (ct, lambda: call("gather", ct, *indices, attrs=attrs), *[None] * len(indices))


def of_scatter_prod(ct: Term, _out: Term, x: Term, values: Term, *rest: Any) -> Sequence[Any]:
    """Rule of elements multiplied by values: the product of all others, those that are zero counted apart."""
    indices, attrs = _taken_apart(rest)

    def of_tensor() -> Term:
        others = call("scatter_prod", x.filled(1, x.shape), values, *indices, attrs=attrs)
        return ct * conjugate(others)

    def of_values() -> Term:
        zero = equal(values, 0)
        present = call("scatter_prod", nonzero(x), nonzero(values), *indices, attrs=attrs)
        counted = (equal(x, 0).cast(float32), zero.cast(float32))
        zeros = call("scatter_add", *counted, *indices, attrs=attrs)
        product = call("gather", present, *indices, attrs=attrs)
        count = call("gather", zeros, *indices, attrs=attrs)
        alone = logical_and(zero, equal(count, 1))
        others = where(alone, product, where(equal(count, 0), product / nonzero(values), 0))
        return call("gather", ct, *indices, attrs=attrs) * conjugate(others)

    return (of_tensor, of_values, *[None] * len(indices))


def of_scatter_extremum(name: str) -> Rule:
    """Return the rule of the larger, or smaller, of elements and values: to all that are, in equal shares.

    What they are is recorded again: it may be stored, by kernels that rounded the operands otherwise.
    """

    def rule(ct: Term, _out: Term, x: Term, values: Term, *rest: Any) -> Sequence[Any]:
        indices, attrs = _taken_apart(rest)
        wide = wide_of(x.dtype)
        extremes = call(name, x, values, *indices, attrs=attrs)
        stays = equal(x, extremes)
        taken = equal(values, call("gather", extremes, *indices, attrs=attrs))
        count = call("scatter_add", stays.cast(wide), taken.cast(wide), *indices, attrs=attrs)
        share = ct / count

        def of_values() -> Term:
            return where(taken, call("gather", share, *indices, attrs=attrs), 0)

        return (lambda: where(stays, share, 0), of_values, *[None] * len(indices))

    return rule
