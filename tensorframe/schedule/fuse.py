"""Fusion: which nodes run together, with the reason wherever two do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tensorframe.backends.base import Capabilities
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, by_serial, reachable
from tensorframe.schedule.capture import is_leaf

CapabilitiesOf = Callable[[Device], Capabilities]


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that one step computes, grown backwards from the `sink` that everything else in it leads to."""

    sink: Node
    nodes: list[Node]
    inputs: dict[Node, None] = field(default_factory=dict)
    # input -> why it is not part of the group
    refusals: dict[Node, str] = field(default_factory=dict)


def can_fuse(
    node: Node, consumers: Sequence[Group], capabilities: Capabilities, *, enabled: bool
) -> str | None:
    """Return why `node` cannot run inside its consumers' group, or None if it can.

    All consumers must be in that one group: then no path leaves it and comes back, and nothing is computed twice.
    """
    group = consumers[0]
    sink = group.sink
    if not enabled:
        return "fusion is off"
    if any(other is not group for other in consumers):
        return "its consumers run apart"
    if node.op.kind not in capabilities.fuses:
        return f"{node.op.name} runs alone on {node.device}"
    if sink.op.kind not in capabilities.fuses:
        return f"{sink.op.name} runs alone on {node.device}"
    if node.device is not sink.device:
        return f"it lives on {node.device}"
    if node.shape != sink.shape:
        return f"a loop over {sink.shape} would compute its shape {node.shape} again and again"
    if len(group.nodes) >= capabilities.max_ops:
        return f"the region has {capabilities.max_ops} ops already"
    if len(group.inputs) + len(node.inputs) > capabilities.max_inputs:
        return f"the region would have more than {capabilities.max_inputs} operands"
    return None


def grow_regions(
    roots: Sequence[Node], capabilities_of: CapabilitiesOf, *, enabled: bool = True
) -> list[Group]:
    """Return groups that cover the graph, in an order in which they can run."""
    order = [node for node in reachable(roots) if not is_leaf(node)]
    consumers: dict[Node, list[Group]] = {node: [] for node in order}
    groups: list[Group] = []
    for node in reversed(order):
        group = _join(node, consumers[node], capabilities_of(node.device), enabled=enabled)
        if group is None:
            group = Group(node, [node])
            groups.append(group)
        for source in node.inputs:
            group.inputs[source] = None
            if source in consumers:
                consumers[source].append(group)
    for group in groups:
        group.nodes.sort(key=by_serial)
    groups.reverse()
    return groups


def _join(
    node: Node, users: Sequence[Group], capabilities: Capabilities, *, enabled: bool
) -> Group | None:
    """Add `node` to the one group that uses it and return that group; None, with the reason kept, if it may not."""
    if not users:
        return None
    reason = can_fuse(node, users, capabilities, enabled=enabled)
    if reason is not None:
        for user in users:
            user.refusals[node] = reason
        return None
    group = users[0]
    group.nodes.append(node)
    del group.inputs[node]
    return group
