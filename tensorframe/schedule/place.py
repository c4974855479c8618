"""Placement: which device an op runs on, decided by shapes alone."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.device import Device
from tensorframe.graph.node import Node


def choose_device(nodes: Sequence[Node]) -> Device:
    """Return the device that holds most of the operands' bytes; the left operand's on a tie.

    A 0-d operand never decides, unless all are 0-d.
    """
    held: dict[Device, int] = {}
    deciding = [node for node in nodes if node.shape] or nodes
    for node in deciding:
        held[node.device] = held.get(node.device, 0) + node.nbytes
    return max(held, key=held.__getitem__)
