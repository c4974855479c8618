"""Horizontal fusion: groups that read the same data in the same loops become one, which reads it once.

The mean and the largest element, a sum and a sum of squares, several expressions of one tensor: none of them uses the
other, so growing from one sink never finds the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from tensorframe.backends.base import Capabilities
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.space import Map, Space
from tensorframe.kernel.spaces.join import joined
from tensorframe.schedule.fusion.admission import can_fuse, has_room, meets_once
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group
from tensorframe.schedule.fusion.weights import misfit, waits_for_reductions

# Bytes of common data below which reading it twice is nothing.
_WORTH_SHARING = 1 << 14
# Groups that read one tensor and are compared with each other; beyond, comparing takes longer than it saves.
_MOST_READERS = 8


def merge_readers(
    groups: Sequence[Group], roots: Sequence[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with those merged that read the same elements and do not wait for each other.

    What several groups read may then run with them, since they are one.
    """
    merging = _Merging(groups)
    for source, readers in _readers(groups).items():
        if source.nbytes < _WORTH_SHARING or not 1 < len(readers) <= _MOST_READERS:
            continue
        for first, other in combinations(readers, 2):
            here, there = merging.now(first), merging.now(other)
            capabilities = capabilities_of(here.sink.device)
            fits = (
                len(here.nodes) + len(there.nodes) <= capabilities.max_ops
                and len(here.inputs) + len(there.inputs) <= capabilities.max_inputs
            )
            if here is not there and fits:
                merging.merge(here, there, source)
    return _with_makers(merging.groups(), merging.merged(), frozenset(roots), capabilities_of)


def _with_makers(
    groups: list[Group],
    merged: set[Group],
    wanted: frozenset[Node],
    capabilities_of: CapabilitiesOf,
) -> list[Group]:
    """Return the groups with those that only a merged group reads made part of it, where the loops allow it."""
    left = dict.fromkeys(groups)
    for reader in reversed(groups):
        joining = reader in merged and reader in left
        while joining:  # what two makers read has one reader when they have joined
            joining = False
            for maker in groups:
                if maker not in left or not _is_only_reader(reader, maker, left):
                    continue
                capabilities = capabilities_of(maker.sink.device)
                joins = _joins_in_turn if maker in merged else take_in
                if joins(maker, reader, wanted, capabilities):
                    del left[maker]
                    joining = True
    return list(left)


def _is_only_reader(reader: Group, maker: Group, groups: Iterable[Group]) -> bool:
    """Whether a group alone reads what another one makes."""
    if maker is reader or maker.space is None or reader.inputs.keys().isdisjoint(maker.nodes):
        return False
    return all(group is reader or group.inputs.keys().isdisjoint(maker.nodes) for group in groups)


def _joins_in_turn(
    maker: Group, reader: Group, wanted: frozenset[Node], capabilities: Capabilities
) -> bool:
    """Make a group with several results part of the one that reads some of them, element by element."""
    inputs = reader.inputs.keys() | maker.inputs.keys()
    if len(reader.nodes) + len(maker.nodes) > capabilities.max_ops:
        return False
    if len(inputs) > capabilities.max_inputs or (maker.copies and reader.copies):
        return False
    here, there = _loops(reader), _loops(maker)
    made = [node for node in maker.nodes if node in reader.inputs]
    reads = {edge: node for node in made for edge in reader.edges[node] if edge in here.maps}
    pairs = [(here.maps[edge], there.maps[node]) for edge, node in reads.items()]
    space = joined(here, there, pairs)
    if space is None or any(space.maps[edge] != space.maps[node] for edge, node in reads.items()):
        return False
    trial = reader.copy()
    trial.absorb(maker, space)
    if waits_for_reductions(trial, space):
        return False
    along = [node for node in maker.nodes if node.op.kind is Kind.MAP]
    if any(misfit(node, trial, space, capabilities) for node in along):
        return False
    trial.outputs.update(wanted.intersection(maker.nodes))
    for node in made:
        trial.inputs.pop(node, None)
        trial.refusals.pop(node, None)
    reader.become(trial)
    return True


def take_in(
    maker: Group, reader: Group, wanted: frozenset[Node], capabilities: Capabilities
) -> bool:
    """Make the nodes of a group part of the one that reads its result, all or none of them; `wanted` are stored."""
    copies = {copy for copies in maker.repeats.values() for copy in copies}
    if copies and reader.copies:  # of the same node perhaps
        return False
    made = [node for node in reversed(maker.nodes) if node not in copies]
    new = [node for node in made if node not in reader.nodes]
    # checked for all of them before: most groups that are refused are too large
    if not all(
        has_room(node, ops, capabilities) for ops, node in enumerate(new, len(reader.nodes))
    ):
        return False
    trial = reader.copy()
    for node in made:
        if node not in trial.edges:  # one of several results, which the reader has no use for
            return False
        if node in reader.nodes:
            if not _is_in_place(node, trial):
                return False
            trial.inputs.pop(node, None)
        elif can_fuse(node, trial, capabilities, enabled=True, kept=node in wanted) is None:
            trial.admit(node)
            trial.outputs.update({node} & wanted)
        else:
            return False
    if not all(meets_once(node, _loops(trial)) for node in wanted.intersection(maker.nodes)):
        return False
    trial.nodes.sort(key=by_serial)
    trial.refusals.pop(maker.sink, None)
    reader.become(trial)
    return True


def _is_in_place(node: Node, group: Group) -> bool:
    """Whether all operands that are `node` are where a group computes it."""
    space = _loops(group)
    return all(
        space.maps.get((consumer, index)) == space.maps[node]
        for consumer in group.nodes
        for index, source in enumerate(group.operands(consumer))
        if source is node
    )


def _readers(groups: Sequence[Group]) -> dict[Node, list[Group]]:
    """Return, for each tensor that groups read in loops, these groups."""
    readers: dict[Node, list[Group]] = {}
    for group in groups:
        if group.space is not None:
            for source in group.inputs:
                readers.setdefault(source, []).append(group)
    return readers


class _Merging:
    """The groups, and which became part of which."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = list(groups)
        self._into: dict[Group, Group] = {}
        self._maker = {node: group for group in groups for node in group.nodes}

    def now(self, group: Group) -> Group:
        """Return what a group is part of by now."""
        while group in self._into:
            group = self._into[group]
        return group

    def groups(self) -> list[Group]:
        """Return the groups that are left."""
        return [group for group in self._groups if group not in self._into]

    def merged(self) -> set[Group]:
        """Return the groups that others became part of."""
        return {self.now(group) for group in self._into}

    def merge(self, group: Group, other: Group, source: Node) -> None:
        """Make `other` a part of `one` if their loops are the same and neither waits for the other."""
        if group.space is None or other.space is None or group.sink.device is not other.sink.device:
            return
        if group.copies and other.copies:  # of the same node perhaps
            return
        # loops are numbered as those of the last result are, as in groups that grew from it
        last, first = sorted((group, other), key=lambda group: group.sink.serial, reverse=True)
        space = joined(_loops(last), _loops(first), _pairs(last, first, source))
        if space is None or self._waits(group, other) or self._waits(other, group):
            return
        group.absorb(other, space)
        self._into[other] = group

    def _waits(self, group: Group, other: Group) -> bool:
        """Whether `group` needs, directly or not, something that `other` makes."""
        seen = {group}
        stack = [group]
        while stack:
            for source in stack.pop().inputs:
                maker = self._maker.get(source)
                current = None if maker is None else self.now(maker)
                if current is other:
                    return True
                if current is not None and current not in seen:
                    seen.add(current)
                    stack.append(current)
        return False


def _loops(group: Group) -> Space:
    assert group.space is not None
    return group.space


def _pairs(group: Group, other: Group, source: Node) -> Iterator[tuple[Map, Map]]:
    for here in _reads(group, source):
        for there in _reads(other, source):
            yield here, there


def _reads(group: Group, source: Node) -> Iterator[Map]:
    """Yield the maps at which a group reads a tensor."""
    space = _loops(group)
    for node in group.nodes:
        for index, operand in enumerate(node.inputs):
            if operand is source and (node, index) in space.maps:
                yield space.maps[node, index]
