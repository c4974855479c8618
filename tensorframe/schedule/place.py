"""Placement: which device an op runs on, decided by shapes alone, and the transfers that follow from it."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.ops.movement import COPY
from tensorframe.rewrite.engine import Builder


def choose_device(nodes: Sequence[Node]) -> Device:
    """Return the device that holds most of the operands' bytes; the left operand's on a tie.

    A 0-d operand never decides, unless all are 0-d.
    """
    held: dict[Device, int] = {}
    deciding = [node for node in nodes if node.shape] or nodes
    for node in deciding:
        held[node.device] = held.get(node.device, 0) + node.nbytes
    return max(held, key=held.__getitem__)


def insert_transfers(roots: Sequence[Node]) -> list[Node]:
    """Return the roots of a graph in which every op finds its operands on its own device.

    Each tensor is copied to a device once, however many consumers it has there. Numbers need no copy: they are
    arguments.
    """
    order = reachable(roots)
    if len({node.device for node in order}) == 1:
        return list(roots)
    build = Builder()
    done: dict[Node, Node] = {}
    for node in order:
        if node.storage is not None or not node.inputs:
            done[node] = node
            continue
        inputs = tuple([done[source] for source in node.inputs])
        if node.op.kind is not Kind.TRANSFER:
            inputs = tuple([_moved(source, node.device, build) for source in inputs])
        done[node] = build.remake(node, inputs)
    return [done[root] for root in roots]


def _moved(node: Node, device: Device, build: Builder) -> Node:
    if node.device is device or is_constant(node):
        return node
    return build.make(COPY, (node,), (), node.shape, node.dtype, device, node)
