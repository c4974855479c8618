"""The registry: what the name of a device means, which backend runs it, and which device is the default."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from tensorframe import config
from tensorframe.backends import selection
from tensorframe.backends.base import Backend, Capabilities, DeviceInfo
from tensorframe.backends.entries import INTERFACES, add, entries, entry_of, loaded, remove
from tensorframe.backends.probing import Found, forget, probe_all
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
    """Register a backend under `names`, its own name by default; names of its devices begin with one of them.

    A name that is registered already refers to the new backend from then on; a name of this package ("cpu") needs
    `override`. Functions that `jit` has recorded keep the old backend.

    ArgumentError if `backend` is not a Backend, or a name is reserved ("auto", "vulkan") or has other characters than
    small letters, digits and underscores; none of the names changes then.

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend(), "planned")
    >>> tfr.backends.unregister("planned")
    """
    add(backend, names or (getattr(backend, "name", ""),), override=override)
    forget(backend)
    for name in names or (backend.name,):
        _drop(name)


def unregister(name: str) -> None:
    """Remove a backend that was registered; its name refers to the backend that it named before, if any.

    ArgumentError if the name was not registered.

    >>> from tensorframe.backends.dry import DryBackend
    >>> tfr.backends.register(DryBackend(), "planned")
    >>> tfr.backends.unregister("planned")
    """
    remove(name)
    _drop(name)


def configure(name: str | Device | Mapping[str, Mapping[str, Any]], **settings: Any) -> None:
    """Change the named settings of a device, for every thread; None restores the default of a setting.

    Each device has only the settings that have an effect on it. All devices that compute have `memory_limit`, as in
    `tfr.memory.limit`; it survives closing and opening the device. cpu, numpy and llvm, which share their threads, have
    `threads`. CUDA and OpenCL devices have `pinned` (transfers go through pinned memory; on OpenCL None leaves it to
    the device), CUDA devices also `tensor_cores` (matmuls of float32 may round their factors to TF32) and `graphs`
    (launches of jitted functions become CUDA graphs; None follows the option `cuda_graphs`). The backend "dask" has
    `client`, a `distributed.Client` whose cluster runs the tasks from then on (None leaves the choice to Dask: its
    current client, or local threads), and `chunk`, the largest size of a block. A mapping from devices to mappings of
    settings configures several devices.

    ArgumentError if a device or setting is not known, or a value is not valid; nothing changes then. DeviceError if the
    device is not available.

    >>> tfr.backends.configure("dask", chunk="64 MiB")
    >>> tfr.backends.configure("dask", chunk=None)
    >>> tfr.backends.configure("cpu", threads=0)
    Traceback (most recent call last):
    tensorframe.errors.ArgumentError: configure("cpu"): threads is an integer from 1 to 255, or None ..., got 0
    ...
    """
    if isinstance(name, Mapping):
        _configure_all(name)
        return
    _configured(name, settings)()


def _configure_all(devices: Mapping[str, Mapping[str, Any]]) -> None:
    """Change settings of several devices, or of none if any of them does not fit."""
    for name, asked in devices.items():
        if not isinstance(asked, Mapping):
            raise ArgumentError(
                f"configure: the settings of {name!r} are a dict, got {asked!r:.80}",
                suggestions=("{'opencl': {'memory_limit': '2 GiB'}}",),
            )
    for put_in_force in [_configured(name, asked) for name, asked in devices.items()]:
        put_in_force()


def _configured(name: str | Device, asked: Mapping[str, Any]) -> Callable[[], None]:
    """Check settings of a device, and return what puts them in force."""
    from tensorframe.backends import settings  # few programs need it

    try:
        device = Device(name)
    except DeviceError as error:
        raise ArgumentError(error.message, suggestions=_guesses(name)) from None
    backend = backend_of(device)
    if type(backend).configure is not Backend.configure:  # they are the whole backend's
        return lambda: _configure_backend(backend, device, asked)
    info_of(device)
    return partial(settings.put_in_force, backend, device, settings.check(backend, device, asked))


def _configure_backend(backend: Backend, device: Device, asked: Mapping[str, Any]) -> None:
    backend.configure(**asked)
    forget(backend)  # the devices of another client are others
    _drop(device.backend)


def _configuration() -> dict[str, dict[str, Any]]:
    """Return what was set for devices."""
    known = sys.modules.get("tensorframe.backends.settings")
    return {} if known is None else known.configuration()


config.know_devices(_configure_all, _configuration)


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
    if config.Devices.pending:
        _take_what_a_file_says(device)
    return own[0]


def _take_what_a_file_says(device: Device) -> None:
    """Configure a device that is used for the first time as the file that the environment names wants it."""
    for name in [name for name in config.Devices.pending if Device(name) is device]:
        asked = config.Devices.pending.pop(name)
        try:
            configure(device, **asked)
        except ArgumentError as error:
            message = f"{config.Devices.source} says: {error.message}"
            raise ArgumentError(message, suggestions=error.suggestions) from None


def _unavailable(device: Device, probe: Found) -> DeviceError:
    name = str(device)
    if probe.devices:
        names = [str(info.device) for info in probe.devices]
        if device.backend in INTERFACES:
            names = [str(Device(device.backend, index)) for index in range(len(names))]
        listed = ", ".join(names)
        return DeviceError(f"there is no device {name!r} here", suggestions=(f"one of {listed}",))
    from tensorframe.backends.remedies import remedies  # loaded where something is missing

    usable = ", ".join(map(repr, map(str, known_devices())))
    guesses = () if entry_of(device.backend) or device.backend in INTERFACES else _guesses(name)
    return DeviceError(
        f"there is no device {name!r} here: {probe.reason}",
        suggestions=(*guesses, *remedies(probe), f"one of {usable}"),
    )


def devices() -> tuple[DeviceInfo, ...]:
    """Return the devices of all backends that are available here, those that only make plans included."""
    return tuple([info for probe in probe_all() for info in probe.devices])


def used_devices() -> tuple[Device, ...]:
    """Return the devices that were asked for by name so far: all that tensors live on."""
    return tuple(_known)


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

    A name such as "opencl" or "cuda:1", or "auto" for the best available device. An unavailable device raises
    DeviceError at once. The block holds for its own thread (and asyncio task), takes precedence over `set_backend`, and
    may be nested. It also works as a decorator. A SettingWarning is raised if it is used as neither.

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

    A name such as "opencl" or "cuda:1", or "auto" for the best device that is available now. An unavailable device
    raises DeviceError, and nothing changes. None restores the default: TENSORFRAME_BACKEND if it is set, else the cpu.
    Inside a `use_backend` block it takes effect when that block ends. Existing tensors stay on their devices.

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
