"""Settings of devices: what `tfr.backends.configure` takes for each, checked by name and range, and what was set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from tensorframe import config
from tensorframe.backends.base import Backend
from tensorframe.backends.budget import Budget
from tensorframe.backends.selection import as_bytes
from tensorframe.errors import ArgumentError
from tensorframe.graph.device import Device
from tensorframe.quick_tuples import NamedTuple

MOST_THREADS = 255


class Setting(NamedTuple):
    """One setting of a device: what it takes, in words; what checks a value; what puts it in force."""

    takes: str
    checked: Callable[[Any], Any]
    """Returns the value as it is kept; ArgumentError or ValueError for what is none."""
    apply: Callable[[Any], None]


def memory_limit(budget: Callable[[], Budget | None]) -> Setting:
    """Return the limit of a device's memory; `budget` gives whose it is, None while the device is closed."""

    def apply(size: int | None) -> None:
        known = budget()
        if known is not None:
            known.set(size)

    return Setting("bytes, text such as '2 GiB', or None for no limit", _bytes, apply)


def threads() -> Setting:
    """Return the number of threads of devices that compute on the host's cores, which share them."""
    return Setting(
        f"an integer from 1 to {MOST_THREADS}, or None for one per core",
        lambda value: None if value is None else _integer(value, 1, MOST_THREADS),
        lambda value: config.configure(threads=value or 0),
    )


def switch(apply: Callable[[bool], None], default: bool) -> Setting:
    """Return a setting that is on or off; None is what it is by default."""
    return Setting(
        "True, False, or None for the default",
        lambda value: value if value is None else _boolean(value),
        lambda value: apply(default if value is None else value),
    )


def automatic(apply: Callable[[bool | None], None]) -> Setting:
    """Return a setting that is on or off; None leaves it to the device."""
    return Setting(
        "True, False, or None for what suits the device",
        lambda value: value if value is None else _boolean(value),
        apply,
    )


def noted() -> Setting:
    """Return a setting that is on or off, and is looked up by `given` where it matters; None: an option says it."""
    return Setting(
        "True, False, or None for what the option says",
        lambda value: value if value is None else _boolean(value),
        lambda _value: None,
    )


def _bytes(value: Any) -> int | None:
    size = as_bytes(value)
    if size == 0:
        raise ValueError("no memory at all")
    return size


def _integer(value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"not from {low} to {high}")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither")
    return value


# what was set, by device: None of it is a default
_given: dict[Device, dict[str, Any]] = {}


def given(device: Device) -> Mapping[str, Any]:
    """Return what was set for a device."""
    return _given.get(device, {})


def configuration() -> dict[str, dict[str, Any]]:
    """Return what `configure` has set for devices, as it takes it; what has its default is left out.

    >>> tfr.backends.configure("cpu", memory_limit="64 GiB")
    >>> tfr.backends.configuration()
    {'cpu': {'memory_limit': 68719476736}}
    >>> tfr.backends.configure("cpu", memory_limit=None)
    >>> tfr.backends.configuration()
    {}
    """
    return {str(device): dict(values) for device, values in _given.items() if values}


def check(backend: Backend, device: Device, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as they are kept; ArgumentError names the setting that is not known, or whose value is none."""
    known, checked = backend.device_settings(device), {}
    for name, value in asked.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            hints = (*get_close_matches(str(name), known, 1), f"{device} has {listed}")
            raise ArgumentError(
                f'configure("{device}"): there is no setting {name!r}', suggestions=hints
            )
        try:
            checked[name] = known[name].checked(value)
        except (ArgumentError, TypeError, ValueError):
            message = f'configure("{device}"): {name} is {known[name].takes}, got {value!r:.80}'
            raise ArgumentError(message) from None
    return checked


def put_in_force(backend: Backend, device: Device, checked: Mapping[str, Any]) -> None:
    """Keep checked values, and have the device work by them."""
    known, kept = backend.device_settings(device), _given.setdefault(device, {})
    for name, value in checked.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value
        known[name].apply(value)


def restore(backend: Backend, device: Device) -> None:
    """Have a device that has just opened work by what was set before."""
    known = backend.device_settings(device)
    for name, value in given(device).items():
        known[name].apply(value)
