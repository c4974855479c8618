"""The rewriting engine: rebuilds a graph bottom-up by rules, and eliminates common subexpressions as it makes nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, attrs_key, reachable
from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

# (node, builder) -> the node that replaces it, or None
Change = Callable[[Node, "Builder"], Node | None]


class Rule(NamedTuple):
    """What nodes of some rows become: those that `concerns` selects by their properties, once for each row."""

    concerns: Callable[[Op], bool]
    change: Change


def rule(concerns: Callable[[Op], bool]) -> Callable[[Change], Rule]:
    """Make a function the rule for nodes of the rows that it concerns."""
    return lambda change: Rule(concerns, change)


class Builder:
    """Makes nodes for passes: equal nodes once, and each in its simplest form.

    Leaves (computed nodes and sources) are known by identity: two tensors with equal values stay two.
    """

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self.made: dict[tuple[Any, ...], Node] = {}
        self._changes: dict[Op, tuple[Change, ...]] = {}

    def make(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        attrs: tuple[Any, ...],
        shape: Shape,
        dtype: DType,
        device: Device,
        like: Node,
    ) -> Node:
        """Return the simplest node of this meaning; `like` lends its recorded line."""
        key = (op, inputs, attrs_key(attrs), shape, dtype, device.number)
        known = self.made.get(key)
        if known is None:
            node = Node(op, inputs, attrs, shape, dtype, device, like.site)
            known = self.made[key] = self.simplest(node)
        return known

    def take(self, node: Node) -> Node:
        """Return the simplest node of this one's meaning: itself, where no rule applies and none is equal."""
        attrs = attrs_key(node.attrs)
        key = (node.op, node.inputs, attrs, node.shape, node.dtype, node.device.number)
        known = self.made.get(key)
        if known is None:
            known = self.made[key] = self.simplest(node)
        return known

    def simplest(self, node: Node) -> Node:
        """Return what the first rule that applies makes of `node`, or `node`; what rules make is simple already."""
        changes = self._changes.get(node.op)
        if changes is None:
            applicable = [rule.change for rule in self.rules if rule.concerns(node.op)]
            changes = self._changes[node.op] = tuple(applicable)
        for change in changes:
            replacement = change(node, self)
            if replacement is not None:
                return replacement
        return node

    def remake(self, node: Node, inputs: tuple[Node, ...], shape: Shape | None = None) -> Node:
        """Return `node` with other inputs, and possibly another shape."""
        wanted = node.shape if shape is None else shape
        return self.make(node.op, inputs, node.attrs, wanted, node.dtype, node.device, node)


def rewrite(roots: Sequence[Node], rules: Sequence[Rule]) -> list[Node]:
    """Return the roots of the graph after `rules`, with equal subgraphs merged.

    Nodes stay in the order of their recording: behind the first one that changes, all are made anew.
    """
    builder = Builder(rules)
    done: dict[Node, Node] = {}
    is_same = True
    for node in reachable(roots):
        if node.storage is not None:
            done[node] = node
        elif node.inputs:
            if is_same:
                done[node] = taken = builder.take(node)
                is_same = taken is node
            else:
                done[node] = builder.remake(node, tuple([done[source] for source in node.inputs]))
        else:
            done[node] = source = builder.simplest(node)
            is_same = is_same and source is node
    return [done[root] for root in roots]
