"""Products of matrices whose right factor is packed: panels of columns, each a few vectors wide, term after term.

A tile of the result stays in registers: each term multiplies the left factor's element of each row with the vectors of
a panel (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). An element of the result is
the sum of its terms in order, each added by one multiply-add, wherever blocks and tiles begin.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.claims import CLAIM
from tensorframe.codegen.llvm.indirect_product import (
    SCALARS,
    fused_multiply_add,
    module,
    shape_for,
)
from tensorframe.codegen.llvm.masks import masks
from tensorframe.codegen.llvm.packed import ahead, block, calls, packing
from tensorframe.codegen.llvm.packed.slots import (
    BLOCK_WORDS,
    CHAIN_WORDS,
    PACK_COLUMNS,
    PACK_ROWS,
)
from tensorframe.codegen.llvm.packed.tile import Tile
from tensorframe.codegen.llvm.packed.words import DECLARED, panel_width, words_for
from tensorframe.codegen.llvm.spelled import spelled
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.transposition import transposition
from tensorframe.dtypes import DType


def print_packed(target: Target, layout: str, dtype: DType) -> str:
    """Return the module with the packing of right factors and the product of a block of a dtype."""
    assert target.data_offset is not None
    shape, scalar, size = shape_for(target, dtype), SCALARS[dtype], dtype.itemsize
    wide = panel_width(shape)
    tall = shape.rows[wide - 1]
    heights = [tall, *[power for power in (4, 2, 1) if power < tall]]
    words = words_for(shape.lanes, scalar, size, wide, target.data_offset)
    tiles = [
        Tile(scalar, size, shape.lanes, rows, vectors).text()
        for vectors in range(1, wide + 1)
        for rows in heights
    ]
    gathers = [
        spelled(block.GATHER, words | {"ROWS": str(rows), "TILE": str(rows * size)})
        for rows in heights
    ]
    return module(
        target,
        layout,
        fused_multiply_add(shape.lanes, dtype),
        masks(shape.lanes, scalar, size),
        ahead.DECLARED,
        spelled(DECLARED, words),
        *tiles,
        *gathers,
        transposition(shape.lanes, scalar, size),
        packing.packing(PACK_ROWS, packing.ROWS, words),
        packing.packing(PACK_COLUMNS, packing.COLUMNS, words),
        block.block(words, heights, wide),
        CLAIM,
        spelled(calls.HAVE_TAKEN, words),
        calls.call(calls.BLOCKS, BLOCK_WORDS, words),
        calls.call(calls.CHAINS, CHAIN_WORDS, words),
    )
