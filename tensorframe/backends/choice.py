"""Choice: the device that has room for what somebody wants to do, and what its own library calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tensorframe.backends.base import DeviceInfo
from tensorframe.backends.registry import (
    backend_of,
    capabilities,
    info_of,
    named_device,
    resolve_device,
)
from tensorframe.backends.selection import (
    Passed,
    as_bytes,
    backend_priority,
    candidates,
    family,
    first_fit,
    order_in_words,
    too_small,
)
from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.graph.device import Device


@runtime_checkable
class Takes(Protocol):
    """What says how much memory a computation takes on each device: an `Estimate`."""

    @property
    def peak(self) -> Mapping[Device, int]:
        """The most bytes at once."""


class Computes(Protocol):
    """What says how much a computation reads, writes and computes: an `Estimate`."""

    @property
    def bytes_read(self) -> int:
        """Bytes that it reads."""

    @property
    def bytes_written(self) -> int:
        """Bytes that it writes."""

    @property
    def flops(self) -> float:
        """Operations."""


@runtime_checkable
class Totals(Protocol):
    """What says how much memory a model takes in all: what `nn.estimate_memory` returns."""

    @property
    def total(self) -> int:
        """The bytes."""


def select(
    name: str | Device | Sequence[str | Device] = "auto",
    *,
    memory: int | str | Takes | Totals | None = None,
    fastest_for: Computes | None = None,
) -> Device:
    """Return the device to use: the first with room for `memory`, in bytes, as text ("4GiB"), or as an estimate.

    For an estimate of `tfr.estimate`, `memory` is the sum of its peaks over all devices, since one device has to hold
    everything; for one of `nn.estimate_memory`, it is the total.

    "auto" tries the devices in the order of `set_backend_priority`, a list of devices in its own order. Devices that
    are not available, or too small, are skipped. Room is the memory that is free at the moment; a device that cannot
    report it (WebGPU cannot) counts as large enough. With `fastest_for`, an estimate, the result is the device with the
    shortest predicted time by the figures of `tfr.calibrate`; devices that were not measured are skipped.

    DeviceError if no device is left; the error has the reason for each. ArgumentError if `name` is not a device or a
    list of devices, or `fastest_for` is not an estimate.

    >>> tfr.backends.select("cpu", memory="1 MiB")
    Device('cpu')
    >>> x = tfr.ones((1000, 1000))
    >>> tfr.backends.select("cpu", memory=tfr.estimate(x @ x))
    Device('cpu')
    >>> tfr.backends.select("cpu", memory="1000 TiB")
    Traceback (most recent call last):
    tensorframe.errors.DeviceError: no device of cpu with 1000 TiB (cpu: ... free)
    ...
    """
    wanted = as_bytes(_bytes_of(memory))
    again = wanted is not None  # what is free changes
    if isinstance(name, str | Device) and name == "auto":
        passed = candidates(backend_priority(), again=again)
        return _taken(passed, wanted, order_in_words(), fastest_for)
    names = _listed(name)
    if len(names) == 1:
        named_device("select", names[0])  # the error of a single device says more
    listed = ", ".join(map(str, names))
    return _taken(_each(names, again=again), wanted, listed, fastest_for)


def _taken(
    offered: Iterator[DeviceInfo | Passed], memory: int | None, what: str, work: Computes | None
) -> Device:
    """Return the first device with room, or of those with room the one that computes `work` soonest."""
    if work is None:
        return first_fit(offered, memory, what).device
    if not hasattr(work, "flops"):
        hint = "fastest_for=tfr.estimate(tensor)"
        raise ArgumentError(
            f"select: fastest_for takes an estimate, got {work!r:.80}", suggestions=(hint,)
        )
    return first_fit(_soonest_first(offered, memory, work), memory, what).device


def _soonest_first(
    offered: Iterator[DeviceInfo | Passed], memory: int | None, work: Computes
) -> Iterator[DeviceInfo | Passed]:
    from tensorframe.backends.limits import seconds  # loads what only measuring needs

    timed: list[tuple[float, int, DeviceInfo]] = []
    for place, candidate in enumerate(offered):
        if isinstance(candidate, Passed) or too_small(candidate, memory) is not None:
            yield candidate
            continue
        device = candidate.device
        time = seconds(device, work.bytes_read + work.bytes_written, work.flops)
        if time is None:
            yield Passed(str(device), f"not measured: tfr.calibrate({str(device)!r})")
        else:
            timed.append((time, place, candidate))
    yield from [info for _, _, info in sorted(timed, key=lambda entry: entry[:2])]


def _bytes_of(memory: Any) -> Any:
    if isinstance(memory, Takes):
        return sum(memory.peak.values())
    return memory.total if isinstance(memory, Totals) else memory


def _listed(names: str | Device | Iterable[str | Device]) -> list[str | Device]:
    """Return the devices to go through; ArgumentError for none."""
    if isinstance(names, str | Device):
        return [names]
    listed = list(names) if isinstance(names, Iterable) else []
    if not listed:
        raise ArgumentError(
            f"select: takes the name of a device, or a list of names, got {names!r:.80}",
            suggestions=("'auto'", "['cuda:0', 'cuda:1', 'cpu']"),
        )
    return listed


def _each(names: Sequence[str | Device], *, again: bool) -> Iterator[DeviceInfo | Passed]:
    for name in names:
        try:
            known = info_of(named_device("select", name))
        except DeviceError as error:
            yield Passed(str(name), error.message)
            continue
        current = family(known.device.backend, again=again)
        yield next((info for info in current.devices if info.device is known.device), known)


def native_device(device: str | Device) -> Any:
    """Return what makes memory for a device in its own library: what `tfr.from_native` takes, was made with it.

    A `pyopencl.CommandQueue` (with its `context`), a `wgpu.GPUDevice`, a `cupy.cuda.Device`. What is given to that
    queue, or that device's queue, runs in one order with what tensorframe gives it. DeviceError for a device that works
    in host memory, where NumPy makes arrays.

    >>> tfr.backends.native_device("cpu")
    Traceback (most recent call last):
    tensorframe.errors.DeviceError: native_device: cpu works in host memory
    ...
    """
    place = named_device("native_device", device)
    native = backend_of(place).native_device(place)
    if native is None:
        kind = "works in host memory" if capabilities(place).host_memory else "has none"
        raise DeviceError(f"native_device: {place} {kind}", suggestions=("a NumPy array",))
    return native


def best() -> Device:
    """Return the device that "auto" means: the first that is here, in the order of `set_backend_priority`.

    >>> with tfr.use_backend(tfr.backends.best()):
    ...     total = tfr.sum(tfr.arange(10)).item()
    >>> total
    45
    """
    return resolve_device("auto")
