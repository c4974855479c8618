"""Capturing: which nodes a request needs, what of them is given, and a key that equal structures share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.rewrite.simplify import visible

# the references that `reachable`, the walk below and the call itself hold on a node
_OWN_REFERENCES = 3


@dataclass(slots=True)
class Capture:
    """A request: `order` holds all nodes, inputs first; `wanted` those to compute; `leaves` those given."""

    order: list[Node]
    wanted: list[Node]
    leaves: list[Node]
    key: tuple[Any, ...]


def capture(roots: Sequence[Node]) -> Capture:
    """Return the request for `roots`, and for costly intermediates that somebody else still holds."""
    order = reachable(roots)
    position: dict[Node, int] = {}
    leaves: list[Node] = []
    key: list[Any] = []
    uses = [0] * len(order)
    for at, node in enumerate(order):
        position[node] = at
        if is_leaf(node):
            leaves.append(node)
            key.append(_leaf_key(node))
            continue
        sources = tuple([position[source] for source in node.inputs])
        for source in sources:
            uses[source] += 1
        if sources and node.op.kind is not Kind.TRANSFER:
            key.append((node.op, node.attrs, sources))
        else:
            key.append((node.op, node.attrs, sources, node.shape, node.dtype, node.device))
    wanted = list(dict.fromkeys(roots)) + _held(order, uses, position, set(roots))
    key.append(tuple([position[node] for node in wanted]))
    return Capture(order, wanted, leaves, tuple(key))


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


def _held(
    order: list[Node], uses: list[int], position: dict[Node, int], roots: set[Node]
) -> list[Node]:
    """Return intermediates worth keeping: costly, and referred to from outside this request.

    A node is referred to by each consumer's inputs, and by the walk itself; whatever goes beyond is a Tensor or a
    graph that is not computed now. Too many references only keep a result that could have been dropped.
    """
    found = []
    for at, node in enumerate(order):
        if node.op.costly and node.storage is None and node not in roots:
            own = uses[at] + _OWN_REFERENCES + 1  # position holds one too
            if sys.getrefcount(node) > own:
                found.append(node)
    return found
