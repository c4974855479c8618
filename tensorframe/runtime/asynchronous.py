"""Asynchronous evaluation: results that devices still compute when the caller goes on, and waiting for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorframe.backends.base import Backend
from tensorframe.backends.registry import backend_of, used_devices
from tensorframe.errors import TensorFrameError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.execution.failures import locate, step_of
from tensorframe.runtime.execution.throttling import catch_up, catch_up_with, handing_over
from tensorframe.site import describe


def evaluate_asynchronously(nodes: Sequence[Node]) -> None:
    """Evaluate nodes without waiting for their devices; their values promise to be there."""
    pending = [node for node in nodes if node.storage is None]
    if not pending:
        return
    token = handing_over.set(True)
    try:
        evaluate(pending)
    finally:
        handing_over.reset(token)
    for node in pending:
        if type(node.storage.handle) is not np.ndarray:
            _promise(node, backend_of(node.device))


def _promise(node: Node, backend: Backend) -> None:
    backend.hand_over(node.storage, step_of(node), describe(node.site))


def is_ready(node: Node) -> bool:
    """Whether a node's values are there, and its device is done with them."""
    storage = node.storage
    if storage is None:
        return False
    return type(storage.handle) is np.ndarray or backend_of(node.device).is_done(storage)


def wait_for(node: Node) -> None:
    """Wait until the values of a computed node are there; what went wrong names the line that recorded it."""
    storage = node.storage
    if type(storage.handle) is np.ndarray:
        return
    try:
        catch_up_with(node)  # which an interrupt ends
        backend_of(node.device).wait_for(storage)
    except TensorFrameError as error:
        locate(error, node)
        raise


def wait_for_all(nodes: Sequence[Node]) -> None:
    """Wait until the values of computed nodes are there; all devices work before one is waited for."""
    for node in nodes:
        if type(node.storage.handle) is not np.ndarray:
            catch_up_with(node)
            _promise(node, backend_of(node.device))
    for node in nodes:
        wait_for(node)


def synchronize(device: Device) -> None:
    """Wait for a device; raise what went wrong with what it was given."""
    catch_up(device)  # which an interrupt ends
    backend_of(device).synchronize(device)


def synchronize_all() -> None:
    """Wait for every device that is open; what went wrong on one of them is raised when all are done."""
    failures = []
    for device in used_devices():
        if backend_of(device).is_open(device):
            try:
                synchronize(device)
            except TensorFrameError as error:
                failures.append(error)
    if failures:
        raise failures[0]
