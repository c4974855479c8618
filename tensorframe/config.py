"""Configuration: which options are in force, and where their values come from.

Options are read from the environment once (`TENSORFRAME_FUSE=0`; empty is as if it were not set), set for good with
`configure`, or for a `with` block with `override`; a block sees only its own thread's (and asyncio task's) changes.

>>> with tfr.config.override(fuse=False):
...     tfr.config.get().fuse
False
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import fields, replace
from types import ModuleType
from typing import Any, ClassVar

from tensorframe.errors import ArgumentError, SettingWarning, warn_at
from tensorframe.forks import new_lock
from tensorframe.options import DEFAULTS, Options, check, parsed, similar
from tensorframe.scopes import Scope
from tensorframe.site import raising_site

__all__ = [
    "Devices",
    "Options",
    "Process",
    "configure",
    "describe",
    "get",
    "know_devices",
    "load",
    "override",
    "save",
    "scope",
    "to_dict",
    "when_configured",
]

PREFIX = "TENSORFRAME_"
# beside the options, what the environment may say: where new tensors live
BACKEND = f"{PREFIX}BACKEND"
# and which file has options and settings of devices; variables go before it
FILE = f"{PREFIX}CONFIG"


class Devices:
    """What knows the settings of devices, and what a file says of devices that nobody has used yet."""

    take: ClassVar[Callable[[dict[str, Any]], None]]
    give: ClassVar[Callable[[], dict[str, dict[str, Any]]]]
    pending: ClassVar[dict[str, dict[str, Any]]] = {}
    source: ClassVar[str] = ""


def know_devices(
    take: Callable[[dict[str, Any]], None], give: Callable[[], dict[str, dict[str, Any]]]
) -> None:
    """Have `take` set what `load` reads of devices, and `give` return it."""
    Devices.take, Devices.give = staticmethod(take), staticmethod(give)


def _from_environment() -> Options:
    """Return what the environment says; ArgumentError names the variable whose value no option has."""
    said = _from_file(os.environ.get(FILE, "").strip())
    for name, default in DEFAULTS.items():
        text = os.environ.get(variable := f"{PREFIX}{name.upper()}", "").strip()
        if not text:
            continue
        try:
            said[name] = check(name, parsed(text, type(default)))
        except ArgumentError as error:
            hints = [f"unset {variable}"]
            if type(default) is bool:
                hints.insert(0, f"{variable}=0 or {variable}=1")
            message = f"the environment says {variable}={text}: {error.message}"
            raise ArgumentError(message, suggestions=hints) from None
    _warn_of_unknown()
    return Options(**said)


def _from_file(path: str) -> dict[str, Any]:
    """Return the options that the file of the environment sets; devices are configured when they are used."""
    if not path:
        return {}
    try:
        options, devices = _parts(_read(path))
        _check_tables(devices)
    except ArgumentError as error:
        message = f"the environment says {FILE}={path}: {error.message}"
        raise ArgumentError(message, suggestions=(*error.suggestions, f"unset {FILE}")) from None
    Devices.pending, Devices.source = devices, path
    return options


def _read(path: str) -> dict[str, Any]:
    import tomllib  # few programs have a file

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} is no TOML: {error}") from None


def _parts(said: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return checked options, and the settings of devices as they are written."""
    options = {name: check(name, value) for name, value in said.items() if name != "devices"}
    devices = said.get("devices", {})
    if not isinstance(devices, Mapping):
        raise ArgumentError(f"devices is a table of tables, got {devices!r:.80}")
    return options, {name: devices[name] for name in devices}


def _check_tables(devices: Mapping[str, Any]) -> None:
    for name, settings in devices.items():
        if not isinstance(settings, Mapping):
            raise ArgumentError(f"devices.{name} is a table of settings, got {settings!r:.80}")


def _warn_of_unknown() -> None:
    """Warn about variables that look like options and are none: a typing error would pass unseen."""
    known = [BACKEND, FILE, *(f"{PREFIX}{name.upper()}" for name in DEFAULTS)]
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known:
            hints = [*similar(name, known), "tfr.config.describe(), which lists the options"]
            message = f"the environment sets {name}, and there is no such option"
            warn_at(raising_site(), message, SettingWarning, hints)


class Process:
    """The options that `configure` set, for every thread that has no override."""

    base: Options = _from_environment()
    listeners: ClassVar[list[Callable[[Options], None]]] = []
    lock: ClassVar[Any] = new_lock()


_override: ContextVar[Options | None] = ContextVar("tensorframe_options", default=None)


# what `get` asks, for those that do not live long enough to call it
overridden: Callable[[], Options | None] = _override.get


def get() -> Options:
    """Return the options in force here.

    Those of the innermost `with tfr.config.override(...)` of this thread or task, else the
    program's.

    >>> with tfr.config.override(progress="off"):
    ...     tfr.config.get().progress
    'off'
    """
    return _override.get() or Process.base


def configure(**changes: Any) -> None:
    """Set options for the whole process, by name; `ArgumentError` names the option that does not fit.

    >>> tfr.config.configure(fuse="maybe")
    Traceback (most recent call last):
    tensorframe.errors.ArgumentError: option fuse is True or False, got 'maybe'
    ...
    """
    checked = _checked(changes)
    with Process.lock:
        Process.base = replace(Process.base, **checked)
    for tell in Process.listeners:
        tell(Process.base)


def when_configured(tell: Callable[[Options], None]) -> None:
    """Call `tell` with the options of the whole process, now and whenever `configure` has set some."""
    Process.listeners.append(tell)
    tell(Process.base)


def override(**changes: Any) -> Scope[Options]:
    """Return a context manager that sets options inside a `with` block; `ArgumentError` at once for what does not fit.

    It decorates functions as well. A SettingWarning says if it is dropped without having been either.

    >>> with tfr.config.override(threads=1) as options:
    ...     options.threads
    1
    """
    return scope(f"tfr.config.override({_written(changes)})", changes)


def scope(named: str, changes: dict[str, Any]) -> Scope[Options]:
    """Return the context manager that sets options for what the user has `named`."""
    checked = _checked(changes)
    return Scope(
        _override,
        lambda: replace(get(), **checked),
        named,
        f"tfr.config.configure({_written(checked)})",
    )


def _written(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in changes.items())


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: check(name, value) for name, value in changes.items()}


def load(source: str | os.PathLike[str] | Mapping[str, Any]) -> None:
    """Set options for the whole process, and settings of devices, from a TOML file or a dict such as `to_dict` gives.

    Options are at the top, settings in a table for each device, `[devices.opencl]`. The environment variable
    TENSORFRAME_CONFIG names a file that is read when tensorframe is imported; variables of single options go before it.
    ArgumentError for a file that cannot be read, or is no TOML, and for what does not fit, by its name: then nothing is
    changed.

    >>> tfr.config.load({"threads": 2, "devices": {"cpu": {"memory_limit": "64 GiB"}}})
    >>> tfr.config.to_dict()["devices"]
    {'cpu': {'memory_limit': 68719476736}}
    >>> tfr.config.load({"threads": 0, "devices": {"cpu": {"memory_limit": None}}})
    """
    said = source if isinstance(source, Mapping) else _read(os.fspath(source))
    options, devices = _parts(said)
    Devices.take(devices)  # all or none
    if options:
        configure(**options)


def to_dict() -> dict[str, Any]:
    """Return the options of the process that have not their default, and the settings of devices, for `load`.

    >>> sorted(tfr.config.to_dict()["devices"])
    []
    """
    changed = {
        name: getattr(Process.base, name)
        for name, default in DEFAULTS.items()
        if getattr(Process.base, name) != default
    }
    return {**changed, "devices": Devices.give()}


def save(path: str | os.PathLike[str]) -> None:
    """Write what `to_dict` returns into a TOML file, which `load` reads; OSError if it cannot be written.

    >>> tfr.config.save(folder / "tensorframe.toml")
    >>> tfr.config.load(folder / "tensorframe.toml")
    """
    import json  # its strings are TOML's

    said = to_dict()
    tables = [("", {name: said[name] for name in said if name != "devices"})]
    tables += [
        (f"[devices.{json.dumps(name)}]", values) for name, values in said["devices"].items()
    ]
    lines = []
    for heading, values in tables:
        lines += [heading] if heading else []
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))


def describe() -> str:
    """Return a line per option, name, value in force and meaning, and one per setting of a device that was set.

    >>> with tfr.config.override(progress="off"):
    ...     "progress = 'off': " in tfr.config.describe()
    True
    """
    options = get()
    lines = [
        f"{option.name} = {getattr(options, option.name)!r}: {option.metadata['doc']}"
        for option in fields(Options)
    ]
    for device, settings in Devices.give().items():
        lines += [f"devices.{device}.{name} = {value!r}" for name, value in settings.items()]
    return "\n".join(lines)


class _Module(ModuleType):
    """The module of options, which are no attributes of it: to set one would change nothing, and say nothing."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in DEFAULTS:
            written = f"{name}={value!r:.40}"
            raise ArgumentError(
                f"tfr.config.{name} is no attribute that sets the option {name}",
                suggestions=(
                    f"tfr.config.configure({written}) for the whole process",
                    f"with tfr.config.override({written}): for a block",
                ),
            )
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Module
