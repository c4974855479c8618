"""Assignments that join what makes their values: a kernel writes its elements where indices point to as well.

Keys and values of a step of decoding go to the cache that way, as they are turned: there is no kernel that only copies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from tensorframe.backends.base import Capabilities
from tensorframe.dtypes import COMPLEX
from tensorframe.graph.node import Node
from tensorframe.graph.shape import broadcast
from tensorframe.ops.indexing import SCATTER
from tensorframe.ops.movement import SLICE
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fusion.admission import meets_once
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group

# Indices that a thread compares with its own: what later ones point to stays.
_FEW = 16
# Groups to look at for one that makes what an assignment needs.
_MOST_WAITING = 256


def merge_assignments(
    groups: Sequence[Group], roots: Collection[Node], capabilities_of: CapabilitiesOf
) -> list[Group]:
    """Return the groups with assignments merged into those that make their values, on devices of kernels."""
    merging = _Merging(groups, roots)
    for group in groups:
        if group.sink.op is SCATTER and len(group.nodes) == 1:
            merging.merge(group, capabilities_of(group.sink.device))
    return merging.groups


class _Merging:
    """The groups, which of them makes each value, and how many read it."""

    def __init__(self, groups: Sequence[Group], roots: Collection[Node]) -> None:
        self.groups = list(groups)
        self._roots = frozenset(roots)
        self._makers = {node: group for group in groups for node in group.nodes}
        self._readers: dict[Node, int] = {}
        for group in groups:
            for source in group.inputs:
                self._readers[source] = self._readers.get(source, 0) + 1

    def merge(self, group: Group, capabilities: Capabilities) -> None:
        """Make a group, which is an assignment, part of the one that makes the values, if it can be."""
        scatter = group.sink
        values = scatter.inputs[1]
        part = self._makers.get(values)
        sliced = part is not None and values.op is SLICE and set(values.attrs[2]) <= {1}
        source = values.inputs[0] if sliced else values
        maker = self._makers.get(source)
        if maker is None or not _fits(scatter, maker, capabilities):
            return
        if sliced and (values in self._roots or self._readers[values] > 1):
            return
        if self._gives_more(maker, source) or self._depends(scatter, maker):
            return
        gone = [maker, group]
        nodes = [*maker.nodes, scatter]
        if sliced:
            assert part is not None
            gone.append(part)
            nodes.insert(-1, values)
        merged = Group(scatter, nodes, copies=dict(maker.copies))
        merged.inputs = dict.fromkeys([*maker.inputs, *group.inputs])
        merged.inputs.pop(values, None)
        merged.refusals = {
            node: why
            for node, why in (*maker.refusals.items(), *group.refusals.items())
            if node is not values
        }
        self.groups = [*[other for other in self.groups if other not in gone], merged]
        self._makers.update(dict.fromkeys(nodes, merged))

    def _gives_more(self, maker: Group, source: Node) -> bool:
        """Whether a group is needed for other values than those that are assigned, or assigns some already."""
        return maker.sink.op is SCATTER or any(
            node is not source and (node in self._roots or node in self._readers)
            for node in maker.nodes
        )

    def _depends(self, scatter: Node, maker: Group) -> bool:
        """Whether other operands of an assignment wait for the maker of its values, or that reads what it changes."""
        whole, _, *indices = scatter.inputs
        seen: set[Group] = set()
        stack = [whole, *indices]
        while stack:
            group = self._makers.get(stack.pop())
            if group is maker or len(seen) > _MOST_WAITING:
                return True
            if group is not None and group not in seen:
                seen.add(group)
                stack += group.inputs
        return self._seen_through(whole) in map(self._seen_through, maker.inputs)

    def _seen_through(self, node: Node) -> Node:
        """Return what a view looks into."""
        while node.op.alias and not is_leaf(node):
            node = node.inputs[0]
        return node


def _fits(scatter: Node, maker: Group, capabilities: Capabilities) -> bool:
    """Whether a kernel can compute values, a thread for each, and assign them to few positions."""
    space = maker.space
    if not capabilities.compiles or capabilities.host_memory or space is None or space.reduced:
        return False
    whole, values, *indices = scatter.inputs
    shapes = [index.shape for index in indices]
    if any(shape == () for shape in (values.shape, *shapes)) or whole.dtype in COMPLEX:
        return False
    if not 0 < prod(broadcast(scatter.op.name, *shapes)) <= _FEW or values.size == 0:
        return False
    if len(maker.nodes) + 2 > capabilities.max_ops or maker.sink.device is not scatter.device:
        return False
    if len({*maker.inputs, *scatter.inputs}) > capabilities.max_inputs:
        return False
    source = values if values in maker.nodes else values.inputs[0]
    return meets_once(source, space)
