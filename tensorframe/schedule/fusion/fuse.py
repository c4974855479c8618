"""Operator fusion: which nodes run together, with the reason (a fusion barrier) wherever two do not.

A group grows backwards from its last op, the sink: nodes are placed consumers first, in all groups that use them, or in
one of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.base import Capabilities
from tensorframe.graph.node import Node, by_serial, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.space import Space
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.fusion.admission import can_fuse, runs_alone
from tensorframe.schedule.fusion.epilogue import is_residual
from tensorframe.schedule.fusion.group import CapabilitiesOf, Group
from tensorframe.schedule.fusion.weights import Weights

# What several groups compute, each for itself, rather than store and load: ops in a row, and their cost per element.
_RECOMPUTED_OPS = 4
_RECOMPUTED_COST = 4.0


def grow_regions(
    roots: Sequence[Node], capabilities_of: CapabilitiesOf, *, enabled: bool = True
) -> list[Group]:
    """Return groups that cover the graph, in an order in which they can run."""
    order = [node for node in reachable(roots) if not is_leaf(node)]
    growing = _Growing(frozenset(roots), capabilities_of, enabled, Weights(order))
    for node in reversed(order):
        growing.place(node)
    for group in growing.groups:
        group.nodes.sort(key=by_serial)
    growing.groups.reverse()
    return growing.groups


class _Growing:
    """Groups while they grow; nodes are placed consumers first."""

    def __init__(
        self,
        wanted: frozenset[Node],
        capabilities_of: CapabilitiesOf,
        enabled: bool,
        weights: Weights,
    ) -> None:
        self.groups: list[Group] = []
        self._wanted = wanted
        self._capabilities_of = capabilities_of
        self._enabled = enabled
        self._weights = weights
        self._users: dict[Node, dict[Group, None]] = {}
        # node -> how many ops after it are computed several times too
        self._recomputed: dict[Node, int] = {}

    def place(self, node: Node) -> None:
        """Make `node` a part of the groups that use it, or the sink of a group of its own."""
        users = list(self._users.get(node, ()))
        capabilities = self._capabilities_of(node.device)
        reason = self._refusal(node, users, capabilities)
        if users and reason is None:
            self._recomputed[node] = self._depth(users, node) if len(users) > 1 else 0
            for group in users:
                group.admit(node)
                if node in self._wanted:
                    group.outputs.add(node)
        else:
            for group in users:
                group.refusals[node] = reason or ""
            users = [_begin(node, capabilities, self._weights)]
            self.groups += users
        for source in node.inputs:
            self._users.setdefault(source, {}).update(dict.fromkeys(users))

    def _depth(self, users: Sequence[Group], node: Node) -> int:
        consumers = [consumer for group in users for consumer, _ in group.edges.get(node, ())]
        return 1 + max(self._recomputed.get(consumer, 0) for consumer in consumers)

    def _refusal(
        self, node: Node, users: Sequence[Group], capabilities: Capabilities
    ) -> str | None:
        """Return why `node` cannot run inside the groups that use it, or None if it can."""
        if len(users) > 1:
            reason = self._not_recomputed(node, users)
            if reason is not None:
                return reason
        for group in users:
            reason = can_fuse(
                node, group, capabilities, enabled=self._enabled, kept=node in self._wanted
            )
            if reason is not None:
                return reason
        return None

    def _not_recomputed(self, node: Node, users: Sequence[Group]) -> str | None:
        """Return why several groups do not compute `node` each for itself."""
        if node in self._wanted or any(group.space is None for group in users):
            return "its consumers are in different kernels"
        if node.op.kind not in (Kind.MAP, Kind.VIEW, Kind.SOURCE):
            return "its consumers are in different kernels, and recomputing it costs more than storing it"
        if is_residual(node):
            return "its consumers are in different kernels, and the step of its product stores it"
        weight = node.op.cost > _RECOMPUTED_COST or self._depth(users, node) > _RECOMPUTED_OPS
        if node.op.kind is Kind.MAP:
            weight = weight or not self._weights.is_light(node, _RECOMPUTED_OPS)
        if weight or len(node.inputs) > 2:
            return "its consumers are in different kernels, and recomputing it costs more than storing it"
        return None


def _begin(node: Node, capabilities: Capabilities, weights: Weights) -> Group:
    """Return the group of a sink. Only what computes has loops: views of what is there cost nothing."""
    group = Group(node, [node], weights=weights)
    reason = runs_alone(node, capabilities)
    if reason is None:
        group.space = Space.of_result(node, node.shape)
    else:
        group.alone = reason
    group.admit(node)
    return group
