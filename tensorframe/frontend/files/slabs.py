"""Slabs: the elements of an array as they come, a bounded number at a time, and what windows show of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.files.windows import Array, forward_key, forwards
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple
from tensorframe.rewrite.views import Window

# bytes that are read at a time
PIECE = 1 << 20


class Slab(NamedTuple):
    """Consecutive elements: one place of the leading axes, from `start` on of the next, all of those behind."""

    outer: tuple[int, ...]
    start: int
    shape: Shape  # without the outer axes

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def slabs(shape: Shape, itemsize: int) -> Iterator[Slab]:
    """Yield an array's elements in C order, in slabs of at most PIECE bytes."""
    if math.prod(shape) == 0:
        return
    if not shape:
        yield Slab((), 0, ())
        return
    # the first axis whose places fit
    axis = next(
        axis for axis in range(len(shape)) if math.prod(shape[axis + 1 :]) * itemsize <= PIECE
    )
    length, inner = shape[axis], shape[axis + 1 :]
    count = max(PIECE // (math.prod(inner) * itemsize), 1)
    for outer in product(*map(range, shape[:axis])):
        for start in range(0, length, count):
            yield Slab(outer, start, (min(count, length - start), *inner))


class Part:
    """What a window shows, filled in slab by slab."""

    def __init__(self, window: Window, dtype: DType, turn: slice) -> None:
        """`turn` puts the axes into the order of the slabs: as they are, or reversed."""
        self._turn = turn
        axes = [window.axis(axis) for axis in range(len(window.sizes))][turn]
        self._backwards = [step < 0 for _, _, step in axes]
        self._axes = [forwards(*axis) for axis in axes]
        self._array: Array = np.empty([size for _, size, _ in axes], dtype)

    def take(self, slab: Slab, values: Array) -> None:
        """Copy what the window shows of a slab."""
        to: list[slice] = []
        of: list[slice] = []
        spans = [(place, place + 1) for place in slab.outer]
        spans += [(slab.start, slab.start + slab.shape[0])] if slab.shape else []
        for (start, size, step), (begin, end) in zip(self._axes, spans, strict=False):
            low = max(-(-(begin - start) // step), 0)
            high = min(-(-(end - start) // step), size)
            if low >= high:
                return
            to.append(slice(low, high))
            of += forward_key([(start + low * step - begin, high - low, step)])
        of += forward_key(self._axes[len(spans) :])
        self._array[tuple(to)] = values[tuple(of[len(slab.outer) :])]

    def array(self) -> Array:
        """Return the elements, once every slab was taken."""
        if any(self._backwards):
            key = tuple([slice(None, None, -1 if back else 1) for back in self._backwards])
            self._array = np.ascontiguousarray(self._array[key])
        return self._array if self._turn.step > 0 else self._array.transpose()
