"""The space of a region: its loops, found from the outputs backwards, and where in them each value's elements are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tensorframe.graph.region import Region
from tensorframe.graph.space import Affine, Map, Space
from tensorframe.kernel.spaces.follow import follow
from tensorframe.kernel.spaces.join import joined


class NotFusibleError(Exception):
    """The ops of a region do not run in one space of loops, though fusion said so."""


def space_of(region: Region) -> Space:
    """Return the space of a region's loops, with the maps of all values: fusion's, or else it is found now, once."""
    space = analyse(region)
    if isinstance(space, str):
        raise NotFusibleError(space)
    return space


def analyse(region: Region) -> Space | str:
    """Return the space of a region, which is found now, and kept, unless fusion has; or why there is none."""
    if region.space is None:
        space = _found(region)
        if isinstance(space, str):
            return space
        region.settle(space)
        return space
    return region.space


def _found(region: Region) -> Space | str:
    """Find the space of a region, output by output."""
    used = {source for op in region.ops for source in op.inputs}
    sinks = [value for value in region.outputs if value not in used]
    waiting: list[Space] = []
    for sink in sorted(sinks, reverse=True):
        space = Space.of_result(sink, region.shape_of(sink))
        reason = complete(region, space)
        if reason is not None:
            return reason
        waiting.append(space)
    space = waiting.pop(0)
    while waiting:
        together = _joined_with_one(region, space, waiting)
        if together is None:
            return "the outputs do not share their loops"
        space = together
    return space


def complete(region: Region, space: Space) -> str | None:
    """Find the maps of all that values in a space are made of, from the last to the first; return why there are none.

    Operands whose maps are known keep them.
    """
    first = len(region.inputs)
    for value in range(first + len(region.ops) - 1, first - 1, -1):
        if value not in space.maps:
            continue
        op = region.ops[value - first]
        if any((value, index) not in space.maps for index in range(len(op.inputs))):
            shapes = [region.shape_of(source) for source in op.inputs]
            for index, reason in enumerate(follow(space, value, op.op, op.attrs, shapes)):
                if reason is not None and (
                    op.inputs[index] >= first or (value, index) not in space.maps
                ):
                    return f"{op.op.name}: {reason}"
        for index, source in enumerate(op.inputs):
            if source >= first:
                positions = space.maps[value, index]
                if space.maps.setdefault(source, positions) != positions:
                    return f"value {source} is read at two places of the loops"
    return None


def _joined_with_one(region: Region, space: Space, waiting: list[Space]) -> Space | None:
    """Return a space together with one of those that wait, which waits no longer; None if it fits to none of them.

    What two have in common decides which of their loops are the same; else those of the same number are.
    """
    for pairs in (partial(_shared, region), _by_number):
        for index, other in enumerate(waiting):
            both = joined(space, other, pairs(space, other), rows=True)
            if both is not None:
                del waiting[index]
                return both
    return None


def _shared(region: Region, space: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield the maps of what two spaces compute, or read, both."""
    for value, here in space.maps.items():
        if value in other.maps:
            yield here, other.maps[value]
    reads = list(_input_maps(region, other))
    for source, here in _input_maps(region, space):
        for same, there in reads:
            if source == same:
                yield here, there


def _input_maps(region: Region, space: Space) -> Iterator[tuple[int, Map]]:
    first = len(region.inputs)
    for value, op in enumerate(region.ops, start=first):
        for index, source in enumerate(op.inputs):
            if source < first and (value, index) in space.maps:
                yield source, space.maps[value, index]


def _by_number(space: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield maps of a value that differs along all loops, or all that are kept, those of the same number alike."""
    for here, there in (
        (range(len(space.sizes)), range(len(other.sizes))),
        (space.kept, other.kept),
    ):
        if len(here) == len(there):
            yield _along(here), _along(there)


def _along(axes: Iterable[int]) -> Map:
    return tuple([Affine(0, ((axis, 1),)) for axis in axes])
