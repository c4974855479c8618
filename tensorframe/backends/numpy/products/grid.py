"""The grid of a product: blocks of the result, as large as the shapes say, never as many as there are threads.

So the bits of a result do not depend on the number of threads. A block is some rows, whole if they are not very long:
then it lies in one piece, and what else is done to it runs along memory.
"""

from __future__ import annotations

from itertools import product
from math import ceil, prod

from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST

Index = tuple[slice, ...]

# Every block packs all of the right operand's columns that it needs: with 128 rows that takes 5 % of the time, with 256
# rows 1.5 %.
_ROWS = 256
# Whole rows of a block: each block reads all of the right operand, and fewer rows would wait for it.
_FEWEST_ROWS = 64
# Elements of a block: 4 MiB of float32. Smaller ones would leave more in the second-level cache, but run into the
# packing: 256 rows of 1536 float32 are 2.5 % faster with what follows than blocks of the same rows in three pieces.
_ELEMENTS = 1 << 20
# Elements of a block that is multiplied on, and the fewest rows: with 64 of them packing the right operands takes a
# quarter of the time, which is more than it costs where 256 rows do not fit into the second level of cache.
_CHAINED, _FEWEST_CHAINED = 1 << 20, 64
# Multiplications: below the first, two threads are no faster than one; a block should have more than the second, and
# where there are enough blocks for two threads, only large ones are cut for the sake of more.
_WORTH_SHARING = 1 << 22
_FEW, _LEAST = 4, 1 << 21
_ENOUGH, _PLENTY = 16, 1 << 25
# A multiplication that needs an element of its own waits for memory as long as it takes to do so many others.
_WAIT = 16
# Rows from which packing a matrix is worth it: for fewer, reading it is what takes time.
THIN = 8
# What makes cutting the inner axis worth the additions: elements of the result at most, and of the axis at least.
_SMALL_RESULT, _LONG = HOST.second // 16, HOST.row


def blocks(
    batch: Shape, rows: int, inner: int, columns: int, *, whole_rows: bool = False
) -> list[Index]:
    """Return indices that cover the product of (*batch, rows, inner) and (*batch, inner, columns).

    A small product is one block. `whole_rows` says that columns are not to be cut: a product is one block too where
    few whole rows are as much as a block may be.
    """
    whole = tuple([slice(0, size) for size in (*batch, rows, columns)])
    height = rows * prod(batch)
    # elements that are read once count for more than those that are in the cache from then on
    depth = inner + inner * _WAIT // max(min(height, columns), 1)
    if height * columns * depth < _WORTH_SHARING:
        return [whole]
    if whole_rows and columns * _FEWEST_ROWS > _ELEMENTS:
        return [whole]
    tall, wide = _extent(height, columns, depth, whole_rows=whole_rows)
    sizes = (*batch, rows)
    cuts = [_cut(size, extent) for size, extent in zip(sizes, _box(sizes, tall), strict=True)]
    return list(product(*cuts, _cut(columns, wide)))


def row_blocks(batch: Shape, rows: int, inner: int, columns: int, *, kept: int = 1) -> list[Index]:
    """Return indices that cover the product of (*batch, rows, inner) and (*batch, inner, columns), in whole rows.

    Blocks stay in the cache while something is made of them that is multiplied on, `kept` of them at a time. A small
    product is one block, and so is one of few rows with each matrix, which is less than the matrices that are read.
    """
    height = rows * prod(batch)
    if height * columns * inner < _WORTH_SHARING or rows < THIN <= inner:
        return [tuple([slice(0, size) for size in (*batch, rows, columns)])]
    tall = max(_CHAINED // (columns * kept), _FEWEST_CHAINED)
    if rows > _FEWEST_CHAINED:
        tall = min(tall, _ROWS)
    tall = min(tall, height)
    while (
        ceil(height / tall) < _ENOUGH
        and tall > _FEWEST_CHAINED
        and tall * columns * inner >= 2 * _LEAST
    ):
        tall = _half(tall)
    sizes = (*batch, rows)
    cuts = [_cut(size, extent) for size, extent in zip(sizes, _box(sizes, tall), strict=True)]
    return list(product(*cuts, [slice(0, columns)]))


def _extent(height: int, columns: int, depth: int, *, whole_rows: bool) -> tuple[int, int]:
    """Return about how many rows and columns a block has."""
    wide = columns if whole_rows else min(columns, _ELEMENTS // min(height, _ROWS))
    tall = min(height, max(_ROWS, _PLENTY // 4 // (wide * depth)), max(_ELEMENTS // wide, 1))
    while True:
        count = ceil(height / tall) * ceil(columns / wide)
        least = _LEAST if count < _FEW else _PLENTY
        if count >= _ENOUGH or tall * wide * depth < 2 * least:
            return tall, wide
        if wide > 2 * tall and not whole_rows:
            wide = _half(wide)
        elif tall > (_FEWEST_ROWS if whole_rows else 1):
            tall = _half(tall)
        else:
            return tall, wide


def _half(extent: int) -> int:
    """Return half of an extent, in whole cache lines where there are several."""
    half = ceil(extent / 2)
    return ceil(half / 32) * 32 if half > 32 else half


def _box(sizes: Shape, count: int) -> Shape:
    """Return the shape of boxes of up to `count` rows: inner axes whole, one axis cut, outer ones one by one."""
    box = [1] * len(sizes)
    for axis in reversed(range(len(sizes))):
        box[axis] = max(min(sizes[axis], count), 1)
        count //= box[axis]
    return tuple(box)


def boxes(sizes: Shape, rows: int, outer: int) -> list[Index]:
    """Return indices that cover `sizes`, each of up to so many rows and one of the `outer` axes, the first of them."""
    box = (*[1] * outer, *_box(sizes[outer:], rows))
    cuts = [
        [slice(start, min(start + extent, size)) for start in range(0, size, extent)]
        for size, extent in zip(sizes, box, strict=True)
    ]
    return list(product(*cuts))


def _cut(size: int, extent: int) -> list[slice]:
    """Return slices of at most about `extent`, all of one length but the last."""
    if size <= extent:
        return [slice(0, size)]
    length = ceil(size / ceil(size / extent))
    if length > 32:
        length = ceil(length / 16) * 16  # rows that BLAS takes at once
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def runs(inner: int, elements: int) -> list[slice]:
    """Return parts of the inner axis: one, unless it is long and the result so small that there is nothing else to cut.

    The products of the parts are to be added up.
    """
    if elements > _SMALL_RESULT or inner < _LONG or inner * elements < _WORTH_SHARING // _WAIT:
        return [slice(0, inner)]
    return _cut(inner, max(ceil(inner / _ENOUGH), _LONG // 4))
