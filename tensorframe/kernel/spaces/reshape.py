"""Reshapes followed backwards: the loops of the result, split where that helps, as positions in the source."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod

from tensorframe.graph.shape import Shape
from tensorframe.graph.space import ORIGIN, Affine, Map, Space


def reshaped_map(space: Space, value: Hashable, target: Shape, source: Shape) -> Map | str:
    """Return the map of the operand of a reshape from `source` to `target`; axes of the space split where it helps."""
    result: list[Affine] = [ORIGIN] * len(source)
    if 0 in source:
        return tuple(result)
    for wanted, given in _groups(source, target):
        if len(wanted) == len(given) == 1:
            result[wanted[0]] = space.maps[value][given[0]]
            continue
        strides = [
            prod([source[axis] for axis in wanted[index + 1 :]]) for index in range(len(wanted))
        ]
        reason = _split_for(space, value, given, target, strides)
        if reason:
            return reason
        flat = ORIGIN
        for index, axis in enumerate(given):
            step = prod([target[other] for other in given[index + 1 :]])
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
        for index, axis in enumerate(given):
            step = prod([target[other] for other in given[index + 1 :]])
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
        digit = next(number for number, stride in enumerate(strides) if stride <= abs(step))
        if step % strides[digit]:
            return None
        parts[digit][loop] = step // strides[digit]
    # the first axis ends where the value does; of a piece, loops may go beyond it
    for start, part, size in list(zip(starts, parts, sizes, strict=True))[1:]:
        if start + sum(step * (space.sizes[loop] - 1) for loop, step in part.items()) >= size:
            return None
    return [
        Affine(start, tuple(sorted(part.items())))
        for start, part in zip(starts, parts, strict=True)
    ]
