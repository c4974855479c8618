"""The space of loops that a group of ops shares, and where in it each op's elements are.

Every value of the group has a map: for each of its axes, the position as an affine function of the loop indices. Maps
are followed backwards, from a result to the operands it is made of; where that is impossible, the operand cannot be
computed in the same loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tensorframe.graph.op import Kind, Op
from tensorframe.graph.shape import Shape
from tensorframe.kernel.gather import GATHERS, selected_axes
from tensorframe.kernel.pieces import PIECED, cut_axes, has_gaps, pieces_of, span
from tensorframe.ops.indexing import GATHER
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE

# Into how many parts the pieces of a group may divide its loops, and one of them: each is code of its own. To compile
# 15 parts of an exponential takes as long as five kernels, and to copy 15 results together as long as four of them.
_MOST_PARTS, _MOST_ALONG_ONE = 32, 9


@dataclass(frozen=True, slots=True)
class Affine:
    """`start` plus the sum of step * index over (loop axis, step) terms; no axis occurs twice."""

    start: int = 0
    terms: tuple[tuple[int, int], ...] = ()

    def stepped(self, start: int, step: int) -> Affine:
        """Return start + step * self."""
        return Affine(
            start + step * self.start, tuple([(axis, step * by) for axis, by in self.terms])
        )

    def plus(self, other: Affine) -> Affine:
        """Return the sum of two."""
        steps = dict(self.terms)
        for axis, step in other.terms:
            steps[axis] = steps.get(axis, 0) + step
        return Affine(self.start + other.start, tuple(sorted(steps.items())))

    def on_axis(self) -> int | None:
        """Return the loop axis whose index this is, exactly, or None."""
        if self.start == 0 and len(self.terms) == 1 and self.terms[0][1] == 1:
            return self.terms[0][0]
        return None


ORIGIN = Affine()
Map = tuple[Affine, ...]


@dataclass(slots=True)
class Space:
    """Loop axes by number, with their sizes, and the map of each value.

    Reductions run over the axes in `reduced`. `cuts` are the axes that pieces divide, and where.

    Values are named by anything hashable: nodes while groups grow, positions in a region afterwards.
    """

    sizes: list[int] = field(default_factory=list)
    reduced: tuple[int, ...] = ()
    maps: dict[Hashable, Map] = field(default_factory=dict)
    cuts: dict[int, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of_result(cls, value: Hashable, shape: Shape) -> Space:
        """Return the space of a group whose last op gives `shape`: a loop for each axis."""
        space = cls()
        space.maps[value] = tuple([space.axis(size) for size in shape])
        return space

    def axis(self, size: int) -> Affine:
        """Return the position along a new loop axis; that of a single element needs no loop."""
        if size == 1:
            return ORIGIN
        self.sizes.append(size)
        return Affine(0, ((len(self.sizes) - 1, 1),))

    def split(self, axis: int, inner: int) -> None:
        """Make two loops of one: its index becomes inner * (its own, now shorter) + (that of a new axis)."""
        new = len(self.sizes)
        self.sizes.append(inner)
        self.sizes[axis] //= inner
        if axis in self.reduced:
            at = self.reduced.index(axis) + 1
            self.reduced = (*self.reduced[:at], new, *self.reduced[at:])
        for value, positions in self.maps.items():
            self.maps[value] = tuple([_split(one, axis, new, inner) for one in positions])

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that reductions leave."""
        return tuple([axis for axis in range(len(self.sizes)) if axis not in self.reduced])

    def covers(self, value: Hashable, shape: Shape) -> bool:
        """Whether the loops meet every element of a value."""
        return all(
            self._covers(one, size) for one, size in zip(self.maps[value], shape, strict=True)
        )

    def _covers(self, one: Affine, size: int) -> bool:
        count = 1
        for axis, step in sorted(one.terms, key=lambda term: term[1]):
            if step != count:
                return False
            count *= self.sizes[axis]
        return one.start == 0 and count == size

    def copy(self) -> Space:
        """Return a space that changes apart from this one."""
        return Space(list(self.sizes), self.reduced, dict(self.maps), dict(self.cuts))

    def stays_inside(self, value: Hashable, shape: Shape) -> bool:
        """Whether a value has an element wherever the loops are, and not in a piece of them only."""
        return all(
            self._stays_inside(one, size) for one, size in zip(self.maps[value], shape, strict=True)
        )

    def _stays_inside(self, one: Affine, size: int) -> bool:
        ends = [step * (self.sizes[axis] - 1) for axis, step in one.terms]
        low = one.start + sum(min(end, 0) for end in ends)
        return low >= 0 and one.start + sum(max(end, 0) for end in ends) < size

    def axes_of(self, value: Hashable) -> set[int]:
        """Return the loop axes on which a value differs."""
        return {axis for one in self.maps[value] for axis, _ in one.terms}


def _split(one: Affine, axis: int, new: int, inner: int) -> Affine:
    steps = dict(one.terms)
    step = steps.get(axis)
    if step is None:
        return one
    steps[axis], steps[new] = step * inner, step
    return Affine(one.start, tuple(sorted(steps.items())))


def follow(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], operands: Sequence[Shape]
) -> list[str | None]:
    """Find the maps of the operands of the op that computes `value`; for each, why there is none, or None.

    The map of operand number `at` is kept in `space.maps` under `(value, at)`, so that later splits reach it.
    """
    if op in PIECED:
        return _follow_pieces(space, value, op, attrs, operands)
    if op in GATHERS:
        return _follow_gather(space, value, op, attrs, operands)
    refusals: list[str | None] = []
    for at, shape in enumerate(operands):
        found = _operand_map(space, value, op, attrs, shape)
        refusals.append(found if isinstance(found, str) else None)
        if not isinstance(found, str):
            space.maps[value, at] = found
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
                else one.stepped(low + size - 1, -1)
                if axis in piece.flipped
                else one.stepped(-low, 1)
                for axis, (one, low, size) in enumerate(
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
        axes, at = attrs
        count = len(result) - (len(operands[0]) - len(axes))
        block, kept = result[at : at + count], result[:at] + result[at + count :]
    selected = selected_axes(op, attrs)
    rest = iter(kept)
    source = [
        ORIGIN if axis in selected and op is GATHER else next(rest)
        for axis in range(len(operands[0]))
    ]
    space.maps[value, 0] = tuple(
        [
            ORIGIN if axis in selected or size == 1 else one
            for axis, (one, size) in enumerate(zip(source, operands[0], strict=True))
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
        one = space.maps[value][axis]
        if len(one.terms) > 1:
            return "its pieces do not run along axes of the loops"
        for loop, step in one.terms:
            found = set(cuts.get(loop, ()))
            for piece in pieces:
                low, size = piece.lows[axis], piece.sizes[axis]
                found.update(span(one.start, step, low, low + size, space.sizes[loop]))
            cuts[loop] = frozenset(found - {0, space.sizes[loop]})
    parts = [len(found) + 1 for found in cuts.values()]
    if prod(parts) > _MOST_PARTS or max(parts, default=1) > _MOST_ALONG_ONE:
        return f"its loops would be in {prod(parts)} parts"
    space.cuts = cuts
    return None


def _operand_map(
    space: Space, value: Hashable, op: Op, attrs: tuple[Any, ...], shape: Shape
) -> Map | str:
    result = space.maps[value]
    if op.kind is Kind.MAP or op is EXPAND:
        return broadcast_map(result, shape)
    if op is PERMUTE:
        return tuple([result[attrs[0].index(axis)] for axis in range(len(shape))])
    if op is SLICE:
        starts, _, steps = attrs
        by = zip(result, starts, steps, strict=True)
        return tuple([one.stepped(start, step) for one, start, step in by])
    if op is RESHAPE:
        return _reshaped_map(space, value, attrs[0], shape)
    if op.kind is Kind.REDUCE:
        return _unreduced_map(space, result, shape, *attrs)
    if op.kind is Kind.SCAN:
        return _scanned_map(space, result, shape, *attrs)
    return f"{op.name} does not read it along the loops"


def broadcast_map(result: Map, shape: Shape) -> Map:
    """Return the map of an operand that broadcasts to the value with the map `result`."""
    missing = len(result) - len(shape)
    return tuple(
        [ORIGIN if size == 1 else one for size, one in zip(shape, result[missing:], strict=True)]
    )


def _unreduced_map(
    space: Space, result: Map, shape: Shape, axes: tuple[int, ...], keepdims: bool
) -> Map | str:
    """Return the map of the operand of a reduction: the loops of the group's reductions run over `axes`.

    These are loops of their own, unless the result broadcasts back to loops of the same sizes: then a reduction and
    what uses it take turns in the same loops, row by row.
    """
    kept_axes = [axis for axis in range(len(shape)) if axis not in axes]
    positions = [result[axis] for axis in kept_axes] if keepdims else list(result)
    loops = [one.on_axis() for one in positions if one.terms]
    lengths = [shape[axis] for axis, one in zip(kept_axes, positions, strict=True) if one.terms]
    if (
        None in loops
        or len(set(loops)) < len(loops)
        or lengths != [space.sizes[axis] for axis in loops if axis is not None]
    ):
        return "its reduction does not run along whole axes of the loops"
    others = [axis for axis in range(len(space.sizes)) if axis not in loops]
    sizes = [shape[axis] for axis in axes if shape[axis] != 1]
    if not space.reduced and not others:
        new = [space.axis(size) for size in sizes]
        space.reduced = tuple([axis for one in new for axis, _ in one.terms])
    elif not space.reduced and [space.sizes[axis] for axis in others] == sizes:
        space.reduced = tuple(others)
    elif sorted(space.reduced) != others or [space.sizes[axis] for axis in space.reduced] != sizes:
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
    if space.reduced not in ((), (loop,)):
        return "its scan runs along another axis than the loops"
    space.reduced = (loop,)
    return result


def _reshaped_map(space: Space, value: Hashable, target: Shape, source: Shape) -> Map | str:
    """Return the map of the operand of a reshape from `source` to `target`; axes of the space split where it helps."""
    result: list[Affine] = [ORIGIN] * len(source)
    if 0 in source:
        return tuple(result)
    for wanted, given in _groups(source, target):
        if len(wanted) == len(given) == 1:
            result[wanted[0]] = space.maps[value][given[0]]
            continue
        strides = [prod([source[axis] for axis in wanted[at + 1 :]]) for at in range(len(wanted))]
        reason = _split_for(space, value, given, target, strides)
        if reason:
            return reason
        flat = ORIGIN
        for at, axis in enumerate(given):
            step = prod([target[other] for other in given[at + 1 :]])
            flat = flat.plus(space.maps[value][axis].stepped(0, step))
        parts = _digits(space, flat, strides, [source[axis] for axis in wanted])
        if parts is None:
            return "its reshape mixes axes of the loops"
        for axis, part in zip(wanted, parts, strict=True):
            result[axis] = part
    return tuple(result)


def _groups(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """Return the axes of the source, and those of the target that hold the same elements, in smallest groups."""
    groups = []
    left = [axis for axis, size in enumerate(source) if size != 1]
    right = [axis for axis, size in enumerate(target) if size != 1]
    while left and right:
        wanted, given = [left.pop(0)], [right.pop(0)]
        many, few = source[wanted[0]], target[given[0]]
        while many != few:
            if many < few:
                wanted.append(left.pop(0))
                many *= source[wanted[-1]]
            else:
                given.append(right.pop(0))
                few *= target[given[-1]]
        groups.append((wanted, given))
    return groups


def _split_for(
    space: Space, value: Hashable, given: Sequence[int], target: Shape, strides: Sequence[int]
) -> str | None:
    """Split the loops of a group of target axes so that each runs within one source axis."""
    done = False
    while not done:
        done = True
        for at, axis in enumerate(given):
            step = prod([target[other] for other in given[at + 1 :]])
            for loop, by in space.maps[value][axis].terms:
                if by < 0:
                    return "its reshape meets a flipped axis"
                inner = _crossed(step * by, space.sizes[loop], strides)
                if inner is not None:
                    if loop in space.cuts:
                        return "its reshape would cut loops over pieces"
                    if space.sizes[loop] % inner:
                        return "its reshape mixes axes of the loops"
                    space.split(loop, inner)
                    done = False
                    break
            if not done:
                break
    return None


def _crossed(step: int, size: int, strides: Sequence[int]) -> int | None:
    """Return how many indices of a loop stay within one step of the innermost source axis it crosses, if it does."""
    for stride in reversed(strides):
        if step < stride < step * size and stride % step == 0:
            return stride // step
    return None


def _digits(
    space: Space, flat: Affine, strides: Sequence[int], sizes: Sequence[int]
) -> list[Affine] | None:
    """Return a flat position as positions along axes with these strides, or None if the loops do not fit them."""
    parts: list[dict[int, int]] = [{} for _ in strides]
    starts = []
    rest = flat.start
    for stride in strides:
        starts.append(rest // stride)
        rest %= stride
    for loop, step in flat.terms:
        at = next(number for number, stride in enumerate(strides) if stride <= abs(step))
        if step % strides[at]:
            return None
        parts[at][loop] = step // strides[at]
    # the first axis ends where the value does; of a piece, loops may go beyond it
    for start, part, size in list(zip(starts, parts, sizes, strict=True))[1:]:
        if start + sum(step * (space.sizes[loop] - 1) for loop, step in part.items()) >= size:
            return None
    return [
        Affine(start, tuple(sorted(part.items())))
        for start, part in zip(starts, parts, strict=True)
    ]
