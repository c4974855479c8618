"""Following maps backwards: from the place of a result in a space of loops to those of the operands it is made of.

Where that is impossible, the operand cannot be computed in the same loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import Any

from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import ORIGIN, Affine, Map, Space
from tensorframe.kernel.spaces.gather import GATHERS, selected_axes
from tensorframe.kernel.spaces.pieces import PIECED, cut_axes, has_gaps, pieces_of, span
from tensorframe.kernel.spaces.reshape import reshaped_map
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS

# Into how many parts the pieces of a group may divide its loops, and one of them: each is code of its own. To compile
# 15 parts of an exponential takes as long as five kernels, and to copy 15 results together as long as four of them.
_MOST_PARTS, _MOST_ALONG_ONE = 32, 9


def follow(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]
) -> list[str | None]:
    """Find the maps of the operands of the op that computes `value`; for each, why there is none, or None.

    The map of operand `number` is kept in `space.maps` under `(value, number)`, so that later splits reach it.
    """
    if op.kind is Kind.MAP:  # most nodes
        maps, result = space.maps, space.maps[value]
        for number, shape in enumerate(operands):
            maps[value, number] = broadcast_map(result, shape)
        return [None] * len(operands)
    if op in PIECED:
        return _follow_pieces(space, value, op, attrs, operands)
    if op in GATHERS:
        return _follow_gather(space, value, op, attrs, operands)
    refusals: list[str | None] = []
    for number, shape in enumerate(operands):
        followed = _operand_map(space, value, op, attrs, shape)
        refusals.append(followed if isinstance(followed, str) else None)
        if not isinstance(followed, str):
            space.maps[value, number] = followed
    return refusals


def _follow_pieces(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]
) -> list[str | None]:
    """Find the maps of operands whose elements are in a box of the result each: outside, they are never read."""
    reason = _divide(space, value, op, attrs, operands)
    if reason is not None:
        return [reason] * len(operands)
    result = space.maps[value]
    for piece in pieces_of(op, attrs, operands):
        space.maps[value, piece.operand] = tuple(
            [
                ORIGIN
                if size == 1
                else position.stepped(low + size - 1, -1)
                if axis in piece.flipped
                else position.stepped(-low, 1)
                for axis, (position, low, size) in enumerate(
                    zip(result, piece.lows, piece.sizes, strict=True)
                )
            ]
        )
    return [None] * len(operands)


def _follow_gather(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]
) -> list[str | None]:
    """Find the maps of indices, and that of the first operand but for the axes on which they select."""
    if 0 in operands[0]:
        return ["it selects from nothing"] * len(operands)
    result = space.maps[value]
    block = kept = result
    if op is GATHER:
        axes, first = attrs
        count = len(result) - (len(operands[0]) - len(axes))
        block, kept = result[first : first + count], result[:first] + result[first + count :]
    selected = selected_axes(op, attrs)
    rest = iter(kept)
    source = [
        ORIGIN if axis in selected and op is GATHER else next(rest)
        for axis in range(len(operands[0]))
    ]
    space.maps[value, 0] = tuple(
        [
            ORIGIN if axis in selected or size == 1 else position
            for axis, (position, size) in enumerate(zip(source, operands[0], strict=True))
        ]
    )
    for number, shape in enumerate(operands[1:], start=1):
        space.maps[value, number] = broadcast_map(block, shape)
    return ["what is selected from is read anywhere", *[None] * (len(operands) - 1)]


def _divide(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]
) -> str | None:
    """Divide loops where the pieces of a value begin and end; return why that cannot be, or None."""
    if has_gaps(op, attrs):
        return "it sets a slice with gaps"
    pieces = pieces_of(op, attrs, operands)
    cuts = dict(space.cuts)
    for axis in cut_axes(op, attrs, operands):
        position = space.maps[value][axis]
        if len(position.terms) > 1:
            return "its pieces do not run along axes of the loops"
        for loop, step in position.terms:
            bounds = set(cuts.get(loop, ()))
            for piece in pieces:
                low, size = piece.lows[axis], piece.sizes[axis]
                bounds.update(span(position.start, step, low, low + size, space.sizes[loop]))
            cuts[loop] = frozenset(bounds - {0, space.sizes[loop]})
    parts = [len(bounds) + 1 for bounds in cuts.values()]
    if prod(parts) > _MOST_PARTS or max(parts, default=1) > _MOST_ALONG_ONE:
        return f"its loops would be in {prod(parts)} parts"
    space.cuts = cuts
    return None


def _operand_map(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], shape: Shape
) -> Map | str:
    result = space.maps[value]
    if op is EXPAND:
        return broadcast_map(result, shape)
    if op is PERMUTE:
        return tuple([result[attrs[0].index(axis)] for axis in range(len(shape))])
    if op is SLICE:
        starts, _, steps = attrs
        by = zip(result, starts, steps, strict=True)
        return tuple([position.stepped(start, step) for position, start, step in by])
    if op is WINDOWS:
        return _windowed_map(result, *attrs)
    if op is RESHAPE:
        return reshaped_map(space, value, attrs[0], shape)
    if op.kind is Kind.REDUCE:
        return _unreduced_map(space, result, shape, *attrs)
    if op.kind is Kind.SCAN:
        return _scanned_map(space, result, shape, *attrs)
    return f"{op.name} does not read it along the loops"


def _windowed_map(result: Map, axis: int, _size: int, step: int, dilation: int) -> Map:
    """Return the map of what windows are on: the position in the axis is that of the window and that inside of it."""
    *positions, inside = result
    positions[axis] = positions[axis].stepped(0, step).plus(inside.stepped(0, dilation))
    return tuple(positions)


def broadcast_map(result: Map, shape: Shape) -> Map:
    """Return the map of an operand that broadcasts to the value with the map `result`."""
    missing = len(result) - len(shape)
    if 1 not in shape:  # most operands: the same map, which is then known to be the same
        return result[missing:] if missing else result
    return tuple(
        [
            ORIGIN if size == 1 else position
            for size, position in zip(shape, result[missing:], strict=True)
        ]
    )


def _unreduced_map(
    space: Space, result: Map, shape: Shape, axes: tuple[int, ...], keepdims: bool
) -> Map | str:
    """Return the map of the operand of a reduction: the loops of the group's reductions run over `axes`.

    These are loops of their own, unless the result broadcasts back to loops of the same sizes: then a reduction and
    what uses it take turns in the same loops, row by row. Rows for which it is the same have it computed for each.
    """
    kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
    positions = [result[axis] for axis in kept_axes] if keepdims else list(result)
    loops = [position.on_axis() for position in positions if position.terms]
    if None in loops or len(set(loops)) < len(loops):
        return "its reduction does not run along whole axes of the loops"
    lengths = [shape[axis] for axis in kept_axes]
    if not all(
        space.is_inside(position, size) for position, size in zip(positions, lengths, strict=True)
    ):
        return "it is a piece only of what the loops run over"
    others = [axis for axis in range(len(space.sizes)) if axis not in loops]
    sizes = [shape[axis] for axis in axes if shape[axis] != 1]
    if not space.reduced and not others:
        new = [space.axis(size) for size in sizes]
        space.reduced = tuple([axis for position in new for axis, _ in position.terms])
        space.lengths = tuple(sizes)
    elif not space.reduced and [space.sizes[axis] for axis in others] == sizes:
        space.reduced, space.lengths = tuple(others), tuple(sizes)
    elif (
        not set(others).issuperset(space.reduced)
        or [space.sizes[axis] for axis in space.reduced] != sizes
        or space.lengths != tuple(sizes)
    ):
        return "its reduction runs over other axes than the loops"
    along = iter(space.reduced)
    kept = iter(positions)
    return tuple(
        [
            next(kept)
            if axis in kept_axes
            else Affine(0, ((next(along), 1),))
            if size != 1
            else ORIGIN
            for axis, size in enumerate(shape)
        ]
    )


def _scanned_map(space: Space, result: Map, shape: Shape, axis: int) -> Map | str:
    """Return the map of the operand of a scan: its loop runs from the first element to the last, like a reduction's."""
    if shape[axis] == 1:
        return result
    loop = result[axis].on_axis()
    if loop is None or space.sizes[loop] != shape[axis] or loop in space.cuts:
        return "its scan does not run along a whole axis of the loops"
    if not all(
        space.is_inside(position, size) for position, size in zip(result, shape, strict=True)
    ):
        return "it is a piece only of what the loops run over"
    if space.reduced not in ((), (loop,)):
        return "its scan runs along another axis than the loops"
    space.reduced, space.lengths = (loop,), (shape[axis],)
    return result
