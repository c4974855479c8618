"""Transfers: how bytes get from one device to another."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.graph.device import Device


def move(handle: Any, source: Device, target: Device) -> Any:
    """Return the handle on `target` of the values that `handle` has on `source`.

    Devices in the same memory share the handle; others go through the host.
    """
    if capabilities(source).host_memory and capabilities(target).host_memory:
        return handle
    giver, taker = backend_of(source), backend_of(target)
    array = giver.download(giver.wrap(source, handle))
    return taker.upload(target, array).handle
