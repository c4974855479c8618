"""How a product is cut into blocks, and where their factors and results are: by shapes and strides alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.products.functions import fixed_slots, functions
from tensorframe.backends.numpy.products.grid import Index, boxes
from tensorframe.backends.numpy.products.product import extents
from tensorframe.backends.numpy.products.tiles import TALL, rows_of_block
from tensorframe.codegen.llvm.packed.slots import BLOCK_WORDS, MOST_TERMS
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST
from tensorframe.quick_tuples import NamedTuple

Array = Any

# Blocks that there should be: with fewer, they have half as many rows.
_ENOUGH = 16

# Rows of a right factor that are packed in one go.
_PACKED_ROWS = 32


class Fixed(NamedTuple):
    """What calls of one layout have in common: their fixed slots, and the arrays that these point to."""

    slots: bytes
    arrays: tuple[Any, ...]


class Taken(NamedTuple):
    """What takes blocks instead of a result.

    `places` are the bytes to each block's part of its arrays, `inner` those to arrays that lie in a thread's memory, or
    -1, `widths` the bytes of a row in arrays whose rows follow each other, else 0.
    """

    places: Sequence[Array]
    inner: Array
    widths: Array
    numbers: int
    kernels: Array

    def slots(self) -> dict[str, int]:
        """Return the fixed slots that say so."""
        return {
            "array_count": len(self.places),
            "number_count": self.numbers,
            "inner": address(self.inner),
            "widths": address(self.widths),
            "kernels": address(self.kernels),
        }


class Panels:
    """How the right factors of a product are packed: which there are, and how large they become."""

    def __init__(
        self, batch: Shape, strides: Shape, terms: int, columns: int, dtype: DType
    ) -> None:
        """`strides` are those of the factors, broadcast to the batch."""
        self.terms, self.columns = terms, columns
        self.down, self.across = strides[-2:]
        own = [axis for axis, size in enumerate(batch) if size > 1 and strides[axis]]
        steps = [range(0, batch[axis] * strides[axis], strides[axis]) for axis in own]
        self.places = np.array([sum(place) for place in product(*steps)], np.int64)
        self._own, self._batch = own, batch
        lanes, wide = functions(dtype).lanes, functions(dtype).wide
        self.lanes, self.vectors = lanes, ceil(columns / lanes)
        self.count = ceil(self.vectors / wide)
        self.matrix_bytes = self.vectors * lanes * terms * dtype.itemsize
        # whether rows are to be packed or panels, how many of each factor, and how many in one go
        self.in_rows = self.across == dtype.itemsize
        self.each = terms if self.in_rows else self.count
        self.at_once = min(terms, _PACKED_ROWS) if self.in_rows else 1

    def numbers(self, starts: Array) -> Array:
        """Return which factor each of some blocks has, whose positions in the batch these are."""
        numbers = np.zeros(len(starts), np.int64)
        for axis in self._own:
            numbers = numbers * self._batch[axis] + starts[:, axis]
        return numbers

    def slots(self, places: Array, packed_at: int) -> dict[str, int]:
        """Return the fixed slots of packing the factors at some places."""
        return {
            "terms": self.terms,
            "columns": self.columns,
            "places": address(places),
            "down": self.down,
            "across": self.across,
            "packed_at": packed_at,
        }


class Layout:
    """Blocks of a product of factors with these shapes and strides; see `layout_of`.

    Along the last `folded` axes of the batch the right factor is one, and rows of the left one follow each other.
    """

    def __init__(
        self, shape: Shape, left: Shape, right: Shape, terms: int, dtype: DType, folded: int
    ) -> None:
        """`left` and `right` are the strides of the factors, broadcast to the result's batch."""
        columns, outside = shape[-1], len(shape) - 2 - folded
        self.shape, self.dtype = shape, dtype
        self.folded, self._folded = folded, slice(outside, -1)
        self.blocks = _cut(shape[:outside], shape[self._folded], terms, columns)
        self._starts = np.array(
            [[block.start for block in index] for index in self.blocks], np.int64
        )
        shapes = [extents(index) for index in self.blocks]
        self.kinds: list[Shape] = list(dict.fromkeys(shapes))
        self.most_elements = max([prod(kind) for kind in self.kinds])
        self._row_step = row_step(shape[self._folded], left[self._folded]) or dtype.itemsize
        self._term_step = left[-1]
        self.panels = Panels(shape[:-2], right, terms, columns, dtype)
        self.packed_bytes = lines(self.panels.matrix_bytes * len(self.panels.places))
        words = np.zeros((len(self.blocks), len(BLOCK_WORDS)), np.int64)
        words[:, 0] = self._starts @ np.array((*left[:-1], 0), np.int64)
        words[:, 1] = self.panels.numbers(self._starts) * self.panels.matrix_bytes
        words[:, 3] = [prod(kind) // columns for kind in shapes]
        words[:, 4] = [self.kinds.index(kind) for kind in shapes]
        self._words = words
        gathers = self._row_step == dtype.itemsize != self._term_step
        tallest = self.most_elements // columns
        # of each thread: rows put side by side, and a block
        self.gathered = lines(tallest * min(terms, MOST_TERMS) * dtype.itemsize) if gathers else 0
        self.scratch_bytes = self.gathered + lines(self.most_elements * dtype.itemsize)

    def indices(self) -> list[Index]:
        """Return the first block of each kind."""
        kinds = self._words[:, 4].tolist()
        return [self.blocks[kinds.index(number)] for number in range(len(self.kinds))]

    def places(self, shape: Shape, strides: Shape) -> Array:
        """Return the bytes to each block's part of an operand, which broadcasts to the result's shape."""
        return places_of(self._starts, shape, strides)

    def width(self, array: Array) -> int:
        """Return the bytes of a row of an operand of the result's shape whose rows follow each other, else 0."""
        follow = array.shape == self.shape and array.flags.c_contiguous
        return array.shape[-1] * array.itemsize if follow else 0

    def dense(self) -> Fixed:
        """Return what calls have that make single blocks, whose rows lie together."""
        return self._fixed(self.shape[-1] * self.dtype.itemsize, self._words, in_place=True)

    def within(self, strides: Shape, *, in_one: bool = False) -> Fixed | None:
        """Return what calls have that write into a result of these strides; None if its rows do not lie as ours.

        With `in_one`, right factors are packed into the memory that threads have, in front of theirs.
        """
        pitch = row_step(self.shape[self._folded], strides[self._folded])
        if pitch is None or (strides[-1] != self.dtype.itemsize and self.shape[-1] > 1):
            return None
        words = self._words.copy()
        words[:, 2] = self.places(self.shape, strides)
        return self._fixed(pitch, words, in_place=True, in_one=in_one)

    def taken(self, taken: Taken) -> Fixed:
        """Return what calls have whose blocks kernels take."""
        words = np.concatenate([self._words, np.stack(taken.places, axis=1)], axis=1)
        pitch = self.shape[-1] * self.dtype.itemsize
        return self._fixed(pitch, words, in_one=True, taken=taken)

    def _fixed(
        self,
        pitch: int,
        words: Array,
        *,
        in_place: bool = False,
        in_one: bool = False,
        taken: Taken | None = None,
    ) -> Fixed:
        panels, words = self.panels, np.ascontiguousarray(words)
        slots = panels.slots(panels.places, 0) | {
            "row_step": self._row_step,
            "term_step": self._term_step,
            "scratch_at": self.packed_bytes if in_one else 0,
            "scratch_bytes": self.scratch_bytes,
            "gathered": self.gathered,
            "in_place": in_place,
            "pitch": pitch,
            "blocks": address(words),
            "words": words.shape[1],
            "block_count": len(words),
        }
        if taken is not None:
            slots |= taken.slots()
        return Fixed(fixed_slots(slots), (words, panels.places, taken))


def places_of(starts: Array, shape: Shape, strides: Shape) -> Array:
    """Return the bytes to each block's part of an operand, which may broadcast, where blocks start so."""
    own = [0 if size == 1 else step for size, step in zip(shape, strides, strict=True)]
    return starts[:, starts.shape[1] - len(shape) :] @ np.array(own, np.int64)


def lines(nbytes: int) -> int:
    """Return how many bytes whole cache lines take."""
    return -(-nbytes // HOST.line) * HOST.line


@lru_cache(maxsize=512)
def layout_of(
    shape: Shape, left: Shape, right: Shape, terms: int, dtype: DType, *, folded: bool = True
) -> Layout:
    """Return the layout of a product; `folded` says that blocks may have rows of several matrices."""
    return Layout(shape, left, right, terms, dtype, _fold(shape, left, right) if folded else 0)


def _fold(shape: Shape, left: Shape, right: Shape) -> int:
    """Return along how many of the last axes of a batch there is one right factor, and rows follow each other."""
    folded = 0
    for axis in reversed(range(len(shape) - 2)):
        if shape[axis] > 1 and right[axis]:
            break
        if row_step(shape[axis:-1], left[axis:-1]) is None:
            break
        folded += 1
    return folded


def row_step(sizes: Shape, strides: Shape) -> int | None:
    """Return how far rows are apart if axes of rows are as one; None if they are not, 0 if there is one row."""
    step = reach = 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        if reach and stride != reach:
            return None
        step = step or stride
        reach = stride * size
    return step


def _cut(outer: Shape, inner: Shape, terms: int, columns: int) -> list[Index]:
    """Return the blocks: one of the outer axes each, and some of the rows that the inner ones have."""
    rows = prod(inner)
    few = prod(outer) * rows < TALL * _ENOUGH
    tall = min(rows_of_block(terms, columns, TALL // 2 if few else TALL), rows)
    whole = [slice(0, columns)]
    return [(*index, *whole) for index in boxes((*outer, *inner), tall, len(outer))]
