"""Inputs of convolutions: zeros around their elements, zeros between them, and how these are never multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, gcd
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry
from tensorframe.quick_dataclasses import dataclass

Array = Any


@dataclass(frozen=True, slots=True)
class Phase:
    """The result elements at `places`, and the `positions` of the kernel that they read the input through, if any."""

    places: tuple[slice, ...]
    positions: tuple[slice, ...] | None
    geometry: Geometry


def phases(geometry: Geometry, sizes: Shape, kernel: Shape, spatial: Shape) -> Iterator[Phase]:
    """Yield the convolutions without zeros between the elements that one with them, in steps of one, is made of."""
    each = [
        [
            _phase(geometry, axis, residue, sizes[axis], kernel[axis], spatial[axis])
            for residue in range(min(geometry.input_dilation[axis], sizes[axis]))
        ]
        for axis in range(len(sizes))
    ]
    ones = (1,) * len(sizes)
    for chosen in product(*each):
        places = tuple([place for place, _, _ in chosen])
        positions = [position for _, position, _ in chosen]
        before, after, dilation = zip(*[window for _, _, window in chosen], strict=True)
        own = Geometry(ones, before, after, ones, dilation)
        known = [position for position in positions if position is not None]
        yield Phase(places, tuple(known) if len(known) == len(positions) else None, own)


def _phase(
    geometry: Geometry, axis: int, residue: int, size: int, kernel: int, spatial: int
) -> tuple[slice, slice | None, tuple[int, int, int]]:
    """Return, for one axis, a phase's places, its positions of the kernel, and padding and dilation of its windows."""
    spread, apart, before = (
        geometry.input_dilation[axis],
        geometry.dilation[axis],
        geometry.before[axis],
    )
    places = slice(residue, None, spread)
    fitting = [
        k for k in range(min(kernel, spread)) if (residue + k * apart - before) % spread == 0
    ]
    if not fitting:
        return places, None, (0, 0, 1)
    first, step = fitting[0], spread // gcd(spread, apart)
    count = ceil((kernel - first) / step)
    begin = -((residue + first * apart - before) // spread)
    along = step * apart // spread
    windows = ceil((size - residue) / spread)
    after = windows + (count - 1) * along - begin - spatial
    return places, slice(first, None, step), (begin, after, along)


def dilated(x: Array, geometry: Geometry) -> tuple[Array, Geometry]:
    """Return an input with the zeros between its elements."""
    steps = geometry.input_dilation
    shape = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], steps, strict=True)]
    whole = np.zeros((*x.shape[:2], *shape), x.dtype)
    whole[(slice(None), slice(None), *[slice(None, None, step) for step in steps])] = x
    return whole, geometry._replace(input_dilation=(1,) * len(steps))


def padded(x: Array, geometry: Geometry) -> Array:
    """Return an input with the zeros around it; where padding is negative, without what it takes away."""
    x = cut(x, geometry)
    ends = [
        (max(low, 0), max(high, 0))
        for low, high in zip(geometry.before, geometry.after, strict=True)
    ]
    if not any(map(any, ends)):
        return x
    sizes = [low + size + high for size, (low, high) in zip(x.shape[2:], ends, strict=True)]
    whole = host_pool.empty((*x.shape[:2], *sizes), x.dtype)
    whole[...] = 0
    inside = [slice(low, low + size) for size, (low, _) in zip(x.shape[2:], ends, strict=True)]
    whole[(slice(None), slice(None), *inside)] = x
    return whole


def cut(x: Array, geometry: Geometry) -> Array:
    """Return an input without what negative padding takes away."""
    if min(*geometry.before, *geometry.after) >= 0:
        return x
    return x[(slice(None), slice(None), *left(x.shape[2:], geometry))]


def left(spatial: Shape, geometry: Geometry) -> list[slice]:
    """Return what negative padding leaves of each axis."""
    return [
        slice(max(-low, 0), max(size + min(high, 0), -low, 0))
        for size, low, high in zip(spatial, geometry.before, geometry.after, strict=True)
    ]


def slices(size: int, extent: int) -> list[slice]:
    """Return slices of at most `extent`."""
    return [slice(start, min(start + extent, size)) for start in range(0, size, extent)]
