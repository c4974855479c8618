"""Memory: how much tensorframe may take on each device, what it has taken, and what gives some of it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tensorframe.backends.budget import Budget, Callback, Pressure
from tensorframe.backends.registry import backend_of, capabilities, get_backend, named_device
from tensorframe.backends.selection import as_bytes, show_bytes
from tensorframe.backends.shortage import watch
from tensorframe.errors import ArgumentError, DeviceError, OutOfRangeError
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.graph.device import Device

__all__ = [
    "DeviceMemory",
    "MemoryLimit",
    "MemoryStatistics",
    "Pressure",
    "limit",
    "on_pressure",
    "reset_peak",
    "stats",
    "trim",
]


class MemoryLimit:
    """What `limit` returns: the limit is set already; as a context manager, until the block ends.

    `nbytes` is the limit, None for what the machine gives.
    """

    __slots__ = ("_before", "_budget", "device", "nbytes")

    def __init__(self, device: Device, budget: Budget, nbytes: int | None) -> None:
        self.device = device
        self.nbytes = nbytes
        self._budget = budget
        self._before = budget.set(nbytes)

    def __enter__(self) -> MemoryLimit:
        self._budget.begin(self, self.nbytes)
        self._budget.set(self._before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._budget.end(self)

    def __repr__(self) -> str:
        size = "what the machine gives" if self.nbytes is None else show_bytes(self.nbytes)
        return f"<limit of memory on {self.device}: {size}>"


def limit(size: int | str | None, *, device: str | Device | None = None) -> MemoryLimit:
    """Set how many bytes tensorframe may take on a device, from now on or for a `with` block.

    A plan that needs more runs tile by tile where it can. Otherwise it raises OutOfMemoryError before its first step:
    nothing is computed, and no tensor changes. On the host, all private memory of the process counts, including the
    interpreter and arrays of other libraries; cpu, numpy and llvm have one limit, and so has dask while its tasks run
    in this process. On other devices, the memory of tensors counts, and memory that is pooled for later ones.

    Parameters
    ----------
    size
        Bytes, or text such as "4 GiB" or "512 MB". None, the default, is the limit of the machine: the least of the
        memory that the operating system or the driver has left, control groups (of containers and jobs), RLIMIT_AS and
        RLIMIT_DATA, and the memory that Slurm or Grid Engine gave the job.
    device
        The device, or its name; None for the default device.

    Returns
    -------
    MemoryLimit
        A context manager: the limit ends with its block. Where several blocks are open on the device, in any thread,
        the smallest limit applies, since memory belongs to the process.

    Raises
    ------
    ArgumentError
        If `size` is not an amount of memory, or is negative.
    OutOfRangeError
        If `size` is not more than the memory already in use.
    DeviceError
        If the device is not available, has no memory of its own to limit, or is dask with tasks in other processes.

    Examples
    --------
    >>> x = tfr.ones((4000, 4000)).compute()
    >>> with tfr.memory.limit("100 TiB"):
    ...     total = tfr.sum(x * 2).item()
    >>> total
    32000000.0
    >>> tfr.memory.limit("lots")
    Traceback (most recent call last):
    tensorframe.errors.ArgumentError: limit: 'lots' is no amount of memory
    ...

    """
    place, budget = _budget_of("limit", device)
    try:
        nbytes = as_bytes(size)
    except ArgumentError as error:
        raise ArgumentError(f"limit: {error.message}", suggestions=error.suggestions) from None
    if nbytes is not None:
        _check_size(nbytes, place, budget)
    return MemoryLimit(place, budget, nbytes)


def _check_size(nbytes: int, device: Device, budget: Budget) -> None:
    """Raise OutOfRangeError unless there is room for something within a limit."""
    used = budget.held()
    if nbytes <= used:
        budget.trim()
        used = budget.held()
    if nbytes <= used:
        what = "this process has" if device_is_host(device) else "tensors have"
        raise OutOfRangeError(
            f"limit: {show_bytes(nbytes)} on {device}, where {what} {show_bytes(used)} already",
            suggestions=(f"more than {used}", "del tensors that are not needed any more"),
        )


def device_is_host(device: Device) -> bool:
    """Whether a device works in host memory."""
    return backend_of(device).budget(device) is _host()


def _host() -> Budget:
    from tensorframe.backends.host_pool import pool

    return pool.budget


def _budget_of(call: str, device: str | Device | None) -> tuple[Device, Budget]:
    place = get_backend() if device is None else named_device(call, device)
    budget = backend_of(place).budget(place)
    if budget is None:
        raise _without_budget(call, place)
    return place, budget


def _without_budget(call: str, place: Device) -> DeviceError:
    """Return the error for a device of whose memory this process does not decide."""
    if capabilities(place).chunked:
        return DeviceError(
            f"{call}: tasks of {place} run in other processes, which have memory of their own",
            suggestions=(
                'LocalCluster(memory_limit="4 GiB"), or `dask worker --memory-limit`: of each worker',
                "client.dashboard_link: a page with the memory of workers",
            ),
        )
    return DeviceError(
        f"{call}: {place} does not tell of its memory",
        suggestions=("a device that computes: tfr.backends.available() lists them",),
    )


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The memory of one device, in bytes, as tensorframe uses it.

    It has the memory that tensors use, the memory that is pooled, the peak since `reset_peak`, and
    counts of requests.
    """

    device: Device
    """On the host, cpu stands for all devices that share its memory."""
    in_use: int
    """Memory of tensors in blocks of the pool; on the host, small arrays and results of NumPy's functions have none."""
    pooled: int
    """Memory that is pooled for later tensors: `trim` returns it."""
    peak: int
    """The most that was in use at once, since the beginning or since `reset_peak`."""
    counted: int
    """Memory that counts towards the limit: on the host all private memory of the process, without pooled memory."""
    limit: int | None
    """The limit that `limit` set, else the memory in use plus what the machine has left; None if unknown."""
    allocations: int
    """How often a block was allocated by the system or the driver."""
    hits: int
    """How often a pooled block was reused instead."""
    refusals: int
    """How many plans and blocks were refused because they did not fit."""


@dataclass(frozen=True, repr=False)
class MemoryStatistics(Page):
    """The memory of the devices in use; it prints as a table, and is indexed by device."""

    devices: tuple[DeviceMemory, ...]

    def __iter__(self) -> Iterator[DeviceMemory]:
        return iter(self.devices)

    def __getitem__(self, device: str | Device) -> DeviceMemory:
        _, budget = _budget_of("stats", device)
        name = budget.name
        known = [row for row in self.devices if str(row.device) == name]
        return known[0] if known else _row(budget)

    def __repr__(self) -> str:
        from tensorframe.frontend.diagnostics.tables import table

        heads = ("device", *HEADS)
        return table([heads, *map(cells, self.devices)], right=set(range(1, len(heads))))


# what a table says of a device
HEADS = ("in use", "pooled", "peak", "counted", "limit", "allocations", "hits", "refusals")


def cells(row: DeviceMemory) -> tuple[str, ...]:
    """Return a row of the table."""
    sizes = [row.in_use, row.pooled, row.peak, row.counted, row.limit]
    counts = [row.allocations, row.hits, row.refusals]
    shown = ["-" if size is None else show_bytes(size) for size in sizes]
    return (str(row.device), *shown, *map(str, counts))


def stats() -> MemoryStatistics:
    """Return how much memory tensorframe uses, on the host and on every device in use.

    >>> before = tfr.memory.stats()["cpu"].in_use
    >>> x = (tfr.arange(4_000_000) * 3).compute()
    >>> tfr.memory.stats()["cpu"].in_use - before >= x.nbytes
    True
    >>> tfr.memory.stats()
    device ... refusals
    cpu ...
    """
    return MemoryStatistics(tuple(map(_row, _in_use())))


def _in_use() -> list[Budget]:
    """Return the budgets of the host and of all devices that are open, by name."""
    budgets = {"cpu": _host()}
    import sys

    devices = sys.modules.get("tensorframe.backends.device.memory")  # else none is open
    if devices is not None:
        budgets |= {pool.name: pool.budget for pool in list(devices.pools) if pool.name}
    return [budgets[name] for name in sorted(budgets, key=lambda name: (name != "cpu", name))]


def _row(budget: Budget) -> DeviceMemory:
    counts: Any = budget.statistics
    return DeviceMemory(
        device=Device(budget.name),
        in_use=counts.in_use,
        pooled=counts.pooled,
        peak=counts.peak,
        counted=budget.held(),
        limit=budget.limit(),
        allocations=counts.allocations,
        hits=counts.hits,
        refusals=budget.refusals,
    )


def _meant(call: str, device: str | Device | None) -> list[Budget]:
    return _in_use() if device is None else [_budget_of(call, device)[1]]


def trim(device: str | Device | None = None) -> int:
    """Return memory that is pooled for later tensors to the system or the driver, and return the number of bytes.

    It concerns one device, or all devices in use. Memory of tensors stays. On the host, free memory in the heaps of the
    C library is returned as well (glibc only); it was not pooled, so the result does not count it. DeviceError if the
    device is not available.

    >>> x = tfr.ones((2000, 2000)).compute() * 3
    >>> x = x.compute()
    >>> del x
    >>> tfr.memory.trim("cpu") >= 0, tfr.memory.stats()["cpu"].pooled
    (True, 0)
    """
    given = 0
    for budget in _meant("trim", device):
        before = budget.statistics.pooled
        budget.trim()
        given += before - budget.statistics.pooled
    return max(given, 0)


def reset_peak(device: str | Device | None = None) -> None:
    """Reset `stats().peak` to the memory in use now, on one device or on all devices in use.

    DeviceError if the device is not available.

    >>> tfr.memory.reset_peak("cpu")
    >>> row = tfr.memory.stats()["cpu"]
    >>> row.peak == row.in_use
    True
    """
    for budget in _meant("reset_peak", device):
        budget.statistics.peak = budget.statistics.in_use


def on_pressure(callback: Callback) -> Callable[[], None]:
    """Register a function that frees memory when memory runs short; return a function that removes it again.

    `callback` is called with a `Pressure` (`memory`, `needed` and `room`) in two cases: before a plan or an allocation
    is refused, in the thread that computes; and when the memory of the host, or of the control group, is nearly used
    up, in a thread of its own and with `needed` zero. Memory that it frees is available to the waiting plan. In
    the first case its exceptions are raised by the computation. ArgumentError if `callback` is not callable.

    >>> cache = {"recent": tfr.ones(1000)}
    >>> forget = tfr.memory.on_pressure(lambda pressure: cache.clear())
    >>> forget()
    """
    if not callable(callback):
        raise ArgumentError(
            f"on_pressure: takes a function of one argument, got {type(callback).__name__}",
            suggestions=("on_pressure(lambda pressure: cache.clear())",),
        )
    return watch().add(callback)
