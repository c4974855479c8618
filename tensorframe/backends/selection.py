"""Selection: the device that `"auto"` means, and the first of several that has enough memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.entries import (
    ELSEWHERE,
    INTERFACES,
    entries,
    entry_of,
    loaded,
    warn_once,
)
from tensorframe.backends.probing import Found, probed
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.graph.device import backend_called
from tensorframe.quick_tuples import NamedTuple

# fastest first, as far as that is known without measuring; plug-ins say where they stand among these
BUILT_IN_PRIORITY = {"cuda": 600, "rocm": 500, "metal": 400, "opencl": 300, "wgpu": 200, "cpu": 100}
PRIORITY = tuple(BUILT_IN_PRIORITY)

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_BYTES = (
    r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kmgt]?i?)b?\s*\Z"  # compiled when it is first needed
)


class _State:
    """The order that `set_backend_priority` set; None is the built-in one."""

    order: tuple[str, ...] | None = None


def set_backend_priority(names: Sequence[str] | None) -> None:
    """Say in which order `"auto"` looks for a device: names of backends, the first choice first.

    "vulkan", "metal", "dx12" and "gl" stand for the wgpu adapters of that interface. None is the built-in order: cuda,
    rocm, metal, opencl, wgpu, cpu, and plug-ins where their priority puts them. Devices that run on the processor what
    was written for a GPU (PoCL, llvmpipe) are never chosen automatically. ArgumentError for a name that no backend has.
    The default device stays the cpu, unless `set_backend("auto")`, `use_backend` or TENSORFRAME_BACKEND says otherwise.

    >>> tfr.set_backend_priority(["numpy"])
    >>> tfr.backends.best()
    Device('numpy')
    >>> tfr.set_backend_priority(None)
    """
    if isinstance(names, str):
        raise ArgumentError(
            f"set_backend_priority: takes a list of names, got {names!r}",
            suggestions=(f"set_backend_priority([{names!r}])",),
        )
    if names is None:
        _State.order = None
        return
    order = tuple(names)
    for name in order:
        if not isinstance(name, str) or (name not in INTERFACES and entry_of(name) is None):
            from tensorframe.backends.spelling import meant  # only errors need it

            hint = "names such as 'cuda', 'opencl' or 'cpu', without an index"
            guesses = meant(name, [*PRIORITY, *INTERFACES])
            raise ArgumentError(
                f"set_backend_priority: there is no backend {name!r}", suggestions=(*guesses, hint)
            )
    if not order:
        raise ArgumentError("set_backend_priority: the list is empty", suggestions=("['cpu']",))
    _State.order = tuple(map(backend_called, order))


def backend_priority() -> tuple[str, ...]:
    """Return the order in which `"auto"` looks for a device: the one that was set, or that of priorities.

    To know those of plug-ins, these are loaded.
    """
    return _State.order or _by_priority()


def _by_priority() -> tuple[str, ...]:
    priorities = dict(BUILT_IN_PRIORITY)
    for entry in entries():
        if entry.origin and loaded(entry) is None:
            continue
        if entry.about is not None and entry.about.priority is not None:
            priorities.setdefault(entry.name, entry.about.priority)
    # of equal ones what this package brings comes first
    return tuple(sorted(priorities, key=lambda name: -priorities[name]))


def order_in_words() -> str:
    """Return the order in which `"auto"` looks, for messages."""
    return f"the order {', '.join(backend_priority())}"


def family(name: str, *, again: bool = False) -> Found:
    """Return what is found under a backend's name, or of a graphics interface, with a warning if a plug-in fails.

    The answer is that of the first time, unless the backend shall look `again`.
    """
    spellings = INTERFACES.get(name)
    entry = entry_of("wgpu" if spellings else name)
    if entry is None:
        return Found(name, (), "no package here brings a backend of this name")
    probe = probed(entry, again=again)
    if probe.failed:
        warn_once(entry, probe.reason)
    if spellings is None:
        return probe
    own = tuple([info for info in probe.devices if info.api.lower() in spellings])
    return Found(name, own, "" if own else _no_interface(name, probe), probe.origin, probe.failed)


def _no_interface(name: str, probe: Found) -> str:
    """Return why no adapter of wgpu has a graphics interface."""
    system, reason = ELSEWHERE.get(name, (sys.platform, ""))
    if sys.platform != system:
        return reason
    return probe.reason or f"no adapter here has the interface {name}"


class Passed(NamedTuple):
    """A device or backend that is not chosen, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def candidates(order: Sequence[str], *, again: bool = False) -> Iterator[DeviceInfo | Passed]:
    """Yield the devices that `"auto"` may choose in turn, and between them what it passes over."""
    for name in order:
        probe = family(name, again=again)
        if not probe.devices:
            yield Passed(name, probe.reason)
        for info in probe.devices:
            if info.software:
                yield Passed(str(info.device), f"{info.name} is software, taken only by name")
            elif not info.capabilities.executes:
                yield Passed(str(info.device), "it makes plans only")
            else:
                yield info


def first_fit(offered: Iterator[DeviceInfo | Passed], memory: int | None, what: str) -> DeviceInfo:
    """Return the first device with enough memory; DeviceError says why each one is not."""
    passed = []
    for candidate in offered:
        if isinstance(candidate, Passed):
            passed.append(candidate)
        elif (reason := too_small(candidate, memory)) is not None:
            passed.append(Passed(str(candidate.device), reason))
        else:
            return candidate
    wanted = f" with {show_bytes(memory)}" if memory is not None else ""
    listed = "; ".join(map(str, passed))
    hints = ["tfr.doctor(), which says what each device needs"]
    if memory is not None:
        hints.append("less memory: smaller parts of the data, or a smaller dtype")
    raise DeviceError(f"no device of {what}{wanted} ({listed})", suggestions=hints)


def too_small(info: DeviceInfo, memory: int | None) -> str | None:
    """Return why a device has no room for `memory` bytes; None if it has, or cannot be queried."""
    room = room_of(info)
    if memory is None or room is None or memory <= room:
        return None
    return f"{show_bytes(room)} {'free' if info.free_memory is not None else 'in all'}"


def room_of(info: DeviceInfo) -> int | None:
    """Return how many bytes a device has room for; None where neither it nor its driver reports it."""
    if info.free_memory is not None:
        return info.free_memory
    if info.unified_memory:  # the host's, of which a driver may report only the size
        from tensorframe.backends import host_memory  # importing the package asks nobody

        known = [size for size in (host_memory.available(), info.total_memory) if size is not None]
        return min(known, default=None)
    return info.total_memory


def as_bytes(memory: int | str | None) -> int | None:
    """Return a number of bytes that is given as such or as text: "4GiB", "512 MB"; ArgumentError if it is neither."""
    if memory is None:
        return None
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= 0:
        return memory
    match = re.match(_BYTES, memory, re.IGNORECASE) if isinstance(memory, str) else None
    unit = match["unit"].lower() if match else ""
    if match is None or unit not in _UNITS:
        raise ArgumentError(
            f"{memory!r} is no amount of memory",
            suggestions=("a number of bytes, or text such as '4GiB' or '512 MB'",),
        )
    return int(float(match["number"]) * _UNITS[unit])


def show_bytes(count: int) -> str:
    """Return a number of bytes as people read it."""
    size, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
