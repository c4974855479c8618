"""Devices: the name of a backend and the index of one of its devices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import ClassVar

from tensorframe.errors import DeviceError

_PATTERN = re.compile(r"(?P<backend>[a-z][a-z0-9_]*)(?::(?P<index>[0-9]{1,9}))?\Z")


# names that people know backends by, beside their own
ALIASES = {"numba": "llvm"}


class Device:
    """Where a tensor lives: `Device("cpu")`, `Device("cuda:1")`.

    Equal devices are one object, so nodes compare them with `is`. A device is a name: whether it exists is
    the business of the backend registry.

    >>> tfr.Device("cpu") == tfr.Device("cpu", 0)
    True
    >>> tfr.Device("numba")  # an alias
    Device('llvm')
    """

    __slots__ = ("_hash", "backend", "index", "number")

    backend: str
    index: int
    number: int  # which of all devices that were named: stands for the device where keys are hashed often
    _hash: int
    _known: ClassVar[dict[tuple[str, int], Device]] = {}
    _numbers: ClassVar[Iterator[int]] = count()

    def __new__(cls, name: str | Device, index: int | None = None) -> Device:
        if isinstance(name, Device):
            return name
        match = _PATTERN.match(name) if isinstance(name, str) else None
        if match is None:
            raise DeviceError(
                f"{name!r} is not a device",
                suggestions=(
                    'a name such as "cpu" or "cuda:0"',
                    "tfr.backends.available() lists them",
                ),
            )
        number = int(match["index"] or 0) if index is None else _checked(match, index)
        key = (backend_called(match["backend"]), number)
        device = cls._known.get(key)
        if device is None:
            device = super().__new__(cls)
            object.__setattr__(device, "backend", key[0])
            object.__setattr__(device, "index", number)
            object.__setattr__(device, "number", next(cls._numbers))
            object.__setattr__(device, "_hash", hash(str(device)))
            # setdefault: of two threads that make the same device, both keep the first one's
            device = cls._known.setdefault(key, device)
        return device

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Device is immutable: cannot set {name}")

    def __reduce__(self) -> tuple[type[Device], tuple[str, int]]:
        return (Device, (self.backend, self.index))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self is Device(other) if _PATTERN.match(other) else False
        return self is other

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.backend}:{self.index}" if self.index else self.backend

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"


def backend_called(name: str) -> str:
    """Return the name of the backend that is called `name`: its own, where that is an alias."""
    return ALIASES.get(name, name)


def _checked(name: re.Match[str], index: object) -> int:
    """Return the index that stands beside a name; DeviceError if it is none, or the name has another."""
    if type(index) is not int or index < 0:
        raise DeviceError(
            f"the index of a device is a number from 0 on, got {index!r}",
            suggestions=(f"Device({name['backend']!r}, 1)",),
        )
    if name["index"] is not None and int(name["index"]) != index:
        raise DeviceError(
            f"{name[0]!r} has an index already, and {index} is another",
            suggestions=(f"Device({name['backend']!r}, {index})",),
        )
    return index


CPU = Device("cpu")
