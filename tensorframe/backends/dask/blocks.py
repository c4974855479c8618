"""Blocks of regions: which blocks of its inputs a block of a region's results needs, and the region that makes it.

A region is followed backwards with the rules of `schedule/tiles.py`, which say the same of a single op.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import ARANGE, FULL
from tensorframe.ops.movement import SLICE
from tensorframe.quick_tuples import NamedTuple
from tensorframe.schedule.blocks import Block, Part, extents, hull, whole, within
from tensorframe.schedule.tiles import part_of

# Of these, a block that is one place further needs blocks that are one place further, or the same ones.
_SHIFTING = frozenset({Kind.MAP, Kind.REDUCE, Kind.SOURCE})
# Blocks of which a process keeps what they need: those of a few programs at a time.
_KEPT = 4096
# What half of a result may cost at most, of what all of it does, for its axis to be cut.
_SHARE = 0.7
_SHIFTING_NAMES = frozenset({"expand", "permute", "matmul", "slice"})


class Needs(NamedTuple):
    """The block of each value of a region, by its number, that blocks of its results need."""

    blocks: dict[int, Block]
    parts: dict[int, Part]


class Restricted(NamedTuple):
    """The region that makes blocks of a region's results.

    Its inputs are blocks of those of the region (number and block), then ranges that are counted on the spot.
    """

    region: Region
    inputs: tuple[tuple[int, Block], ...]
    ranges: tuple[tuple[RegionOp, Block], ...]


def needs_of(region: Region, wanted: Mapping[int, Block]) -> Needs | None:
    """Return what blocks of results need; None where an op takes more than blocks of its operands for them.

    The answer is kept, and is nobody's to change: a program that runs again asks the same of each of its blocks.
    """
    return _needs_of(region.key(), tuple(wanted.items()))


@lru_cache(_KEPT)
def _needs_of(key: tuple[Any, ...], wanted: tuple[tuple[int, Block], ...]) -> Needs | None:
    region: Region = key[0]
    first = len(region.inputs)
    blocks = dict(wanted)
    parts: dict[int, Part] = {}
    for value in range(first + len(region.ops) - 1, first - 1, -1):
        if value not in blocks:
            continue
        part = _part(region, value, blocks[value])
        if part is None:
            return None
        parts[value] = part
        sources = region.ops[value - first].inputs
        for source, block in zip(sources, part.operands, strict=True):
            if block is not None:
                blocks[source] = hull(blocks[source], block) if source in blocks else block
    return Needs(blocks, parts)


def _part(region: Region, value: int, block: Block) -> Part | None:
    entry = region.ops[value - len(region.inputs)]
    if entry.op is FULL or entry.op is ARANGE:
        return Part(entry.op, entry.attrs, (), extents(block))
    shapes = [region.shape_of(source) for source in entry.inputs]
    return part_of(entry.op, entry.attrs, shapes, entry.shape, block)


def restricted(region: Region, wanted: Mapping[int, Block]) -> Restricted:
    """Return the region that makes blocks of results, which are not empty; it is kept as what they need is."""
    return _restricted(region.key(), tuple(wanted.items()))


@lru_cache(_KEPT)
def _restricted(key: tuple[Any, ...], items: tuple[tuple[int, Block], ...]) -> Restricted:
    region: Region = key[0]
    wanted = dict(items)
    needs = needs_of(region, wanted)
    assert needs is not None, "the grid of a result keeps whole what has to be"
    return _Building(region, needs, wanted).result()


class _Building:
    """A region under construction: the places of blocks of values in it."""

    def __init__(self, region: Region, needs: Needs, wanted: Mapping[int, Block]) -> None:
        self._region, self._needs, self._wanted = region, needs, wanted
        first = len(region.inputs)
        self._inputs = [value for value in sorted(needs.blocks) if value < first]
        self._ranges = [
            value for value in sorted(needs.parts) if region.ops[value - first].op is ARANGE
        ]
        self._place = {
            value: position for position, value in enumerate((*self._inputs, *self._ranges))
        }
        self._ops: list[RegionOp] = []

    def result(self) -> Restricted:
        region, blocks = self._region, self._needs.blocks
        first = len(region.inputs)
        for value in sorted(self._needs.parts):
            if value not in self._place:
                self._make(value, region.ops[value - first])
        outputs = tuple([self._shown(value, self._wanted[value]) for value in region.outputs])
        given = [
            (extents(blocks[value]), region.dtype_of(value))
            for value in (*self._inputs, *self._ranges)
        ]
        return Restricted(
            Region(tuple(given), tuple(self._ops), outputs),
            tuple([(value, blocks[value]) for value in self._inputs]),
            tuple([(region.ops[value - first], blocks[value]) for value in self._ranges]),
        )

    def _make(self, value: int, entry: RegionOp) -> None:
        part = self._needs.parts[value]
        operands = [
            self._shown(source, block)
            for source, block in zip(entry.inputs, part.operands, strict=True)
            if block is not None
        ]
        if part.op is None:
            self._place[value] = operands[0]
            return
        made = self._add(RegionOp(part.op, part.attrs, tuple(operands), part.shape, entry.dtype))
        self._place[value] = made if part.crop is None else self._slice(made, part.crop)

    def _shown(self, value: int, block: Block) -> int:
        """Return the place of a block of a value, which may have a larger one."""
        own = self._needs.blocks[value]
        place = self._place[value]
        return place if block == own else self._slice(place, within(block, own))

    def _slice(self, place: int, block: Block) -> int:
        attrs = (tuple([low for low, _ in block]), extents(block), (1,) * len(block))
        return self._add(RegionOp(SLICE, attrs, (place,), extents(block), self._dtype(place)))

    def _add(self, entry: RegionOp) -> int:
        self._ops.append(entry)
        return len(self._inputs) + len(self._ranges) + len(self._ops) - 1

    def _dtype(self, place: int) -> DType:
        given = (*self._inputs, *self._ranges)
        if place < len(given):
            return self._region.dtype_of(given[place])
        return self._ops[place - len(given)].dtype


def bytes_of(region: Region, value: int) -> int:
    """Return the bytes of a value of a region."""
    return prod(region.shape_of(value)) * region.dtype_of(value).itemsize


def can_be_cut(region: Region, value: int, axis: int) -> bool:
    """Whether half of a value along an axis is about half of the work: else each block would do much of it again."""
    shape = region.shape_of(value)
    half = (*whole(shape[:axis]), (shape[axis] // 2, shape[axis]), *whole(shape[axis + 1 :]))
    everything, part = needs_of(region, {value: whole(shape)}), needs_of(region, {value: half})
    if everything is None or part is None:
        return False
    return _work(part) <= _SHARE * _work(everything)


def _work(needs: Needs) -> int:
    """Return how many elements ops make, or combine."""
    return sum(
        [
            prod(extents(part.operands[0]))
            if part.op is not None and part.op.kind is Kind.REDUCE and part.operands[0] is not None
            else prod(part.shape)
            for part in needs.parts.values()
        ]
    )


def needed_along(
    region: Region, value: int, axis: int, interval: tuple[int, int]
) -> dict[int, Block] | None:
    """Return the blocks of inputs that a value needs which is cut along one axis; None where it cannot be."""
    shape = region.shape_of(value)
    block = (*whole(shape[:axis]), interval, *whole(shape[axis + 1 :]))
    needs = needs_of(region, {value: block})
    if needs is None:
        return None
    return {source: own for source, own in needs.blocks.items() if source < len(region.inputs)}


def shifts(region: Region) -> bool:
    """Whether blocks of results that are further along an axis by so many places need blocks further by as many."""
    return all(
        entry.op.kind in _SHIFTING
        or (
            entry.op.name in _SHIFTING_NAMES
            and (entry.op is not SLICE or set(entry.attrs[2]) <= {1})
        )
        for entry in region.ops
    )


def ancestors(region: Region, given: Collection[int] = ()) -> set[int]:
    """Return the values that the outputs of a region are made of, these included; those `given` are made of nothing."""
    first = len(region.inputs)
    reached = set(region.outputs)
    for value in range(first + len(region.ops) - 1, first - 1, -1):
        if value in reached and value not in given:
            reached.update(region.ops[value - first].inputs)
    return reached


def making(
    region: Region, values: Sequence[int], given: Sequence[int] = ()
) -> tuple[Region, tuple[int, ...]]:
    """Return the part of a region that makes some of its values, and the values that are its inputs.

    These are inputs of the region, and what is `given` besides.
    """
    first = len(region.inputs)
    made, takes = set(), set()
    waiting = list(values)
    for value in waiting:  # grows while it is walked
        if value < first or value in given:
            takes.add(value)
        elif value not in made:
            made.add(value)
            waiting += region.ops[value - first].inputs
    inputs = tuple(sorted(takes))
    return region.part(inputs, sorted(made), values), inputs


def reading(
    region: Region, values: Sequence[int], given: Iterable[int]
) -> tuple[Region, tuple[int, ...], bool]:
    """Return the part of a region that makes some values, what its inputs are, and whether it is made of blocks.

    What is read in several places is several inputs then: see `read_apart`. The answer is kept.
    """
    return _reading(region.key(), tuple(values), tuple(given))


@lru_cache(_KEPT)
def _reading(
    key: tuple[Any, ...], values: tuple[int, ...], given: tuple[int, ...]
) -> tuple[Region, tuple[int, ...], bool]:
    own, takes = making(key[0], values, given)
    result = own.outputs[0]
    if needs_of(own, {result: whole(own.shape_of(result))}) is None:
        return own, takes, False
    own, sources = read_apart(own, result)
    return own, tuple([takes[source] for source in sources]), True


def read_apart(region: Region, value: int) -> tuple[Region, tuple[int, ...]]:
    """Return the region with an input for each place where one is read, and the input that each of these is.

    Where ops see much the same of an input, as those of a stencil do, they share one: what lies around all of it.
    """
    first = len(region.inputs)
    edges = [
        (place, number)
        for place, entry in enumerate(region.ops)
        for number, source in enumerate(entry.inputs)
        if source < first
    ]
    if len(edges) == len({region.ops[place].inputs[number] for place, number in edges}):
        return region, tuple(range(first))
    apart = _with_inputs(region, {edge: number for number, edge in enumerate(edges)})
    shift = len(edges) - first
    shape = region.shape_of(value)
    middle = tuple([(size // 3, max(2 * size // 3, size // 3 + 1)) for size in shape])
    needs = needs_of(apart, {value + shift: middle}) or needs_of(
        apart, {value + shift: whole(shape)}
    )
    assert needs is not None, "the region is made of blocks"
    groups: list[tuple[int, Block | None, list[tuple[int, int]]]] = []
    for number, edge in enumerate(edges):
        source, block = region.ops[edge[0]].inputs[edge[1]], needs.blocks.get(number)
        for index, (other, around, members) in enumerate(groups):
            joined = _around(block, around) if other == source else None
            if joined is not None:
                groups[index] = (source, joined[0], [*members, edge])
                break
        else:
            groups.append((source, block, [edge]))
    numbers = {edge: rank for rank, (_, _, members) in enumerate(groups) for edge in members}
    return _with_inputs(region, numbers), tuple([source for source, _, _ in groups])


def _around(block: Block | None, other: Block | None) -> tuple[Block | None] | None:
    """Return what lies around two blocks, if that is not much more than the larger one; None if it is."""
    if block is None or other is None:
        return (block or other,)
    around = hull(block, other)
    most = max(prod(extents(block)), prod(extents(other)))
    return (around,) if 2 * prod(extents(around)) <= 3 * most else None


def _with_inputs(region: Region, numbers: Mapping[tuple[int, int], int]) -> Region:
    """Return a region in which each place (op, operand) that reads an input reads the one of this number."""
    first, count = len(region.inputs), max(numbers.values()) + 1
    kinds: list[tuple[Shape, DType] | None] = [None] * count
    ops = []
    for place, entry in enumerate(region.ops):
        sources = []
        for number, source in enumerate(entry.inputs):
            if source < first:
                kinds[numbers[place, number]] = region.inputs[source]
            sources.append(numbers[place, number] if source < first else source - first + count)
        ops.append(replace(entry, inputs=tuple(sources)))
    outputs = tuple([value - first + count for value in region.outputs])
    return Region(tuple([kind for kind in kinds if kind is not None]), tuple(ops), outputs)
