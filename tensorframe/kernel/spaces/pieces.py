"""Pieces: results put together of parts, each made of the elements of one operand in a box of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.ops.indexing import SET_SLICE
from tensorframe.ops.movement import CONCAT, PAD
from tensorframe.quick_tuples import NamedTuple

PIECED = frozenset({CONCAT, PAD, SET_SLICE})


class Piece(NamedTuple):
    """Operand number `operand` fills the box of `sizes` from `lows` on, backwards along the axes in `flipped`."""

    operand: int
    lows: Shape
    sizes: Shape
    flipped: frozenset[int] = frozenset()


def pieces_of(op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]) -> tuple[Piece, ...]:
    """Return the pieces of a result, those in front over those behind; only a pad has elements in none."""
    if op is PAD:
        return (Piece(0, attrs[0], operands[0]),)
    if op is SET_SLICE:
        shape = operands[0]
        return (_slice(*attrs), Piece(0, (0,) * len(shape), shape))
    axis = attrs[0]
    pieces = []
    low = 0
    for index, shape in enumerate(operands):
        lows = tuple([low if place == axis else 0 for place in range(len(shape))])
        pieces.append(Piece(index, lows, shape))
        low += shape[axis]
    return tuple(pieces)


def _slice(starts: Shape, sizes: Shape, steps: Shape) -> Piece:
    flipped = frozenset([axis for axis, step in enumerate(steps) if step < 0])
    lows = [
        start - size + 1 if axis in flipped else start
        for axis, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    return Piece(1, tuple(lows), sizes, flipped)


def has_gaps(op: Op, attrs: tuple[Any, ...]) -> bool:
    """Whether a slice is set whose elements are not next to each other: they fill no box."""
    if op is not SET_SLICE:
        return False
    return any(abs(step) != 1 and size > 1 for size, step in zip(attrs[1], attrs[2], strict=True))


def cut_axes(op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]) -> tuple[int, ...]:
    """Return the axes of a result that its pieces divide."""
    assert op.shape is not None
    shape = op.shape(tuple(operands), *attrs)
    pieces = pieces_of(op, attrs, operands)
    return tuple(
        [
            axis
            for axis, size in enumerate(shape)
            if any(piece.sizes[axis] != size for piece in pieces)
        ]
    )


def span(start: int, step: int, low: int, high: int, count: int) -> tuple[int, int]:
    """Return the range of indices below `count` for which low <= start + step * index < high."""
    if step < 0:
        return span(-start, -step, 1 - high, 1 - low, count)
    if step == 0:
        return (0, count) if low <= start < high else (0, 0)
    first, last = (min(max(-((start - end) // step), 0), count) for end in (low, high))
    return first, max(first, last)
