"""Capturing: which nodes a request needs, what of them is given, and a key that equal structures share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorframe.graph.node import Node, discover
from tensorframe.graph.op import Kind
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.rewrite.simplify import visible

# the references on a node of the order, the positions, the loop's variable and the call that counts
_OWN_REFERENCES = 4


@dataclass(slots=True)
class Capture:
    """A request: `order` holds all nodes, consumers first; `wanted` those to compute; `leaves` those given."""

    order: list[Node]
    wanted: list[Node]
    leaves: list[Node]
    key: tuple[Any, ...]


def capture(roots: Sequence[Node]) -> Capture:
    """Return the request for `roots`, and for costly intermediates that somebody else still holds."""
    order = discover(roots)
    position = {node: at for at, node in enumerate(order)}
    leaves: list[Node] = []
    key: list[Any] = []
    uses = [0] * len(order)
    for node in order:
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
    wanted = list(dict.fromkeys(roots)) + _held(order, uses, set(roots))
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


def _held(order: list[Node], uses: list[int], roots: set[Node]) -> list[Node]:
    """Return intermediates worth keeping: costly, and referred to from outside this request.

    A node is referred to by each consumer's inputs, and by the walk itself; whatever goes beyond is a Tensor or a
    graph that is not computed now. Too many references only keep a result that could have been dropped.
    """
    found = []
    for at in range(len(order)):  # enumerate would hold a reference of its own
        node = order[at]
        if node.op.costly and node.storage is None and node not in roots:
            if sys.getrefcount(node) > uses[at] + _OWN_REFERENCES:
                found.append(node)
    return found
