"""Blocks: an interval for each axis of a tensor, and how a block of a result is made of blocks of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Interval = tuple[int, int]  # from the first place to the one after the last
Block = tuple[Interval, ...]


class Part(NamedTuple):
    """How a block of a result is made of blocks of the operands."""

    op: Op | None  # None: the block of the first operand that is needed is the result
    attrs: tuple[Any, ...]
    operands: tuple[Block | None, ...]
    shape: Shape  # of what the op gives for these blocks
    crop: Block | None = None  # what of it is wanted, where that is not all


Rule = Callable[[tuple[Any, ...], Sequence[Shape], Shape, Block], Part]


def whole(shape: Shape) -> Block:
    """Return the block that is everything."""
    return tuple([(0, size) for size in shape])


def extents(block: Block) -> Shape:
    """Return the shape of a block."""
    return tuple([stop - start for start, stop in block])


def hull(first: Block, second: Block) -> Block:
    """Return the smallest block that holds both."""
    return tuple(
        [
            (min(low, start), max(high, stop))
            for (low, high), (start, stop) in zip(first, second, strict=True)
        ]
    )


def within(block: Block, outer: Block) -> Block:
    """Return where in `outer` a block lies that it holds."""
    return tuple(
        [(start - low, stop - low) for (start, stop), (low, _) in zip(block, outer, strict=True)]
    )
