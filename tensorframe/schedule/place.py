"""Device placement: which device an op runs on, decided by shapes alone, and the transfers that follow from it."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe import config
from tensorframe.errors import TransferError, TransferWarning
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.record import is_constant
from tensorframe.ops.movement import COPY
from tensorframe.options import TransferPolicy
from tensorframe.rewrite.engine import Builder
from tensorframe.schedule.capture import is_leaf
from tensorframe.schedule.demand import Demand
from tensorframe.schedule.fallback import Fallback, does_everything
from tensorframe.schedule.homes import Homes, is_on_host
from tensorframe.schedule.shift import shift
from tensorframe.scopes import Scope
from tensorframe.site import warn_user


def choose_device(nodes: Sequence[Node]) -> Device:
    """Return the device that holds most of the operands' bytes; the left operand's on a tie.

    A 0-d operand never decides, unless all are 0-d.
    """
    held: dict[Device, int] = {}
    deciding = [node for node in nodes if node.shape] or nodes
    for node in deciding:
        held[node.device] = held.get(node.device, 0) + node.nbytes
    device = max(held, key=held.__getitem__)
    moving = [node for node in nodes if node.device is not device and not is_constant(node)]
    if moving:
        _apply_policy(moving, device)
    return device


def _apply_policy(moving: Sequence[Node], device: Device) -> None:
    """Do what the user wants done about operands that live elsewhere; see `transfer_policy`."""
    policy = config.get().transfer_policy
    if policy == "allow":
        return
    listed = ", ".join(f"{node.dtype}{list(node.shape)} on {node.device}" for node in moving)
    message = f"operands move to {device}: {listed}"
    hint = f't.to_backend("{device}") before, where the transfer is meant'
    if policy == "error":
        raise TransferError(message, suggestions=(hint,))
    warn_user(f"{message}\n  try: {hint}", TransferWarning)


def transfer_policy(policy: TransferPolicy) -> Scope[config.Options]:
    """Say what happens in a `with` block when operands live on different devices: "allow", "warn" or "error".

    With "allow", the default, operands move to the device that holds most of the bytes. "warn" says so with a
    TransferWarning, "error" raises TransferError at the line that records the op.

    >>> a, b = tfr.ones(3, device="cpu"), tfr.ones(3, device="numpy")
    >>> with tfr.transfer_policy("error"):
    ...     a + b
    Traceback (most recent call last):
    tensorframe.errors.TransferError: operands move to cpu: float32[3] on numpy
    ...
    """
    return config.scope(f"tfr.transfer_policy({policy!r})", {"transfer_policy": policy})


def insert_transfers(
    roots: Sequence[Node], fallbacks: dict[Node, Fallback] | None = None
) -> list[Node]:
    """Return the roots of a graph in which every op finds its operands on its own device, which can run it.

    Each value moves to a device once, however many consumers it has there. Numbers need not move: they are arguments.
    `fallbacks` receives the nodes that run elsewhere than they were recorded for.
    """
    order = reachable(roots)
    devices = {node.device for node in order}
    if len(devices) == 1 and does_everything(*devices) and is_on_host(*devices):
        # but for what users wrote for other devices
        if all(node.op.raw is None for node in order):
            return list(roots)
    homes = Homes(order, roots)
    shift(order, roots, homes)
    demand = Demand(order, roots, homes)
    reasons = _reasons(order)
    build = Builder()
    placed: dict[tuple[Node, Device], Node] = {}
    for node in order:
        for device in demand.made[node]:
            made = placed[node, device] = _made(node, device, placed, build)
            fallback = homes.fallbacks.get(node)
            if fallbacks is not None and fallback is not None and fallback.runs_on is device:
                fallbacks[made] = fallback
        if is_leaf(node):
            placed[node, homes.of[node]] = node
        for device, source in demand.moves[node].items():
            like = reasons.get((node, device), node)
            placed[node, device] = _moved(placed[node, source], device, build, like)
    return [_at(root, root.device, placed) for root in roots]


def _made(
    node: Node, device: Device, placed: dict[tuple[Node, Device], Node], build: Builder
) -> Node:
    inputs = tuple([_operand(source, device, placed) for source in node.inputs])
    return build.make(node.op, inputs, node.attrs, node.shape, node.dtype, device, node)


def _operand(node: Node, device: Device, placed: dict[tuple[Node, Device], Node]) -> Node:
    return node if is_constant(node) else _at(node, device, placed)


def _at(node: Node, device: Device, placed: dict[tuple[Node, Device], Node]) -> Node:
    """Return what stands for a node on a device, past the transfers that the user requested."""
    while (node, device) not in placed:
        (node,) = node.inputs
    return placed[node, device]


def _moved(node: Node, device: Device, build: Builder, like: Node) -> Node:
    return build.make(COPY, (node,), (), node.shape, node.dtype, device, like)


def _reasons(order: Sequence[Node]) -> dict[tuple[Node, Device], Node]:
    """Return, for values and devices that they may move to, the node whose line says why.

    That is the user's own transfer; what no line has recorded, since it was given, moves for its first reader.
    """
    reasons: dict[tuple[Node, Device], Node] = {}
    for node in order:
        for source in node.inputs:
            if node.op is COPY:
                reasons[source, node.device] = node
            elif source.site is None:
                reasons.setdefault((source, node.device), node)
    return reasons
