"""Calibration: how fast each device copies and computes at best, measured once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import methodcaller, neg
from time import perf_counter
from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends.limits import Limits, keep, limits_of
from tensorframe.backends.registry import backend_of, info_of, known_devices, resolve_device
from tensorframe.dtypes import float32
from tensorframe.errors import DeviceError, KernelError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import reason, table
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.runtime.evaluate import plan_of
from tensorframe.runtime.execution.leaves import leaf_handle
from tensorframe.schedule.capture import capture

__all__ = ["Calibration", "calibrate"]

# seconds that runs of one size take, those of a run that is long beside launching it, and how many there are at least
_ENOUGH, _LONG, _FEWEST = 0.3, 2e-3, 3

# Elements of arrays that are copied and read. Of 64 MiB a cache of 32 has a part when they are read again, and two of
# them, which the cores of a virtual machine may have, all of it: on an AMD Zen 4 these gave 72 to 128 GB/s, and 62 from
# 128 MiB on.
_ELEMENTS = (1 << 24, 1 << 26, 1 << 28)
# bytes of an array beyond all caches
_LARGE = 1 << 28
# the part of the free memory that operands and results may take
_PART = 0.25
# rows of a square matrix
_ROWS = (512, 1024, 2048, 4096, 8192)
# multiplications, each with an addition, of a kernel that does little but compute
_ROUNDS = 28


@dataclass(frozen=True, slots=True)
class CalibratedDevice:
    """What came of one device."""

    device: Device
    name: str
    """The maker's name for it."""
    limits: Limits | None
    measured: bool
    """Whether it was measured now, rather than before."""
    problem: str = ""
    """Why it was not measured."""


@dataclass(frozen=True, repr=False)
class Calibration(Page):
    """The devices of a calibration; it prints as a table, and is indexed by device."""

    devices: tuple[CalibratedDevice, ...]

    def __iter__(self) -> Iterator[CalibratedDevice]:
        return iter(self.devices)

    def __getitem__(self, device: str | Device) -> CalibratedDevice:
        return next(calibrated for calibrated in self.devices if calibrated.device == device)

    def __repr__(self) -> str:
        rows = [("device", "found", "copy", "read", "float32", "")]
        return table(rows + [_row(calibrated) for calibrated in self.devices], right={2, 3, 4})


def _row(calibrated: CalibratedDevice) -> tuple[str, ...]:
    if calibrated.limits is None:
        return str(calibrated.device), calibrated.name, "-", "-", "-", calibrated.problem
    limits = calibrated.limits
    return (
        str(calibrated.device),
        calibrated.name,
        f"{limits.copy_bandwidth / 1e9:.3g} GB/s",
        f"{limits.read_bandwidth / 1e9:.3g} GB/s",
        f"{limits.flops / 1e9:.3g} GFLOP/s",
        "" if calibrated.measured else "measured before",
    )


def calibrate(device: str | Device | None = None, *, force: bool = False) -> Calibration:
    """Measure how fast devices copy and compute at best, store the figures on disk, and return them as a table.

    Profiles and plans then show how near each kernel comes to the limits of its device. `copy_bandwidth` counts the
    bytes read and written while a large float32 array is copied, `read_bandwidth` those read while its largest element
    is found. Arrays are larger than caches, 256 MiB or more where the device has room, in memory as the system gives
    it. `flops` is the rate of a matmul of large float32 matrices, or of a kernel of multiplications and additions,
    whichever is higher. The cpu works with all of its threads. Each device takes two or three seconds.
    Figures of an earlier run, for the same device with the same driver, are read from disk unless `force` is true. In a
    table of all devices, a device that fails has its reason in its row.

    DeviceError if `device` is not available. KernelError if the measurement on `device` fails.

    >>> with tfr.config.override(cache_dir=str(folder)):
    ...     found = tfr.calibrate("numpy")
    >>> found["numpy"].limits.copy_bandwidth > 0
    True
    >>> found
    device  found ... float32
    numpy   ... GFLOP/s
    """
    if device is not None:
        named = _calibrated(resolve_device(device), force=force)
        if named.limits is None:
            raise KernelError(f"calibrate: {device} was not measured: {named.problem}")
        return Calibration((named,))
    here = [known for known in known_devices() if not info_of(known).capabilities.chunked]
    return Calibration(tuple([_calibrated(known, force=force) for known in here]))


def _calibrated(device: Device, *, force: bool) -> CalibratedDevice:
    name = info_of(device).name
    known = None if force else limits_of(device)
    if known is not None:
        return CalibratedDevice(device, name, known, measured=False)
    try:
        with config.override(threads=0, validate=False):
            limits = _measured(device)
    except Exception as error:  # whatever a driver does is its own row's matter
        return CalibratedDevice(device, name, None, measured=False, problem=reason(error))
    keep(device, limits)
    return CalibratedDevice(device, name, limits, measured=True)


def _measured(device: Device) -> Limits:
    if float32 not in info_of(device).capabilities.dtypes:
        raise DeviceError(f"{device} has no float32")
    flops = _product(device)
    if not info_of(device).capabilities.host_memory:
        # of the host's engines none is faster than its library; on devices kernels may be
        flops = max(flops, _arithmetic(device))
    copied, read = _bytes(device, neg, 8), _bytes(device, methodcaller("max"), 4)
    return Limits(copy_bandwidth=copied, read_bandwidth=read, flops=flops)


def _bytes(device: Device, function: Callable[[Tensor], Tensor], nbytes: int) -> float:
    """Return the bytes per second of a function that does little but move so many for each element.

    Of memory, not of caches: by arrays that are larger, where the device has room for them.
    """
    sizes = [*_fitting(device, _ELEMENTS, lambda size: nbytes * size)]
    rate = 0.0
    for size in [size for size in sizes if 4 * size >= _LARGE] or sizes[-1:]:
        seconds = _fastest(device, function(_operand(device, (size,))))
        rate = nbytes * size / seconds
        if seconds > _LONG:
            break
    return rate


def _product(device: Device) -> float:
    """Return the operations per second of a product of matrices."""
    best = 0.0
    for rows in _fitting(device, _ROWS, lambda rows: 12 * rows * rows):
        left, right = _operand(device, (rows, rows)), _operand(device, (rows, rows))
        seconds = _fastest(device, left @ right)
        best = max(best, 2 * rows**3 / seconds)
        if seconds > 10 * _LONG:
            break
    return best


def _arithmetic(device: Device) -> float:
    """Return the operations per second of a kernel that does much with what it reads."""
    size = _ELEMENTS[0]
    operand = _operand(device, (size,))
    value = operand
    for _ in range(_ROUNDS):
        value = value * operand + operand
    return 2 * _ROUNDS * size / _fastest(device, value)


def _fitting(device: Device, sizes: Sequence[int], nbytes: Callable[[int], int]) -> Iterator[int]:
    """Yield the sizes that the device has room for, the first one in any case."""
    info = info_of(device)
    free, most = info.free_memory, info.max_buffer
    for index, size in enumerate(sizes):
        if index and (free is None or nbytes(size) > min(_PART * free, most or free)):
            return
        yield size


def _operand(device: Device, shape: tuple[int, ...]) -> Tensor:
    """Return numbers that neither grow nor vanish when multiplied."""
    values = np.random.default_rng(0).random(shape, np.float32)
    return asarray(values, device=device).compute()


def _fastest(device: Device, result: Tensor) -> float:
    """Return the seconds of the fastest of several runs, whose result goes into the same memory where it can."""
    request = capture([result.node])
    plan = plan_of(request)
    (step,) = plan.steps
    backend = backend_of(device)
    run = backend.compile(step.region, device)
    inputs = [leaf_handle(leaf) for leaf in request.leaves]
    inputs = [inputs[slot] for slot in step.inputs]
    buffers: Sequence[Any | None] = (None,)
    best, spent, runs = float("inf"), 0.0, 0
    while runs < _FEWEST or spent < _ENOUGH:
        began = perf_counter()
        results = run(inputs, buffers)
        backend.synchronize(device)
        seconds = perf_counter() - began
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
        if info_of(device).capabilities.host_memory:
            buffers = results
        del results
    return best
