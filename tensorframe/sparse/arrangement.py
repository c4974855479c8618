"""Rows of a matrix by how many elements they have, for products with vectors that come again and again.

A processor foresees how often a loop runs where it ran as often for the row before. In short rows of all lengths it
foresees hardly any end, and waits for each as long as ten elements take. So a large matrix of short rows that
multiplies vectors often gets another form, in which rows of one length follow each other. They are put in order in
windows of some hundred rows, so that they stay near those that read the same elements of vectors, and results are put
back where they belong. Compressed columns are turned into rows, which threads share as well. A row has its elements in
the order in which products without this form add them: bits do not tell which of both a result comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import current
from tensorframe.quick_tuples import NamedTuple
from tensorframe.sparse import structure
from tensorframe.sparse.structure import Array

if TYPE_CHECKING:
    from tensorframe.sparse.compressed import Compressed

# the order of the elements, and as of `Arranged`
_Integers = tuple[Tensor, Tensor, Tensor, Tensor]

# Elements of a matrix from which on and up to which rows are arranged, and columns added up in the order that arranged
# rows have, and up to how many a row has on average: kernels add up longer ones in several accumulators. To arrange
# more takes gigabytes for a while.
_LARGE, _HUGE, _SHORT = 1 << 17, 1 << 25, 16
# Products of the same indices before these are shortened, which takes as long as a product.
FEW = 4
# Products of the same elements before they have another form. To make it takes the time that some fifty save, and who
# multiplies twenty vectors is mostly a solver that goes on.
PATIENCE = 20
# Rows that are put in order together.
_WINDOW = 256


def is_large(count: int) -> bool:
    """Whether a matrix has so many elements that another form of its integers may be worth its making."""
    return count >= _LARGE


def is_worthwhile(rows: int, count: int) -> bool:
    """Whether a matrix of so many rows and elements is large, and its rows are short."""
    return _LARGE <= count < min(_SHORT * rows, _HUGE)


class Arranged(NamedTuple):
    """A matrix whose rows of one length follow each other, and where each row of the result is."""

    data: Tensor
    indices: Tensor
    indptr: Tensor
    places: Tensor


class Arrangement:
    """How the elements of a matrix lie in arranged rows, which are its lines or run across them."""

    def __init__(self, *, across: bool) -> None:
        self._across = across
        self._is_left_out = False
        self._integers: _Integers | None = None
        self._products: WeakKeyDictionary[Node, int] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[Node, Arranged] = WeakKeyDictionary()

    def of(self, matrix: Compressed) -> Arranged | None:
        """Count a product, and return the arranged rows once its elements, which are computed, have had enough.

        None where rows are in order without them, and where there is no memory for another form.
        """
        node = matrix.data.node
        made = self._made.get(node)
        if made is not None or node.storage is None or self._is_left_out:
            return made
        products = self._products[node] = self._products.get(node, 0) + 1
        # what is recorded to be run again is worth it at once
        if products <= PATIENCE and current.get() is None:
            return None
        try:
            self._integers = self._integers or self._arranged(matrix)
            if self._integers is not None:
                order, *integers = self._integers
                data = structure.taken(matrix.data, order).compute()
                made = self._made[node] = Arranged(data, *integers)
        except MemoryError:
            self._integers = None
        self._is_left_out = made is None
        return made

    def _arranged(self, matrix: Compressed) -> _Integers | None:
        """Return the integers; None where most rows are as long as the one before without them."""
        lines, count = matrix._lines(), matrix.nnz
        if self._across:
            order, indices, indptr = lines.turned(1)
        else:
            order, indices, indptr = np.arange(count), lines.indices, lines.indptr
        lengths = np.diff(indptr)
        if not self._across and 2 * np.count_nonzero(np.diff(lengths)) < len(lengths):
            return None
        rows = by_length(lengths)
        begins = np.concatenate([[0], np.cumsum(lengths[rows])])
        moved = np.repeat(indptr[rows] - begins[:-1], lengths[rows]) + np.arange(count)
        places = np.empty_like(rows)
        places[rows] = np.arange(len(rows))
        moved_to, begins_at, placed = [
            structure.like(array, matrix.indices) for array in (order[moved], begins, places)
        ]
        short = structure.shortened(indices[moved], matrix.indices)
        return moved_to, short, begins_at, placed


def by_length(lengths: Array) -> Array:
    """Return the order of rows by length in each window of them; equal ones stay in theirs."""
    longest = int(lengths.max(initial=0)) + 1
    windows = np.arange(len(lengths)) // _WINDOW
    return structure.stable_order(windows * longest + lengths, len(lengths) * longest)
