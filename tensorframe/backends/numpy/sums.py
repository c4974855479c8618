"""Sums and products of floats in NumPy, whose order is a function of the reduced lengths alone.

NumPy's own order depends on strides: pairwise along memory, one after the other across it, so a column alone has
another sum than among others. Here chunks of the reduced elements are halved, each half added to the other, until one
is left; then so are the results of the chunks. All of it is elementwise, whatever lies next to what.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.blocks import Index
from tensorframe.graph.shape import Shape

Array = Any

# Reduced elements of a chunk, and elements of a block of several lines: they fit the second level of cache. Where a
# chunk alone has as many, a block still has some lines, since lines of the cache hold elements of several.
_CHUNK = 1 << 15
_LINES = 8
# Halves of up to so many elements are added element by element of the other axes first, where these are more.
_SHORT = 16


def joined(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum or the product over axes, which are left out of its shape, in memory of its own."""
    moved = _moved(x, axes)
    lengths, shape = moved.shape[: len(axes)], moved.shape[len(axes) :]
    if not x.size:
        return np.full(shape, ufunc.identity, x.dtype)
    if x.size <= _CHUNK:
        return _halved(ufunc, moved.reshape((prod(lengths), *shape))).copy()
    chunks = list(_boxes(lengths, _CHUNK))
    results = np.empty((len(chunks), *shape), x.dtype)
    for at, chunk in enumerate(chunks):
        part = moved[chunk]
        count = prod(part.shape[: len(axes)])
        for lines in _boxes(shape, max(_CHUNK // count, _LINES)):
            block = part[(slice(None),) * len(axes) + lines]
            flat = block.reshape((count, *block.shape[len(axes) :]))
            place: Any = (at, *lines)
            results[place] = _halved(ufunc, flat)
    return results[0] if len(chunks) == 1 else _halved(ufunc, results).copy()


def in_turn(ufunc: np.ufunc, x: Array, axes: tuple[int, ...]) -> Array:
    """Return what NumPy does, one element after the other: which parts of complex products are NaN depends on it."""
    moved = _moved(x, axes)
    shape = moved.shape[len(axes) :]
    return ufunc.reduce(moved.reshape((prod(moved.shape[: len(axes)]), *shape)), axis=0)


def _moved(x: Array, axes: tuple[int, ...]) -> Array:
    """Return an array whose reduced axes are the first ones, in order."""
    if len(axes) == x.ndim:
        return x
    return x.transpose([*sorted(axes), *[axis for axis in range(x.ndim) if axis not in axes]])


def _boxes(sizes: Shape, count: int) -> Iterator[Index]:
    """Return parts of up to `count` elements: inner axes whole, one axis cut, outer ones one by one."""
    cuts: list[list[slice]] = []
    for size in reversed(sizes):
        step = max(min(size, count), 1)
        count //= step
        cuts.append([slice(start, min(start + step, size)) for start in range(0, size, step)])
    return product(*cuts[::-1])


def _halved(ufunc: np.ufunc, x: Array) -> Array:
    """Return what joins the elements along the first axis: the upper half of them is joined to the lower one."""
    count = len(x)
    if count == 1:
        return x[0]
    half = 1 << (count - 1).bit_length() - 1
    found = np.empty((half, *x.shape[1:]), x.dtype)
    if half <= _SHORT and found[0].size > half:
        for at in range(half):  # axes behind the first one are longer: loops run along these
            if at + half < count:
                ufunc(x[at], x[at + half], out=found[at, ...])
            else:
                found[at] = x[at]
    else:
        ufunc(x[: count - half], x[half:], out=found[: count - half])
        found[count - half :] = x[count - half : half]
    while half > 1:
        lower, upper = found[: half // 2], found[half // 2 : half]
        ufunc(lower, upper, lower)
        half //= 2
    return found[0]
