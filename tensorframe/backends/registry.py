"""The registry: which backends there are, and what a device name means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tensorframe.errors import DeviceError
from tensorframe.graph.device import CPU, Device

HOST_BACKENDS = ("cpu", "numpy")

_chosen: ContextVar[Device | None] = ContextVar("tensorframe_device", default=None)


def known_devices() -> tuple[Device, ...]:
    """Return the devices that can compute here."""
    return tuple(Device(name) for name in HOST_BACKENDS)


def resolve_device(device: str | Device | None) -> Device:
    """Return the device a user means: by name, or the default for None and `"auto"`; DeviceError if there is none."""
    if device is None:
        return default_device()
    if device == "auto":
        return CPU
    found = Device(device)
    if found not in known_devices() and found.backend != "dry":
        listed = ", ".join(map(repr, map(str, known_devices())))
        raise DeviceError(f"there is no device {str(found)!r} here", suggestions=(f"one of {listed}",))
    return found


def default_device() -> Device:
    """Return where new tensors live: `use_backend`, else TENSORFRAME_BACKEND, else the cpu."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    named = os.environ.get("TENSORFRAME_BACKEND")
    return resolve_device(named) if named else CPU


@contextmanager
def use_backend(device: str | Device) -> Iterator[Device]:
    """Make `device` the default for tensors created in the `with` block.

    >>> with tfr.use_backend("numpy"):
    ...     print(tfr.zeros(2).device)
    numpy
    """
    found = resolve_device(device)
    token = _chosen.set(found)
    try:
        yield found
    finally:
        _chosen.reset(token)
