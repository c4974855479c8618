"""The registry: what the name of a device means, and which backend runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tensorframe.backends import selection
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.entries import INTERFACES, add, entry_of, loaded, remove
from tensorframe.backends.probing import Found, forget, probe_all
from tensorframe.backends.remedies import remedies
from tensorframe.backends.selection import Passed, as_bytes, candidates, family, first_fit
from tensorframe.errors import DeviceError
from tensorframe.graph.device import CPU, Device

VARIABLE = "TENSORFRAME_BACKEND"

_AUTO = Device("auto")

_chosen: ContextVar[Device | None] = ContextVar("tensorframe_device", default=None)

# the device that `use_backend` made the default here, None outside such a block
chosen_device = _chosen.get

# devices that were asked for and are there; a device that is lost later fails where it is used
_known: dict[Device, DeviceInfo] = {}

_on_change: list[Callable[[], None]] = []


def register(backend: Backend, *names: str) -> None:
    """Make a backend known under `names` (its own name if none is given): what names of its devices start with.

    A name that is known already stands for the new backend from now on; functions that `jit` has recorded keep the old
    one. ArgumentError if `backend` is no Backend, or
    a name is not made of small letters, digits and underscores, or means something else to users ("auto", "vulkan").

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend())
    """
    add(backend, names or (getattr(backend, "name", ""),))
    forget(backend)
    for name in names or (backend.name,):
        _drop(name)


def unregister(name: str) -> None:
    """Forget a backend that was registered; one of this package is what its name stands for again.

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend(), "planned")
    >>> tfr.backends.unregister("planned")
    """
    remove(name)
    _drop(name)


def _drop(name: str) -> None:
    for device in [device for device in _known if device.backend == name]:
        del _known[device]
    for forget_plans in _on_change:
        forget_plans()


def when_changed(forget_plans: Callable[[], None]) -> None:
    """Have a function called whenever a name may stand for another backend: to drop what the old one made."""
    _on_change.append(forget_plans)


def backend_of(device: Device) -> Backend:
    """Return the backend that runs a device; DeviceError if there is none, or it does not load."""
    entry = entry_of(device.backend)
    backend = loaded(entry) if entry is not None else None
    if backend is None:
        raise _unavailable(device, family(device.backend))
    return backend


def capabilities(device: Device) -> Capabilities:
    """Return what a device can do; DeviceError if it is not there."""
    return (_known.get(device) or info_of(device)).capabilities


def info_of(device: Device) -> DeviceInfo:
    """Return what discovery found about a device; DeviceError says why it is not there, and what helps."""
    found = family(device.backend)
    own = [info for info in found.devices if info.device is device]
    if not own:
        raise _unavailable(device, found)
    _known[device] = own[0]
    return own[0]


def _unavailable(device: Device, found: Found) -> DeviceError:
    name = str(device)
    if found.devices:
        listed = ", ".join(str(info.device) for info in found.devices)
        return DeviceError(f"there is no device {name!r} here", suggestions=(f"one of {listed}",))
    usable = ", ".join(map(repr, map(str, known_devices())))
    return DeviceError(
        f"there is no device {name!r} here: {found.reason}",
        suggestions=(*remedies(found), f"one of {usable}"),
    )


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices of all backends that are available here, those that only make plans included."""
    return tuple([info for found in probe_all() for info in found.devices])


def known_devices() -> tuple[Device, ...]:
    """Return the devices that can compute here, the default one first."""
    usable = [info.device for info in devices() if info.capabilities.executes]
    return tuple(sorted(usable, key=lambda device: (device is not CPU, str(device))))


def resolve_device(device: str | Device | None) -> Device:
    """Return the device a user means: by name, or the default one for None; DeviceError if there is none.

    "auto" is the best device that is here. "vulkan", "metal", "dx12" and "gl" are wgpu adapters of that interface.
    """
    if device is None:
        return default_device()
    if device is CPU:
        return CPU
    found = Device(device)
    if found is _AUTO:
        return first_fit(candidates(selection.backend_priority()), None, _order()).device
    if found.backend in INTERFACES:
        return _adapter(found)
    if found not in _known:
        info_of(found)
    return found


def _adapter(device: Device) -> Device:
    """Return the wgpu device that a name such as "vulkan:1" means."""
    found = family(device.backend)
    if device.index < len(found.devices):
        return found.devices[device.index].device
    raise _unavailable(device, found)


def _order() -> str:
    return f"the order {', '.join(selection.backend_priority())}"


def select(
    name: str | Device | Sequence[str | Device] = "auto", *, memory: int | str | None = None
) -> Device:
    """Return the device to use: the first with room for `memory`, in bytes or as text ("4GiB").

    "auto" goes through the devices in the order of `set_backend_priority`; a list of devices is gone through as it
    stands. A device that is not there, or too small, is passed over; DeviceError, with the reason for each, if none is
    left. Room is what is free at the moment. A device that cannot tell how much that is (WebGPU cannot) is taken.

    >>> tfr.backends.select("cpu", memory="1 MiB")
    Device('cpu')
    >>> tfr.backends.select("cpu", memory="1000 TiB")
    Traceback (most recent call last):
    tensorframe.errors.DeviceError: no device of cpu with 1000 TiB (cpu: ... free)
    ...
    """
    wanted = as_bytes(memory)
    again = wanted is not None  # what is free changes
    if isinstance(name, str) and name == "auto":
        found = candidates(selection.backend_priority(), again=again)
        return first_fit(found, wanted, _order()).device
    names = [name] if isinstance(name, str | Device) else list(name)
    if len(names) == 1:
        resolve_device(names[0])  # the error of a single device says more
    listed = ", ".join(map(str, names))
    return first_fit(_each(names, again=again), wanted, listed).device


def _each(names: Sequence[str | Device], *, again: bool) -> Iterator[DeviceInfo | Passed]:
    for name in names:
        try:
            device = resolve_device(name)
        except DeviceError as error:
            yield Passed(str(name), error.message)
            continue
        found = family(device.backend, again=again)
        yield next((info for info in found.devices if info.device is device), _known[device])


def best() -> Device:
    """Return the device that "auto" means: the first that is here, in the order of `set_backend_priority`.

    >>> with tfr.use_backend(tfr.backends.best()):
    ...     total = tfr.sum(tfr.arange(10)).item()
    >>> total
    45
    """
    return resolve_device("auto")


def default_device() -> Device:
    """Return where new tensors live: `use_backend`, else TENSORFRAME_BACKEND, else the cpu."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    named = os.environ.get(VARIABLE)
    return _of_environment(named) if named else CPU


def _of_environment(name: str) -> Device:
    try:
        return resolve_device(name)
    except DeviceError as error:
        message = f"the environment says {VARIABLE}={name}: {error.message}"
        hints = (*error.suggestions, f"unset {VARIABLE}")
        raise DeviceError(message, suggestions=hints) from None


@contextmanager
def use_backend(device: str | Device) -> Iterator[Device]:
    """Make `device` the default for tensors created in the `with` block.

    A name such as "opencl" or "cuda:1", or "auto" for the best device that is here. DeviceError if there is none.

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
