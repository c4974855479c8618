"""Groups: nodes that one step computes, in the loops of the last of them.

A group is data that grows: its nodes, where they read their operands, and the space of loops that they share. Which
nodes join it is decided in `admission.py`, and in which order they ask in `fuse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields

from tensorframe.backends.base import Capabilities
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.space import Space
from tensorframe.kernel.spaces.follow import follow
from tensorframe.quick_dataclasses import dataclass, field
from tensorframe.schedule.fusion.weights import Weights

CapabilitiesOf = Callable[[Device], Capabilities]
Edge = tuple[Node, int]  # a consumer, and the number of one of its operands


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that one step computes, grown backwards from the `sink` that everything else in it leads to.

    `space` is None where the sink is no loop, which `alone` gives the reason for: nothing joins it then.
    """

    sink: Node
    nodes: list[Node]
    inputs: dict[Node, None] = field(default_factory=dict)
    # operand -> where the nodes read it
    edges: dict[Node, dict[Edge, None]] = field(default_factory=dict)
    # input -> why it is not part of the group
    refusals: dict[Node, str] = field(default_factory=dict)
    space: Space | None = None
    alone: str = ""
    # operand -> why it cannot be in the loops
    blocked: dict[Edge, str] = field(default_factory=dict)
    # operand -> the copy of it that is at its consumer's place of the loops
    copies: dict[Edge, Node] = field(default_factory=dict)
    # node -> its copies, each with the operands that it stands for
    repeats: dict[Node, dict[Node, list[Edge]]] = field(default_factory=dict)
    # nodes whose values are needed besides
    outputs: set[Node] = field(default_factory=set)
    # of the whole graph
    weights: Weights = field(default_factory=Weights)
    # what may be admitted next: the space with it, and which of its operands are blocked there
    candidate: tuple[Node, Space, dict[Edge, str]] | None = None

    def copy(self) -> Group:
        """Return a group that changes apart from this one."""
        return Group(
            self.sink,
            list(self.nodes),
            dict(self.inputs),
            {source: dict(edges) for source, edges in self.edges.items()},
            dict(self.refusals),
            None if self.space is None else self.space.copy(),
            self.alone,
            dict(self.blocked),
            dict(self.copies),
            dict(self.repeats),
            set(self.outputs),
            self.weights,
        )

    def become(self, other: Group) -> None:
        """Take over everything from a group that began as a copy of this one."""
        for attribute in fields(other):
            setattr(self, attribute.name, getattr(other, attribute.name))

    def absorb(self, other: Group, space: Space) -> None:
        """Take in the nodes of another group, whose loops are the same: `space` has the values of both."""
        self.space = space
        self.nodes = sorted(dict.fromkeys([*self.nodes, *other.nodes]), key=by_serial)
        self.sink = self.nodes[-1]
        self.inputs.update(other.inputs)
        for operand, edges in other.edges.items():
            self.edges.setdefault(operand, {}).update(edges)
        self.refusals.update(other.refusals)
        self.copies.update(other.copies)
        self.blocked.update(other.blocked)
        self.outputs.update(other.outputs)

    def operands(self, node: Node) -> list[Node]:
        """Return the operands of a node of the group, or their copies at its place."""
        return [self.copies.get((node, index), source) for index, source in enumerate(node.inputs)]

    def admit(self, node: Node) -> None:
        """Make `node`, whose place in the loops is known, a part of the group, and copies of it at other places."""
        self.inputs.pop(node, None)
        self._include(node)
        repeats = self.repeats.get(node, {})
        for same, edges in repeats.items():
            self.copies.update(dict.fromkeys(edges, same))
            self._include(same)
        if self.candidate is not None and self.candidate[0] is node:
            _, self.space, blocked = self.candidate
            self.blocked.update(blocked)
        elif self.space is not None:
            self.blocked.update(follow_operands(self.space, (node, *repeats)))
        self.candidate = None

    def _include(self, node: Node) -> None:
        if node is not self.sink:
            self.nodes.append(node)
        for index, source in enumerate(node.inputs):
            if source not in self.inputs:
                self.inputs[source] = None
            self.edges.setdefault(source, {})[node, index] = None


def follow_operands(space: Space, nodes: Iterable[Node]) -> dict[Edge, str]:
    """Find the maps of the operands of nodes that have theirs; return why operands have none, or only to be read."""
    blocked = {}
    for node in nodes:
        shapes = [source.shape for source in node.inputs]
        for index, reason in enumerate(follow(space, node, node.op, node.attrs, shapes)):
            if reason is not None:
                blocked[node, index] = reason
    return blocked


def region_of(
    group: Group, needed: Collection[Node]
) -> tuple[Region, Mapping[Node, int], Sequence[Node]]:
    """Return the ops of a group, the number of each value, and those that leave it, which are `needed` elsewhere."""
    sources = list(group.inputs)
    index = {node: index for index, node in enumerate(sources)}
    ops = []
    for node in group.nodes:
        arguments = tuple([index[source] for source in group.operands(node)])
        index[node] = len(index)
        ops.append(RegionOp(node.op, node.attrs, arguments, node.shape, node.dtype))
    leaving = [node for node in group.nodes if node in needed]
    region = Region(
        tuple([(node.shape, node.dtype) for node in sources]),
        tuple(ops),
        tuple([index[node] for node in leaving]),
    )
    return region, index, leaving
