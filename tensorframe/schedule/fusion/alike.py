"""Multi-tensor fusion: small groups that do the same to other tensors, and that nothing waits for, become one.

The updates of a network's biases are such: each takes longer to start than to compute. Since nothing reads what they
make, none of them can wait for another.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

from tensorframe.graph.node import Node, attrs_key
from tensorframe.graph.op import Kind
from tensorframe.graph.space import Map, Space
from tensorframe.kernel.spaces.join import joined
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group

# Elements of a result up to which starting a kernel takes longer, and bytes that may have to live until the last one.
_SMALL = 1 << 14
_HELD = 1 << 20


def merge_alike(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with small ones that are equal but for their operands merged, as far as kernels have room."""
    read = {source for group in groups for source in group.inputs}
    made = {node for group in groups for node in group.nodes}
    left = dict.fromkeys(groups)
    open_: dict[Hashable, Group] = {}
    pattern: dict[Group, tuple[Node, ...]] = {}  # what a group began with
    for group in groups:
        if not _is_small(group, read, made):
            continue
        key = _structure(group, frozenset(roots))
        first = open_.get(key)
        capabilities = capabilities_of(group.sink.device)
        if first is not None:
            fits = (
                len(first.nodes) + len(group.nodes) <= capabilities.max_ops
                and len(first.inputs.keys() | group.inputs.keys()) <= capabilities.max_inputs
            )
            space = _together(first, pattern[first], group) if fits else None
            if space is not None:
                first.absorb(group, space)
                del left[group]
                continue
        if capabilities.compiles:
            open_[key] = group
            pattern[group] = tuple(group.nodes)
    return list(left)


def _is_small(group: Group, read: Collection[Node], made: Collection[Node]) -> bool:
    """Whether a group makes small results that no other group reads, and holds up little that would be freed."""
    if group.space is None or group.copies or group.nodes[0].op.kind is Kind.CONTRACT:
        return False
    if any(node in read for node in group.nodes) or group.sink.size > _SMALL:
        return False
    return sum([source.nbytes for source in group.inputs if source in made]) <= _HELD


def _structure(group: Group, roots: frozenset[Node]) -> Hashable:
    """Return what is equal for groups that do the same in the same loops, whatever their operands are."""
    inside = {node: index for index, node in enumerate(group.nodes)}
    described = [
        (
            node.op,
            attrs_key(node.attrs),
            node.shape,
            node.dtype,
            node in roots,
            tuple([inside.get(source, (source.shape, source.dtype)) for source in node.inputs]),
        )
        for node in group.nodes
    ]
    return (group.sink.device, tuple(described))


def _together(group: Group, pattern: Sequence[Node], other: Group) -> Space | None:
    """Return the space of both groups: the nodes `pattern` of one of them are like those of the other."""
    here, there = group.space, other.space
    assert here is not None
    assert there is not None
    return joined(here, there, _pairs(here, there, pattern, other.nodes))


def _pairs(
    here: Space, there: Space, own: Sequence[Node], others: Sequence[Node]
) -> Iterator[tuple[Map, Map]]:
    for node, other in zip(own, others, strict=True):
        for index in range(len(node.inputs)):
            if (node, index) in here.maps and (other, index) in there.maps:
                yield here.maps[node, index], there.maps[other, index]
