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
    used = {source for one in region.ops for source in one.inputs}
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
        found = _joined_with_one(region, space, waiting)
        if found is None:
            return "the outputs do not share their loops"
        space = found
    return space


def complete(region: Region, space: Space) -> str | None:
    """Find the maps of all that values in a space are made of, from the last to the first; return why there are none.

    Operands whose maps are known keep them.
    """
    first = len(region.inputs)
    for value in range(first + len(region.ops) - 1, first - 1, -1):
        if value not in space.maps:
            continue
        one = region.ops[value - first]
        if any((value, at) not in space.maps for at in range(len(one.inputs))):
            shapes = [region.shape_of(source) for source in one.inputs]
            for at, reason in enumerate(follow(space, value, one.op, one.attrs, shapes)):
                if reason is not None and (
                    one.inputs[at] >= first or (value, at) not in space.maps
                ):
                    return f"{one.op.name}: {reason}"
        for at, source in enumerate(one.inputs):
            if source >= first:
                found = space.maps[value, at]
                if space.maps.setdefault(source, found) != found:
                    return f"value {source} is read at two places of the loops"
    return None


def _joined_with_one(region: Region, space: Space, waiting: list[Space]) -> Space | None:
    """Return a space together with one of those that wait, which waits no longer; None if it fits to none of them.

    What two have in common tells which of their loops are the same; else those of the same number are.
    """
    for pairs in (partial(_shared, region), _by_number):
        for at, other in enumerate(waiting):
            found = joined(space, other, pairs(space, other), rows=True)
            if found is not None:
                del waiting[at]
                return found
    return None


def _shared(region: Region, one: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield the maps of what two spaces compute, or read, both."""
    for value, here in one.maps.items():
        if value in other.maps:
            yield here, other.maps[value]
    reads = list(_input_maps(region, other))
    for source, here in _input_maps(region, one):
        for same, there in reads:
            if source == same:
                yield here, there


def _input_maps(region: Region, space: Space) -> Iterator[tuple[int, Map]]:
    first = len(region.inputs)
    for value, one in enumerate(region.ops, start=first):
        for at, source in enumerate(one.inputs):
            if source < first and (value, at) in space.maps:
                yield source, space.maps[value, at]


def _by_number(one: Space, other: Space) -> Iterator[tuple[Map, Map]]:
    """Yield maps of a value that differs along all loops, or all that are kept, those of the same number alike."""
    for here, there in (
        (range(len(one.sizes)), range(len(other.sizes))),
        (one.kept, other.kept),
    ):
        if len(here) == len(there):
            yield _along(here), _along(there)


def _along(axes: Iterable[int]) -> Map:
    return tuple([Affine(0, ((axis, 1),)) for axis in axes])
