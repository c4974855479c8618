"""Tiles: which block of each operand a block of a result needs, and what joins the results of blocks along a cut.

All of it is plain data about one op, so that any executor can use it: streaming on one machine (`schedule/cut.py`,
`runtime/streaming/tiled_execution.py`), a cluster with one task for each block. A block is an interval for each axis.

    part = part_of(op, attrs, operand_shapes, shape, block)

says how `block` of the result is made: `part.op` with `part.attrs` on `part.operands`, a block of each operand (None
where nothing of it is needed), gives a tensor of `part.shape`, of which `part.crop` is wanted. `part.op` is None where
the operand's block is the result. `part_of` returns None where a block needs operands along the axes that it leaves
out: the op is *blocking* along these. A part has the bits of the block in the whole, except for ops that
`rounds_by_shape`.

    join = join_of(op, dtype, attrs, shape, axis)

says how a reduction *carries* over blocks of its operand along `axis`: what a block leaves, how these are joined, in
order, and by how many places along the axis blocks have to be cut (`join.grain`) for the bits of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import gcd, prod
from typing import Any

from tensorframe.dtypes import COMPLEX, FLOAT, FLOATING, DType, float64, wide_of
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.kernel.ir.order import PIECE, inner_length
from tensorframe.ops.reduction import ALL_TRUE, ANY_TRUE, ARGMAX, ARGMIN, MAX, MIN, PROD, SUM
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.block_rules import LINES, RULES, RULES_OF_KINDS, SAME
from tensorframe.schedule.blocks import Block, Part, extents, whole


def part_of(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, block: Block
) -> Part | None:
    """Return how a block, which is not empty, of a result of `shape` is made; None if nothing is known of blocks."""
    rule = RULES.get(op) or RULES_OF_KINDS.get(op.kind)
    if rule is not None and 0 not in shape:
        part = rule(attrs, operands, shape, block)
        return part._replace(op=op) if part.op is SAME else part
    if block != whole(shape):
        return None
    return Part(op, attrs, tuple(map(whole, operands)), shape)


def rounds_by_shape(op: Op) -> bool:
    """Whether the bits of a block may depend on what is computed beside it: libraries choose their order by shapes."""
    return op.kind is Kind.CONTRACT or (op.kind is Kind.LIBRARY and op not in LINES)


def followed(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, number: int, axis: int
) -> int | None:
    """Return the axis of the result that goes along with `axis` of an operand; None if there is none, or several.

    It is the one of which a place needs the fewest places of the operand's: a window is shorter than what all first
    elements of windows lie in.
    """
    needs = {}
    for place, size in enumerate(shape):
        needed = narrowed(op, attrs, operands, shape, number, place).get(axis) if size > 1 else None
        if needed is not None:
            needs[place] = needed
    fewest = [place for place, needed in needs.items() if needed == min(needs.values())]
    return fewest[0] if len(fewest) == 1 else None


def narrowed(
    op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape], shape: Shape, number: int, axis: int
) -> dict[int, int]:
    """Return the axes of an operand of which one place along `axis` of the result needs less than the whole does.

    With each axis comes how many places are needed at most.
    """
    if 0 in shape:
        return {}
    full = part_of(op, attrs, operands, shape, whole(shape))
    narrow: dict[int, int] = {}
    for place in {0, shape[axis] // 2, shape[axis] - 1}:  # padding and joints hide operands
        block = (*whole(shape[:axis]), (place, place + 1), *whole(shape[axis + 1 :]))
        part = part_of(op, attrs, operands, shape, block)
        if part is None or full is None:
            return {}
        needed, most = part.operands[number], full.operands[number]
        if needed is None or most is None:
            continue
        for index, (few, many) in enumerate(zip(extents(needed), extents(most), strict=True)):
            if few < many:
                narrow[index] = max(few, narrow.get(index, 0))
    return narrow


class How(Enum):
    """How results of blocks become that of the whole."""

    COMBINE = "combine"  # the results themselves are combined, in any order, by the row that the reduction names
    POSITION = "position"  # an extreme and its position in the block: the first of the largest, or smallest, stays
    PIECES = "pieces"  # totals of pieces, not rounded, are joined one after the other: the order of kernel/ir/order.py
    MOMENTS = "moments"  # squared distances from pivots of chunks: kernel/forms/deviations.py
    FOLLOWED = "followed"  # a sum of elements that follows from such moments


class Join(NamedTuple):
    """How a reduction over a cut is put together from blocks of its operand, taken in order.

    `dtype` is that in which elements of a piece are joined, `held` that of the total, and `length` how many elements
    are taken as one row of pieces, in C order of the last of the reduced axes, or as a chunk with moments.
    """

    how: How
    grain: int = 1  # blocks are multiples of so many places along the axis, but for the last one
    dtype: DType | None = None
    held: DType | None = None
    length: int = 0


def join_of(op: Op, dtype: DType, attrs: tuple[Any, ...], shape: Shape, axis: int) -> Join | str:
    """Return how `op`, a reduction over `axis` and perhaps others of operands of this dtype and shape, is joined.

    Where it cannot be, the reason is returned instead.
    """
    axes, _ = attrs
    if op in (ARGMAX, ARGMIN):
        if axis != min(place for place in axes if shape[place] != 1):
            return "positions are counted along an axis before the cut"
        return Join(How.POSITION)
    if op in (ANY_TRUE, ALL_TRUE, MAX, MIN) or (op in (SUM, PROD) and dtype not in FLOATING):
        return Join(How.COMBINE)
    if op not in (SUM, PROD) or (op is PROD and dtype in COMPLEX):
        return f"{op.name} is not put together from blocks"
    along = [place for place in sorted(axes) if shape[place] != 1]
    if axis != along[0]:
        return "its order of addition begins along an axis before the cut"
    lengths = [shape[place] for place in along]
    length = inner_length(lengths)
    rest = prod(lengths[1:])
    grain = PIECE // gcd(PIECE, rest) if length > rest else 1
    real = dtype if dtype in FLOAT else None
    piece = dtype if real is None else wide_of(real) if op is SUM else float64
    return Join(How.PIECES, grain, piece, float64 if real is not None else None, length)
