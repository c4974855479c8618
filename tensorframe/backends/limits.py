"""Limits: how fast a device copies and multiplies at best, as `tfr.calibrate()` measured it, cached on disk.

A file per device lies beside the compiled kernels. It is found by what the device, its driver and the processor are
called, so another driver or another machine on the same disk is measured anew. As with kernels, nothing here ever
fails: a file that cannot be read, or is not what was written, is a device that was not measured.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from tensorframe.backends import objects, own_files
from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.numpy.threads import core_count
from tensorframe.backends.registry import forget_plans, info_of
from tensorframe.digests import sha256
from tensorframe.errors import DeviceError
from tensorframe.graph.device import Device
from tensorframe.quick_dataclasses import dataclass

_SUFFIX = ".limits.json"
_LARGEST = 1 << 16  # bytes of such a file
# of what is measured: raised when numbers of before no longer compare with those of now
_VERSION = 3


@dataclass(frozen=True)
class Limits:
    """What a device does at best."""

    copy_bandwidth: float
    """Bytes per second of a large copy, those read and those written."""
    read_bandwidth: float
    """Bytes per second of a reduction of a large array, which writes next to nothing."""
    flops: float
    """Float32 operations per second."""

    def seconds_of_bytes(self, read: float, written: float) -> float:
        """Return the time that it takes at best to read and write so many bytes.

        What a byte written takes is what a copy takes beside its reading.
        """
        for_each_read = 1 / self.read_bandwidth
        for_each_written = max(2 / self.copy_bandwidth - for_each_read, 0.0)
        return read * for_each_read + written * for_each_written


# of the devices in use: what a profile needs for each of its rows
_known: dict[tuple[str, str], Limits | None] = {}


def limits_of(device: Device | str) -> Limits | None:
    """Return what is kept of a device; None where it was not measured, or is not here. Nothing is measured."""
    identity = identity_of(Device(device))
    if identity is None:
        return None
    key = (objects.folder() or "", identity)
    if _known.get(key) is None:
        _known[key] = _read(identity)
    return _known[key]


def calibrated(info: DeviceInfo) -> DeviceInfo:
    """Return what is known of a device with what was measured of it, if it was."""
    limits = limits_of(info.device)
    if limits is None:
        return info
    return replace(info, bandwidth=limits.copy_bandwidth, flops=limits.flops)


def seconds(device: Device, nbytes: float, flops: float) -> float | None:
    """Return the time that a device takes at best for so many bytes and operations; None if it was not calibrated."""
    limits = limits_of(device)
    if limits is None:
        return None
    return max(nbytes / limits.copy_bandwidth, flops / limits.flops)


def keep(device: Device, limits: Limits) -> None:
    """Keep what was measured, on disk where there is a place for it, and until the process ends in any case."""
    identity = identity_of(device)
    if identity is None:
        return
    _known[objects.folder() or "", identity] = limits
    forget_plans()
    store(identity, _SUFFIX, {"version": _VERSION, **asdict(limits)})


def store(identity: str, suffix: str, content: dict[str, Any]) -> None:
    """Write what is known of a device beside the compiled kernels, where there is a place for it."""
    path = _path(identity, suffix)
    if path is None:
        return
    import json  # nobody who does not measure should load it

    with suppress(OSError):  # a disk that is full or cannot be written
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        own_files.replace(path, json.dumps({"identity": identity, **content}, indent=1).encode())


def stored(identity: str, suffix: str) -> dict[str, Any] | None:
    """Return what `store` wrote of this very device; None where there is nothing, or something else."""
    path = _path(identity, suffix)
    if path is None or not os.path.exists(path):
        return None
    import json

    try:
        content = json.loads(own_files.read(path, _LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    known = isinstance(content, dict) and content.get("identity") == identity
    return content if known else None


def _read(identity: str) -> Limits | None:
    content = stored(identity, _SUFFIX)
    try:
        return None if content is None else _checked(content)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def _checked(stored: dict[str, Any]) -> Limits | None:
    if stored["version"] != _VERSION:
        return None
    limits = Limits(*[float(stored[field.name]) for field in fields(Limits)])
    sound = all(isfinite(rate) and rate > 0 for rate in asdict(limits).values())
    return limits if sound else None


def _path(identity: str, suffix: str) -> str | None:
    where = objects.folder()
    if where is None or own_files.problem(where) is not None:
        return None
    return os.path.join(where, sha256(identity.encode()).hexdigest()[:32] + suffix)


def identity_of(device: Device) -> str | None:
    """Return what identifies a device, in words; None where it is not here or computes nothing."""
    try:
        info = info_of(device)
    except DeviceError:
        return None
    if not info.capabilities.executes:
        return None
    return " | ".join((str(device), info.name, info.driver, info.api, _processor()))


@cache
def _processor() -> str:
    """Return the processor's name, and how many of its cores this process may use."""
    import platform

    name = platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {core_count()} cores"
