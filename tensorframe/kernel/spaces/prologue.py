"""Prologues: reductions that other reductions of a region need, over other axes than these, are made before its loops.

The product of a quantised matrix and a vector is such a region: first the sum of squares that normalises the vector,
then the largest number of each block, then the words of integers that rows of the matrix are multiplied by. Each part
has a space of its own. What lies between two reductions, element by element, is in each part that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.kernel.spaces.analyse import analyse
from tensorframe.quick_tuples import NamedTuple


class Part(NamedTuple):
    """Ops that run in loops of their own; `takes` and `gives` are values of the whole region."""

    region: Region
    takes: tuple[int, ...]
    gives: tuple[int, ...]


def parts_of(region: Region) -> list[Part] | str:
    """Return the parts of a region in the order in which they run, the last with its outputs; or why there are none."""
    first = made_first(region)
    parts = [_part(region, (value,), first) for value in first]
    parts.append(_part(region, region.outputs, first))
    for part in parts:
        space = analyse(part.region)
        if isinstance(space, str):
            return space
        if not space.reduced:
            return "a part has no reduction"
    return parts


def made_first(region: Region) -> list[int]:
    """Return the reductions that other reductions need."""
    count = len(region.inputs)
    needed: set[int] = set()
    for value in range(count + len(region.ops) - 1, count - 1, -1):
        op = region.ops[value - count]
        if value in needed or op.op.kind is Kind.REDUCE:
            needed.update(op.inputs)
    return [
        value
        for value, op in enumerate(region.ops, start=count)
        if op.op.kind is Kind.REDUCE and value in needed
    ]


def _part(region: Region, gives: Sequence[int], first: Sequence[int]) -> Part:
    """Return the ops that make some values from the region's inputs, and from what is made before."""
    count = len(region.inputs)
    there = set(first).difference(gives)
    made: set[int] = set()
    takes: set[int] = set()
    waiting = list(gives)
    while waiting:
        value = waiting.pop()
        if value < count or value in there:
            takes.add(value)
        elif value not in made:
            made.add(value)
            waiting += region.ops[value - count].inputs
    taken = tuple(sorted(takes))
    return Part(region.part(taken, sorted(made), gives), taken, tuple(gives))
