"""Tensors that are larger than the buffers of their device: the host has the elements, which move there tile by tile.

Such a tensor is a copy of one on the host that is not computed, as one is that was made of a host array. Whatever is
made of it runs tile by tile (`runtime/streaming/out_of_core.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import FLOATING
from tensorframe.graph.device import CPU
from tensorframe.graph.node import Node, by_serial, reachable
from tensorframe.graph.op import Kind
from tensorframe.ops.movement import COPY
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.execution.memory_admission import largest_block


def is_held_by_host(node: Node) -> bool:
    """Whether a tensor is too large for a buffer, and the host has its elements."""
    inputs = node.inputs
    return bool(
        node.storage is None
        and node.op is COPY
        and inputs
        and inputs[0].storage is not None
        and capabilities(inputs[0].device).host_memory
        and _is_too_large(node)
    )


def held_by_host(node: Node) -> Node:
    """Return a node with the values of one that is too large for a buffer, whose elements the host has then."""
    return node if is_held_by_host(node) else _moved(on_host(node), like=node)


def on_host(node: Node) -> Node:
    """Return a computed node on the host with the values of another one, which move there tile by tile."""
    if is_held_by_host(node):
        return node.inputs[0]
    moved = Node(COPY, (node,), (), node.shape, node.dtype, CPU, node.site)
    evaluate((moved,))
    return moved


def with_sums_on_host(roots: Sequence[Node]) -> list[Node]:
    """Return a core graph whose reductions of floats run on the host where their operands are too large for a buffer.

    Devices add in an order that needs all elements at once; the host's can be followed tile by tile.
    """
    changed: dict[Node, Node] = {}
    for node in sorted(reachable(roots), key=by_serial):
        if node.storage is not None or not node.inputs:
            continue
        inputs = tuple([changed.get(source, source) for source in node.inputs])
        if node.op.kind is Kind.REDUCE and _adds(node) and _is_too_large(node.inputs[0]):
            (source,) = inputs
            there = Node(COPY, (source,), (), source.shape, source.dtype, CPU, node.site)
            total = Node(node.op, (there,), node.attrs, node.shape, node.dtype, CPU, node.site)
            changed[node] = _moved(total, like=node)
        elif inputs != node.inputs:
            changed[node] = Node(
                node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.site
            )
    return [changed.get(root, root) for root in roots]


def _adds(node: Node) -> bool:
    combination = node.op.combination
    return combination is not None and combination.wide and node.dtype in FLOATING


def _moved(node: Node, *, like: Node) -> Node:
    return Node(COPY, (node,), (), like.shape, like.dtype, like.device, like.site)


def _is_too_large(node: Node) -> bool:
    """Whether no buffer of a tensor's device can have all of it."""
    bound = largest_block(node.device)
    return bound is not None and not bound.admits(node.nbytes)
