"""Transfers: how bytes get from one device to another."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.registry import backend_of, capabilities, known_devices
from tensorframe.backends.spans import log
from tensorframe.backends.storage import Storage
from tensorframe.graph.device import Device


def is_shared(source: Device, target: Device) -> bool:
    """Whether both devices work in the same memory, so that nothing has to move."""
    return capabilities(source).host_memory and capabilities(target).host_memory


def is_direct(source: Device, target: Device) -> bool:
    """Whether values get from one device to the other without a copy in host memory that neither works in."""
    one_is_host = capabilities(source).host_memory or capabilities(target).host_memory
    return one_is_host or backend_of(target).reaches(source, target)


def dlpack_home(kind: int, index: int) -> Device | None:
    """Return the device that DLPack calls device `index` of type `kind`; None if there is none here."""
    for device in known_devices():
        home = backend_of(device).dlpack_home(kind, index)
        if home is not None:
            return home
    return None


def move(handle: Any, source: Device, target: Device) -> Any:
    """Return the handle on `target` of the values that `handle` has on `source`.

    Devices in the same memory share the handle; a backend that reaches the other device copies from there; others go
    through the host.
    """
    if is_shared(source, target):
        return handle
    if type(handle) is tuple:  # of a library call that gives several tensors
        return tuple([move(part, source, target) for part in handle])
    giver, taker = backend_of(source), backend_of(target)
    storage = giver.wrap(source, handle)
    log("moved %s from %s to %s", storage, source, target, detail=True)
    if taker.reaches(source, target):
        return taker.copy_from(storage, target).handle
    return taker.upload(target, giver.download(storage)).handle


def duplicate(storage: Storage) -> Storage:
    """Return storage on the same device, one with memory of its own, with a copy of the values, which is complete."""
    device = storage.device
    backend = backend_of(device)
    if not backend.reaches(device, device):
        return backend.upload(device, backend.download(storage))
    made = backend.copy_from(storage, device)
    backend.synchronize(device)  # the owner may write to its memory from now on
    return made
