"""Homes: the device where each value comes into being, with fallbacks, before anything moves."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.registry import capabilities
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fallback import Abilities, Fallback, fall_back

# what costs no more than moving its operands
_CHEAP = frozenset({Kind.MAP, Kind.VIEW, Kind.REDUCE})


def is_on_host(device: Device) -> bool:
    """Whether the device computes in host memory."""
    return capabilities(device).host_memory


def passes_on(node: Node) -> bool:
    """Whether the node has no values of its own: it shows those of its one operand, here or elsewhere."""
    return node.op.kind is Kind.TRANSFER or (node.op.kind is Kind.VIEW and node.op.alias)


def is_part(node: Node) -> bool:
    """Whether the node is one of the tensors that a library call gives."""
    return bool(node.inputs) and node.inputs[0].op.parts > 1


class Homes:
    """Where the values of a graph come into being; `order` holds its nodes, inputs first."""

    def __init__(self, order: Sequence[Node], roots: Sequence[Node]) -> None:
        self.of: dict[Node, Device] = {}
        self.fallbacks: dict[Node, Fallback] = {}
        self.abilities = Abilities()
        # the node whose values a view or transfer shows
        self.base: dict[Node, Node] = {}
        for node in order:
            self._place(node)
        if self.fallbacks:
            self._keep_between_fallbacks(order, roots)

    def _place(self, node: Node) -> None:
        inputs = () if is_leaf(node) else node.inputs
        if inputs and passes_on(node):
            self.base[node] = self.base[inputs[0]]
            self.of[node] = self.of[inputs[0]]
            return
        self.base[node] = node
        device = CPU if is_constant(node) and not is_on_host(node.device) else node.device
        if not is_leaf(node):
            reason = self.abilities.refusal(node, device)
            if reason is not None and device is not CPU:
                self.fallbacks[node] = fall_back(node, reason)
                device = CPU
        self.of[node] = device

    def _keep_between_fallbacks(self, order: Sequence[Node], roots: Sequence[Node]) -> None:
        """Let cheap ops between fallbacks run beside them: their operands would move only to move back."""
        beside = self._fed_by_fallbacks(order)
        away = {self.base[root] for root in roots if not is_on_host(root.device)}
        for node in reversed(order):
            if is_leaf(node) or passes_on(node) or node in self.fallbacks:
                continue
            if node in away or node not in beside:
                away.update(self.base[source] for source in node.inputs)
        for node in beside - away:
            if not is_on_host(self.of[node]):
                self.of[node] = CPU
        self.follow(order)

    def follow(self, order: Sequence[Node]) -> None:
        """Give views and transfers the home of what they show, after that has another one."""
        for node in order:
            if self.base[node] is not node:
                self.of[node] = self.of[self.base[node]]

    def _fed_by_fallbacks(self, order: Sequence[Node]) -> set[Node]:
        """Return the cheap ops all of whose operands are on the host, at least one since a fallback made it."""
        fed: set[Node] = set()
        for node in order:
            if is_leaf(node) or passes_on(node) or node in self.fallbacks:
                continue
            bases = [self.base[source] for source in node.inputs if not is_constant(source)]
            fallen = [base for base in bases if base in self.fallbacks or base in fed]
            near = [base for base in bases if base in fallen or is_on_host(self.of[base])]
            if fallen and len(near) == len(bases) and node.op.kind in _CHEAP:
                fed.add(node)
        return fed
