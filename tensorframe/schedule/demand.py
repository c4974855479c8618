"""Demand: on which devices each value is needed, and from where it moves there, each once.

Views are made where they are needed rather than moved, so what they look at moves once for all of them; slices move
by themselves as long as that is less than the whole. Values that come from nothing are made where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.transfer import is_direct
from tensorframe.dtypes import FLOATING
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.ops.creation import FULL
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.homes import Homes, is_on_host, is_part, passes_on

Devices = dict[Device, None]  # a set in the order of asking, so that plans are always the same


class Demand:
    """For each node: `made`, the devices where it is made, and `moves`, from where it moves to others."""

    def __init__(self, order: Sequence[Node], roots: Sequence[Node], homes: Homes) -> None:
        self.made: dict[Node, Devices] = {node: {} for node in order}
        self.moves: dict[Node, dict[Device, Device]] = {node: {} for node in order}
        self._needed: dict[Node, Devices] = {node: {} for node in order}
        # parts of a node, each with a device that needs it: settled when all is known about the whole
        self._parts: dict[Node, dict[Device, list[Node]]] = {}
        self._homes = homes
        self._generated = _generated(order)
        for root in roots:
            self._need(root, {root.device: None})
        for node in reversed(order):
            self._settle_parts(node)
            if self._needed[node]:
                self._settle(node)

    def _need(self, node: Node, devices: Devices) -> None:
        self._needed[node].update(devices)

    def _need_operands(self, node: Node, device: Device) -> None:
        for source in node.inputs:
            if not is_constant(source):  # numbers are arguments
                self._need(source, {device: None})

    def _settle(self, node: Node) -> None:
        needed = self._needed[node]
        if is_leaf(node):
            self._send(node, self._homes.of[node], needed)
        elif node.op.kind is Kind.TRANSFER:
            self._need(node.inputs[0], needed)
        elif not passes_on(node):
            self._settle_computed(node, needed)
        elif is_part(node) or node.size < node.inputs[0].size:
            for device in needed:
                self._parts.setdefault(node.inputs[0], {}).setdefault(device, []).append(node)
        else:
            self._make_where_needed(node, needed)

    def _settle_computed(self, node: Node, needed: Devices) -> None:
        home = self._homes.of[node]
        if node in self._generated and (_is_exact(node) or _is_sent_away(home, needed)):
            self._make_where_needed(node, needed)
            return
        self.made[node][home] = None
        self._need_operands(node, home)
        self._send(node, home, needed)

    def _make_where_needed(self, node: Node, needed: Devices) -> None:
        for device in list(needed):
            able = self._homes.abilities.refusal(node, device) is None
            place = device if able else CPU
            self.made[node][place] = None
            self._need_operands(node, place)
            if place is not device:
                self.moves[node][device] = place

    def _settle_parts(self, node: Node) -> None:
        """Make the parts of a node where it is needed as a whole, and elsewhere move them by themselves."""
        home = self._homes.of[node]
        for device, parts in self._parts.pop(node, {}).items():
            whole = device in self._needed[node] or node in self._generated
            if node.op.parts == 1:
                whole = whole or sum(part.size for part in parts) >= node.size
            place = device if whole else home
            if any(self._homes.abilities.refusal(part, place) for part in parts):
                place = CPU
            self._need(node, {place: None})
            for part in parts:
                self.made[part][place] = None
                if place is not device:
                    self.moves[part][device] = place

    def _send(self, node: Node, home: Device, needed: Devices) -> None:
        """Settle from where a value moves to the devices that need it, through the host once at most."""
        targets = [device for device in needed if device is not home]
        if not targets:
            return
        moves = self.moves[node]
        if is_on_host(home):
            moves.update(dict.fromkeys(targets, home))
            return
        near = [device for device in targets if is_on_host(device)]
        far = [
            target for target in targets if not is_on_host(target) and not is_direct(home, target)
        ]
        host = near[0] if near else CPU
        if near or len(far) > 1:  # one of `far` alone goes in a single step
            moves[host] = home
        for device in targets:
            through = (device in near or device in far) and host in moves
            moves.setdefault(device, host if through else home)


def _is_exact(node: Node) -> bool:
    """Whether the op rounds nothing, so that its result has the same bits on every device."""
    return node.op is FULL or FLOATING.isdisjoint(
        {node.dtype, *(source.dtype for source in node.inputs)}
    )


def _is_sent_away(home: Device, needed: Devices) -> bool:
    """Whether a value of the host is needed on one other device only."""
    return len(needed) == 1 and is_on_host(home) and not is_on_host(*needed)


def _generated(order: Sequence[Node]) -> set[Node]:
    """Return the nodes whose values come from nothing but numbers: sources, and what is computed from these."""
    generated: set[Node] = set()
    for node in order:
        if is_leaf(node):
            continue
        made = node.op.kind in (Kind.SOURCE, Kind.MAP) or passes_on(node)
        if made and all(source in generated or is_constant(source) for source in node.inputs):
            generated.add(node)
    return generated
