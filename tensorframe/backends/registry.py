"""The registry: which backends there are, and what a device name means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.errors import DeviceError
from tensorframe.graph.device import CPU, Device

_backends: dict[str, Backend] = {}

_chosen: ContextVar[Device | None] = ContextVar("tensorframe_device", default=None)

# the device that `use_backend` made the default here, None outside such a block
chosen_device = _chosen.get


def register(backend: Backend, *names: str) -> None:
    """Make a backend known under `names` (its own name if none is given): what device names start with."""
    for name in names or (backend.name,):
        _backends[name] = backend


def backend_of(device: Device) -> Backend:
    """Return the backend that runs a device."""
    _register_built_in()
    return _backends[device.backend]


@cache
def _register_built_in() -> None:
    """Import and register the backends of this package, when the first one is asked for."""
    from tensorframe.backends.cpu import CpuBackend  # backends load when first used
    from tensorframe.backends.dry import DryBackend
    from tensorframe.backends.numba import NumbaBackend
    from tensorframe.backends.numpy.engine import NumpyBackend

    for backend in (DryBackend(), NumpyBackend(), NumbaBackend(), CpuBackend()):
        register(backend)


def capabilities(device: Device) -> Capabilities:
    """Return what a device can do."""
    known = _capabilities.get(device)
    if known is None:
        found = backend_of(device).probe()
        if isinstance(found, str):
            raise DeviceError(f"the backend of {str(device)!r} is not available: {found}")
        _capabilities.update((info.device, info.capabilities) for info in found)
        known = _capabilities[device]
    return known


_capabilities: dict[Device, Capabilities] = {}


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices of all backends that are available here, those that only make plans included."""
    _register_built_in()
    found: dict[Device, DeviceInfo] = {}
    for backend in dict.fromkeys(_backends.values()):
        probed = backend.probe()
        if not isinstance(probed, str):
            found.update((info.device, info) for info in probed)
    return tuple(found.values())


def known_devices() -> tuple[Device, ...]:
    """Return the devices that can compute here, the default one first."""
    usable = [info.device for info in devices() if info.capabilities.executes]
    return tuple(sorted(usable, key=lambda device: (device is not CPU, str(device))))


def resolve_device(device: str | Device | None) -> Device:
    """Return the device a user means: by name, or the default for None and `"auto"`; DeviceError if there is none."""
    if device is None:
        return default_device()
    if device == "auto" or device is CPU:
        return CPU
    found = Device(device)
    if found not in _capabilities and found not in {info.device for info in devices()}:
        listed = ", ".join(map(repr, map(str, known_devices())))
        raise DeviceError(
            f"there is no device {str(found)!r} here", suggestions=(f"one of {listed}",)
        )
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
