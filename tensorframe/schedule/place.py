"""Placement: which device an op runs on, decided by shapes alone, and the transfers that follow from it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tensorframe import config
from tensorframe.errors import TransferError, TransferWarning
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.ops.movement import COPY
from tensorframe.rewrite.engine import Builder
from tensorframe.site import is_internal


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
    warnings.warn(f"{message}\n  try: {hint}", TransferWarning, stacklevel=_user_level())


def _user_level() -> int:
    """Return the `stacklevel` of the user's line, seen from `_apply_policy`."""
    level = 1
    frame = sys._getframe(1)  # warnings counts frames too
    while frame.f_back is not None and is_internal(frame.f_code):
        frame = frame.f_back
        level += 1
    return level


@contextmanager
def transfer_policy(policy: config.TransferPolicy) -> Iterator[None]:
    """Say what happens in the `with` block when operands live on different devices: "allow", "warn" or "error".

    With "allow", the default, operands move to the device that holds most of the bytes. "warn" says so with a
    TransferWarning, "error" raises TransferError at the line that records the op.

    >>> a, b = tfr.ones(3, device="cpu"), tfr.ones(3, device="numpy")
    >>> with tfr.transfer_policy("error"):
    ...     a + b
    Traceback (most recent call last):
    tensorframe.errors.TransferError: operands move to cpu: float32[3] on numpy
    ...
    """
    with config.override(transfer_policy=policy):
        yield


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
