"""The registry: what the name of a device means, which backend runs it, and which device is the default."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from tensorframe import config
from tensorframe.backends import selection
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.entries import INTERFACES, add, entries, entry_of, loaded, remove
from tensorframe.backends.probing import Found, forget, probe_all
from tensorframe.backends.remedies import remedies
from tensorframe.backends.selection import candidates, family, first_fit, order_in_words
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.graph.device import CPU, Device, backend_called
from tensorframe.scopes import Scope

VARIABLE = config.BACKEND

_AUTO = Device("auto")

_chosen: ContextVar[Device | None] = ContextVar("tensorframe_device", default=None)


class _State:
    """The device that `set_backend` made the default, for every thread, and what the environment named at first use."""

    device: Device | None = None
    named: Device | None = None


# devices that were asked for and are there; a device that is lost later fails where it is used
_known: dict[Device, DeviceInfo] = {}

_on_change: list[Callable[[], None]] = []


def register(backend: Backend, *names: str, override: bool = False) -> None:
    """Make a backend known under `names` (its own name if none is given): what names of its devices start with.

    A name that is known already stands for the new backend from now on, one of this package ("cpu") only with
    `override`; functions that `jit` has recorded keep the old one. ArgumentError if `backend` is no Backend, or
    a name is not made of small letters, digits and underscores, or means something else to users ("auto", "vulkan");
    then none of the names is changed.

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend(), "planned")
    >>> tfr.backends.unregister("planned")
    """
    add(backend, names or (getattr(backend, "name", ""),), override=override)
    forget(backend)
    for name in names or (backend.name,):
        _drop(name)


def unregister(name: str) -> None:
    """Forget a backend that was registered: its name stands again for what it stood for before, if for anything.

    ArgumentError for a name that was not registered.

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend(), "planned")
    >>> tfr.backends.unregister("planned")
    """
    remove(name)
    _drop(name)


def configure(name: str, **settings: Any) -> None:
    """Change settings of a backend, those that are named, for every thread and all tensors of its devices.

    The backend "dask" has two. `client` is a `distributed.Client`, whose cluster runs the tasks from now on; None, the
    default, leaves that to Dask: its own current client, or threads here. `chunk` is the size of a block at most, in
    bytes or as text; tensors that are there keep theirs. ArgumentError for a backend or setting that is not known, and
    for a value that is none; then nothing changes. DeviceError if the backend does not load.

    >>> tfr.backends.configure("dask", chunk="64 MiB")
    >>> tfr.backends.configure("dask", chunk=None)
    """
    try:
        device = Device(name)
    except DeviceError as error:
        raise ArgumentError(error.message, suggestions=_guesses(name)) from None
    backend = backend_of(device)
    backend.configure(**settings)
    forget(backend)  # the devices of another client are others
    _drop(name)


def _drop(name: str) -> None:
    own = backend_called(name)
    for device in [device for device in _known if device.backend == own]:
        del _known[device]
    _State.named = None
    forget_plans()


def forget_plans() -> None:
    """Have what was made of devices that are not what they were, plans above all, dropped."""
    for forget_made in _on_change:
        forget_made()


def when_changed(forget_made: Callable[[], None]) -> None:
    """Have a function called whenever a name may stand for another backend: to drop what the old one made."""
    _on_change.append(forget_made)


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
    probe = family(device.backend)
    own = [info for info in probe.devices if info.device is device]
    if not own:
        raise _unavailable(device, probe)
    _known[device] = own[0]
    return own[0]


def _unavailable(device: Device, probe: Found) -> DeviceError:
    name = str(device)
    if probe.devices:
        names = [str(info.device) for info in probe.devices]
        if device.backend in INTERFACES:
            names = [str(Device(device.backend, index)) for index in range(len(names))]
        listed = ", ".join(names)
        return DeviceError(f"there is no device {name!r} here", suggestions=(f"one of {listed}",))
    usable = ", ".join(map(repr, map(str, known_devices())))
    guesses = () if entry_of(device.backend) or device.backend in INTERFACES else _guesses(name)
    return DeviceError(
        f"there is no device {name!r} here: {probe.reason}",
        suggestions=(*guesses, *remedies(probe), f"one of {usable}"),
    )


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices of all backends that are available here, those that only make plans included."""
    return tuple([info for probe in probe_all() for info in probe.devices])


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
    meant = _called(device)
    if meant is _AUTO:
        return first_fit(candidates(selection.backend_priority()), None, order_in_words()).device
    if meant.backend in INTERFACES:
        return _adapter(meant)
    if meant not in _known:
        info_of(meant)
    return meant


def named_device(call: str, device: str | Device) -> Device:
    """Return the device that must be named in a call of the user's; DeviceError for None, which names none."""
    if device is None:
        raise DeviceError(
            f"{call}: takes the name of a device or backend, got None",
            suggestions=("a name such as 'cpu', 'cuda:1' or 'auto'", "tfr.get_backend()"),
        )
    return resolve_device(device)


def _called(name: str | Device) -> Device:
    """Return the device of a name, whether or not it is here; DeviceError, with what may be meant, if it is no name."""
    try:
        return Device(name)
    except DeviceError as error:
        raise DeviceError(error.message, suggestions=_guesses(name) or error.suggestions) from None


def _guesses(name: object) -> tuple[str, ...]:
    """Return which devices a wrong name may mean."""
    from tensorframe.backends.spelling import meant  # only errors need it

    known = [*(entry.name for entry in entries()), *INTERFACES, _AUTO.backend]
    return meant(name, known)


def _adapter(device: Device) -> Device:
    """Return the wgpu device that a name such as "vulkan:1" means."""
    probe = family(device.backend)
    if device.index < len(probe.devices):
        return probe.devices[device.index].device
    raise _unavailable(device, probe)


def default_device() -> Device:
    """Return where new tensors live: `use_backend`, else `set_backend`, else TENSORFRAME_BACKEND, else the cpu."""
    chosen = _chosen.get() or _State.device or _State.named
    if chosen is None:  # once: to ask the environment takes longer than to record a tensor
        chosen = _State.named = _of_environment()
    return chosen


def _of_environment() -> Device:
    name = os.environ.get(VARIABLE, "").strip()
    try:
        return resolve_device(name) if name else CPU
    except DeviceError as error:
        message = f"the environment says {VARIABLE}={name}: {error.message}"
        hints = (*error.suggestions, f"unset {VARIABLE}")
        raise DeviceError(message, suggestions=hints) from None


def chosen_device() -> Device | None:
    """Return the device that `use_backend`, or else `set_backend`, made the default; None where neither did."""
    return _chosen.get() or _State.device


def use_backend(device: str | Device) -> Scope[Device]:
    """Return a context manager that makes `device` the default for tensors created in its `with` block.

    A name such as "opencl" or "cuda:1", or "auto" for the best device that is here. DeviceError at once if there is
    none. The block is its own thread's (and asyncio task's), goes before `set_backend`, and may be inside another one.
    It decorates functions as well. A SettingWarning says if it is dropped without having been either.

    >>> with tfr.use_backend("numpy"):
    ...     print(tfr.zeros(2).device)
    numpy
    """
    chosen = named_device("use_backend", device)
    name = str(chosen)
    return Scope(
        _chosen, lambda: chosen, f"tfr.use_backend({name!r})", f"tfr.set_backend({name!r})"
    )


def set_backend(device: str | Device | None) -> None:
    """Make `device` the default for tensors created from now on, in every thread.

    A name such as "opencl" or "cuda:1", or "auto" for the best device that is here now; DeviceError if there is none,
    and then nothing changes. None takes it back: the default is what TENSORFRAME_BACKEND says, else the cpu. Inside a
    `use_backend` block it holds once that block ends. Tensors that there are stay where they are.

    >>> tfr.set_backend("numpy")
    >>> tfr.zeros(2).device, tfr.get_backend()
    (Device('numpy'), Device('numpy'))
    >>> tfr.set_backend(None)
    >>> tfr.get_backend()
    Device('cpu')
    """
    _State.device = None if device is None else named_device("set_backend", device)


def get_backend() -> Device:
    """Return the device on which new tensors live where none is named.

    It is that of the innermost `use_backend` block, else that of `set_backend`, else what the environment variable
    TENSORFRAME_BACKEND names, else the cpu. DeviceError if that variable names none that is here.

    >>> with tfr.use_backend("numpy"):
    ...     tfr.get_backend()
    Device('numpy')
    """
    return default_device()
