"""Which products compiled tiles make, and the memory that these take: known from sizes, before anything is compiled."""

from __future__ import annotations

from math import prod

from tensorframe.backends.numpy.products.grid import runs
from tensorframe.backends.numpy.threads import thread_count
from tensorframe.dtypes import DType, float32, float64
from tensorframe.graph.shape import Shape

_DTYPES = frozenset({float32, float64})
# Multiplications from which tiles pay; rows for each right factor below which to pack it takes too large a part of the
# time; and bytes of right factors up to which packed ones stay in the cache, and may take memory beside them.
_LEAST, _FEWEST_ROWS, LARGEST = 1 << 20, 8, 1 << 21
# Elements that a thread has for a block, at least half a step's rows; and multiplications that it should have.
_BLOCK, _WORK = 1 << 16, 1 << 19
# Rows of a block come in steps that tiles of six rows and of eight both fill: a tile of the two rows that are left over
# takes as long as one of four.
_STEP = 24
# Rows of a block, if more of them are no better.
TALL = 2 * _STEP
# Terms of rows that are put side by side, at most.
BESIDE = 384
# Bytes of right factors that chains pack at a time, unless a matrix alone has more.
PACKED = 1 << 23
# Columns up to which panels are filled.
_PANEL = 16


def is_for_tiles(left: Shape, right: Shape, shape: Shape, dtype: DType) -> bool:
    """Whether tiles make the product of stacks of matrices of a dtype, where there are any: it has this shape."""
    terms, elements = left[-1], prod(shape)
    if dtype not in _DTYPES or elements * terms < _LEAST:
        return False
    if shape[-1] == 1:  # reading the left factor is what takes time
        return False
    if prod(right) * dtype.itemsize > LARGEST:
        return False
    right_factors = prod(right[:-2])
    enough = elements >= _FEWEST_ROWS * right_factors * shape[-1]
    return enough and len(runs(terms, elements)) == 1


def rows_of_block(terms: int, columns: int, rows: int = TALL) -> int:
    """Return how many rows a block has: as many as these, more where it had little to do, fewer where it is large."""
    tall = max(rows, _WORK // (terms * columns) // _STEP * _STEP)
    return min(tall, max(_BLOCK // columns // _STEP * _STEP, _STEP // 2))


def scratch_of_product(right: Shape, dtype: DType) -> int:
    """Return the bytes that a product by tiles takes: the packed right factor, and in each thread a block and rows."""
    terms, columns = right[-2:]
    elements = rows_of_block(terms, columns) * (columns + min(terms, BESIDE))
    return packed_bytes(right, dtype) + thread_count() * elements * dtype.itemsize


def packed_bytes(right: Shape, dtype: DType) -> int:
    """Return what right factors take in panels."""
    return prod(right[:-1]) * -(-right[-1] // _PANEL) * _PANEL * dtype.itemsize
