"""Capturing: which nodes a request needs, what of them is given, and a key that equal structures share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorframe.graph.node import Node, by_serial, discover
from tensorframe.graph.op import Kind
from tensorframe.graph.references import IN_ONE_LIST, references
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.rewrite.simplify import visible

# besides the list of the order: the positions, the recipes and the candidates hold a node
_OWN_REFERENCES = IN_ONE_LIST + 3


@dataclass(slots=True)
class Capture:
    """A request: `order` holds all nodes, consumers first; `wanted` those to compute; `leaves` those given.

    `recipes` are the inputs that the other nodes had when the request was captured: another thread may compute a
    node, and drop its inputs, at any time.
    """

    order: list[Node]
    wanted: list[Node]
    leaves: list[Node]
    recipes: dict[Node, tuple[Node, ...]]
    key: tuple[Any, ...]

    def snapshot(self) -> list[Node]:
        """Return `wanted` in a copy of the graph that nobody else can change; leaves are the same nodes."""
        copies: dict[Node, Node] = {leaf: leaf for leaf in self.leaves}
        for node in sorted(self.recipes, key=by_serial):
            inputs = tuple([copies[source] for source in self.recipes[node]])
            copies[node] = Node(
                node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.site
            )
        return [copies[node] for node in self.wanted]


def capture(roots: Sequence[Node]) -> Capture:
    """Return the request for `roots`, and for costly intermediates that somebody else still holds."""
    order = discover(roots)
    position = {node: at for at, node in enumerate(order)}
    leaves: list[Node] = []
    recipes: dict[Node, tuple[Node, ...]] = {}
    key: list[Any] = []
    uses = [0] * len(order)
    for node in order:
        inputs = node.inputs  # before storage: see Node.settle
        if is_leaf(node):
            leaves.append(node)
            key.append(_leaf_key(node))
            continue
        recipes[node] = inputs
        sources = tuple([position[source] for source in inputs])
        for source in sources:
            uses[source] += 1
        if sources and node.op.kind is not Kind.TRANSFER:
            key.append((node.op, node.attrs, sources))
        else:
            key.append((node.op, node.attrs, sources, node.shape, node.dtype, node.device))
    wanted = list(dict.fromkeys(roots)) + _held(order, uses, recipes.keys() - set(roots))
    key.append(tuple([position[node] for node in wanted]))
    return Capture(order, wanted, leaves, recipes, tuple(key))


def is_leaf(node: Node) -> bool:
    """Whether the node's value is an argument of the plan: computed, or a source read when the plan runs.

    `full` and `arange` are part of the plan instead: passes rewrite them.
    """
    if node.storage is not None:
        return True
    return node.op.kind is Kind.SOURCE and node.op is not FULL and node.op is not ARANGE


def _leaf_key(node: Node) -> tuple[Any, ...]:
    if node.op is CONSTANT and node.storage is None:
        return (CONSTANT, node.dtype, node.device, visible(node.attrs[0]))
    return (node.shape, node.dtype, node.device)


def _held(order: list[Node], uses: list[int], candidates: set[Node]) -> list[Node]:
    """Return the candidates worth keeping: costly, and referred to from outside this request.

    A node is referred to by each consumer's inputs, and by the walk itself; whatever goes beyond is a Tensor or a
    graph that is not computed now. Too many references only keep a result that could have been dropped.
    """
    return [
        order[at]
        for at in range(len(order))  # enumerate would hold a reference of its own
        if order[at].op.costly
        and order[at] in candidates
        and references(order, at) > uses[at] + _OWN_REFERENCES
    ]
