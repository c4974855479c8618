"""Inputs with zeros around them, in the memory that a thread uses for each of its blocks."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.llvm.indirect_product import at_once, copy
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape

Array = Any

# Elements behind an input that a vector may read.
SPARE = 64


class Memory:
    """Memory that a thread uses again for each of its blocks, by what it is for."""

    call = staticmethod(at_once)

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self._arrays: dict[str, Array] = {}
        self._written: Any = None

    def take(self, purpose: str, count: int) -> Array:
        """Return so many elements, with any values."""
        known = self._arrays.get(purpose)
        if known is None or len(known) < count:
            (known,) = host_pool.scratch(count, [self._dtype])
            self._arrays[purpose] = known
        return known[:count]

    def zeros(self, count: int, written: Any) -> Array:
        """Return so many elements for an input, 0 but for those that are `written`: the same ones as before, or not."""
        memory = self.take("input", count)
        if written is None or self._written != (count, written):
            memory.fill(0)
            self._written = None if written is None else (count, written)
        return memory


def in_phases(x: Array, before: Shape, sizes: list[int], apart: Shape, memory: Memory) -> Array:
    """Return a copy with zeros around it, in which elements that are `apart` are neighbours."""
    counts = [ceil(size / step) for size, step in zip(sizes, apart, strict=True)]
    shape = (*x.shape[:2], *apart, *counts)
    zeros = memory.zeros(prod(shape) + SPARE, None)
    whole = zeros[: prod(shape)].reshape(shape)
    for phase in product(*map(range, apart)):
        source, target = [], []
        for first, low, step, size in zip(phase, before, apart, x.shape[2:], strict=True):
            number = max(ceil((low - first) / step), 0)
            start = number * step + first - low
            source.append(slice(start, None, step))
            target.append(slice(number, number + max(ceil((size - start) / step), 0)))
        copy(
            x[(slice(None), slice(None), *source)],
            whole[(slice(None), slice(None), *phase, *target)],
            memory.call,
        )
    return whole


def places(x: Array, index: int, positions: int, step: int, apart: int) -> tuple[int, ...]:
    """Return the bytes to every step-th position on a spatial axis of an input in phases."""
    rank = (x.ndim - 2) // 2
    begin, along = x.strides[2 + index], x.strides[2 + rank + index]
    places = [position * step for position in range(positions)]
    return tuple([place % apart * begin + place // apart * along for place in places])


def surrounded(x: Array, before: Shape, sizes: list[int], pitch: int, memory: Memory) -> Array:
    """Return a copy with zeros around it; where an axis has several rows these are `pitch` elements apart."""
    rows = sizes[1:-1]
    steps = [1]
    if len(sizes) > 1:
        steps = [pitch * prod(rows[place:]) for place in range(len(rows) + 1)] + [1]
    plane = steps[0] * sizes[0]
    planes = x.shape[0] * x.shape[1]
    zeros = memory.zeros(planes * plane + sizes[-1] + SPARE, (x.shape, before, steps))
    strides = [step * x.itemsize for step in (x.shape[1] * plane, plane, *steps)]
    whole: Array = np.ndarray((*x.shape[:2], *sizes), x.dtype, zeros, 0, strides)
    inside = [slice(low, low + size) for low, size in zip(before, x.shape[2:], strict=True)]
    copy(x, whole[(slice(None), slice(None), *inside)], memory.call)
    return whole


def flat(kernel: Array, axis: int) -> bool:
    """Whether axes from `axis` on lie in one piece."""
    expected = kernel.itemsize
    for size, step in zip(
        kernel.shape[: axis - 1 : -1], kernel.strides[: axis - 1 : -1], strict=True
    ):
        if size > 1 and step != expected:
            return False
        expected *= size
    return True
