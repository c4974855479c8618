"""Loop fission into passes, and rematerialisation: in which pass over a row each value is needed, stored or recomputed.

Reductions over the same axes run in passes: one that needs the result of another comes in a later pass (softmax: the
maximum, then the sum of exponentials, then the quotients). What several passes need is computed once and kept in
scratch memory if computing it again would cost more.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import Space
from tensorframe.quick_dataclasses import dataclass, field

# Operations per element from which a value is worth a store and a load in the nearest cache.
WORTH_SCRATCH = 8.0


@dataclass(slots=True)
class Stages:
    """`level` of a value: how many passes come before it. `full` values differ along the reduced axes.

    `inside` values have an element wherever the loops are, and not in a piece of them only.

    `reductions` and `stores` list, for each pass, the reductions that run in it and the full outputs written in it;
    the last pass has no reductions.
    """

    level: list[int]
    full: list[bool]
    inside: list[bool]
    reductions: list[list[int]]
    stores: list[list[int]]
    kept: dict[int, int] = field(default_factory=dict)  # value in scratch -> its first pass
    scans: list[list[int]] = field(default_factory=list)  # for each pass, those that run in it

    @property
    def passes(self) -> int:
        """How many passes have reductions."""
        return len(self.reductions)


def stages_of(
    region: Region, space: Space, *, scratch: bool, deviations: Mapping[int, int] | None = None
) -> Stages:
    """Return the stages of a region; `scratch` says whether values may be kept between passes.

    The sums of squares in `deviations` run with the first elements that they need: what is subtracted may come later.
    """
    stages = _in_passes(region, space, deviations or {})
    if scratch and stages.reductions:
        _choose_scratch(region, stages)
    stages.scans = _scans_of(region, stages)
    return stages


def _in_passes(region: Region, space: Space, centred: Mapping[int, int]) -> Stages:
    """Return the pass in which each reduction runs, and each output of full rows is written."""
    first = len(region.inputs)
    count = first + len(region.ops)
    stages = Stages([0] * count, [False] * count, [True] * count, [], [])
    level, reductions = stages.level, stages.reductions
    # elementwise ops share the map of their elements, which is walked once
    known: dict[tuple[int, Shape], tuple[bool, bool]] = {}
    for value, op in enumerate(region.ops, start=first):
        level[value] = max([level[source] for source in op.inputs], default=0)
        same = (id(space.maps[value]), op.shape)
        if same not in known:
            full = not space.axes_of(value).isdisjoint(space.reduced)
            known[same] = (full, space.stays_inside(value, op.shape))
        stages.full[value], stages.inside[value] = known[same]
        if op.op.kind is not Kind.REDUCE or not _runs_over(space, value):
            continue
        # it runs when all that its operand needs is known; squared distances from a pivot need the elements alone
        number = level[value]
        if value in centred:
            number = level[region.ops[centred[value] - first].inputs[0]]
        while len(reductions) <= number:
            reductions.append([])
        reductions[number].append(value)
        level[value] = max(number + 1, level[value])
    stages.stores.extend([] for _ in range(stages.passes + 1))
    for value in dict.fromkeys(region.outputs):
        if stages.full[value] or not space.reduced:
            stages.stores[level[value]].append(value)
    return stages


def _runs_over(space: Space, value: int) -> bool:
    """Whether a reduction has loops to run over; one over axes of a single element is computed like any op."""
    return bool(space.axes_of((value, 0)) - space.axes_of(value))


def _scans_of(region: Region, stages: Stages) -> list[list[int]]:
    """Return, for each pass, the scans that run in it: in every pass that needs what they give."""
    scans = [
        value for value, op in enumerate(region.ops, start=len(region.inputs)) if _runs_along(op)
    ]
    needed = _needed(region, stages) if scans else {}
    return [
        [value for value in scans if number in needed.get(value, ())]
        for number in range(stages.passes + 1)
    ]


def _runs_along(op: RegionOp) -> bool:
    """Whether a scan has a loop to run along; along an axis of a single element it is computed like any op."""
    return op.op.kind is Kind.SCAN and op.shape[op.attrs[0]] != 1


def _choose_scratch(region: Region, stages: Stages) -> None:
    """Keep values between passes, those nearest to their use first, until nothing costly is computed twice."""
    first = len(region.inputs)
    while True:
        needed = _needed(region, stages)
        again = [
            value
            for value, passes in needed.items()
            if len(passes) > 1
            and value not in stages.kept
            and stages.inside[value]
            and _cost(region, stages, value) >= WORTH_SCRATCH
        ]
        if not again:
            return
        value = max(again)
        stages.kept[value] = min(needed[value])
        assert value >= first


def _needed(region: Region, stages: Stages) -> dict[int, set[int]]:
    """Return the passes in which each full op result is computed."""
    first = len(region.inputs)
    needed: dict[int, set[int]] = {}
    for number in range(stages.passes + 1):
        reductions = stages.reductions[number] if number < stages.passes else []
        roots = [region.ops[value - first].inputs[0] for value in reductions]
        for value in reached(region, stages, [*roots, *stages.stores[number]], number):
            needed.setdefault(value, set()).add(number)
    return needed


def reached(
    region: Region, stages: Stages, roots: Iterable[int], number: int, ends: Container[int] = ()
) -> set[int]:
    """Return the full op results that a pass computes for `roots`, without those in `ends` and what these need."""
    first = len(region.inputs)
    values: set[int] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if value < first or value in values or value in ends or not stages.full[value]:
            continue
        if any(value in reduction for reduction in stages.reductions):
            continue
        values.add(value)
        if stages.kept.get(value, number) >= number:
            stack.extend(region.ops[value - first].inputs)
    return values


def _cost(region: Region, stages: Stages, value: int) -> float:
    """Return the operations for one element of a value, from what is loaded."""
    return cost_of(region, reached(region, stages, [value], stages.passes + 1) | {value})


def cost_of(region: Region, values: Iterable[int]) -> float:
    """Return the operations for one element of each value."""
    first = len(region.inputs)
    return sum([region.ops[value - first].op.cost for value in values])
