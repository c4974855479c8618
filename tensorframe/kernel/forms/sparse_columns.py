"""Columns of the dense factor of a sparse product, a block at a time, which stays in registers for a whole row.

They are sums of a row of the product or, where transposes multiply, the row of the dense factor that others take in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensorframe.kernel import ir
from tensorframe.kernel.forms.sparse_rows import Statements
from tensorframe.kernel.ir.loops import ZERO, smaller
from tensorframe.kernel.nest.body import Numbers

# Columns of a block, and what it costs beside them to go through the elements of a row once more.
_BLOCKS, _PASS = (32, 16, 8, 4), 8
# Those of a block that is added to memory, and holds the dense row in registers; and what a single column takes.
_ADDED, _SINGLE = (16, 8, 4), 2

_BLOCK = ir.index("block")


def block_of(width: int) -> int:
    """Return how many columns a block of so many has: as many passes as take the least time, the last one in full."""
    fitting = [block for block in _BLOCKS if block <= width] or [width]
    return min(fitting, key=lambda block: -(-width // block) * (block + _PASS))


def in_blocks(
    width: int, numbers: Numbers, make: Callable[[Iterable[ir.Expr]], Statements]
) -> Statements:
    """Return the loop over blocks of columns. The last one ends with them, and makes some of them once more."""
    block = block_of(width)
    if block == width:
        return make([ir.literal(column, ir.INDEX) for column in range(width)])
    count, last = numbers.take(-(-width // block), "blocks"), numbers.take(width - block, "last")
    first = smaller(_BLOCK * ir.literal(block, ir.INDEX), last)
    columns = [first + ir.literal(column, ir.INDEX) if column else first for column in range(block)]
    return (ir.Loop(_BLOCK, ZERO, count, make(columns)),)


def in_separate_blocks(
    width: int,
    numbers: Numbers,
    make: Callable[[Iterable[ir.Expr]], Statements],
    single: Callable[[ir.Expr], Statements],
) -> Statements:
    """Return the loop over blocks of columns, and what `single` makes of those left from a given one on: each once."""

    def time(block: int) -> int:
        blocks, rest = divmod(width, block)
        return blocks * (block + _PASS) + (_PASS + _SINGLE * rest if rest else 0)

    block = min([block for block in _ADDED if block <= width] or [width], key=time)
    if block == width:
        return make([ir.literal(column, ir.INDEX) for column in range(width)])
    blocks, rest = divmod(width, block)
    first = _BLOCK * ir.literal(block, ir.INDEX)
    columns = [first + ir.literal(column, ir.INDEX) if column else first for column in range(block)]
    loop = ir.Loop(_BLOCK, ZERO, numbers.take(blocks, "blocks"), make(columns))
    return (loop, *single(numbers.take(width - rest, "last"))) if rest else (loop,)
