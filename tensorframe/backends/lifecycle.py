"""The lifecycle of devices: they open when they are used, or when somebody says so, and close when somebody does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tensorframe.backends.registry import backend_of, forget_plans, info_of, named_device
from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.op import find
from tensorframe.graph.region import Region, RegionOp

# elements that a warm-up adds: enough for every part of a device to do something
_ELEMENTS = 1 << 12


def open(device: str | Device, *, warm_up: bool = False) -> Device:
    """Open a device now rather than at its first use, and return it; a device that is open stays open.

    With `warm_up` the device also compiles and runs a small kernel, which loads the compiler ahead of your first one.
    DeviceError if the device is not available, or does not open.

    >>> tfr.backends.open("cpu", warm_up=True)
    Device('cpu')
    """
    place = named_device("open", device)
    backend_of(place).open(place)
    if warm_up:
        _run_something(place)
    return place


def close(device: str | Device) -> None:
    """Close a device: running kernels finish, then its memory, kernels and handles go back to the driver.

    DeviceError if the device is not available. The values of tensors on the device are lost: later uses of these
    tensors raise DeviceError, and so do computations that other threads have begun. The device opens again when it is
    next used. Devices that work in host memory (cpu, numpy, llvm) lose nothing, and return their pooled memory.

    >>> tfr.backends.close("numpy")
    >>> tfr.ones(2, device="numpy").tolist()
    [1.0, 1.0]
    """
    place = named_device("close", device)
    backend = backend_of(place)
    if backend.is_open(place):
        forget_plans()  # kernels of what is about to go
        backend.close(place)
        gc.collect()  # objects of drivers refer to each other


def is_open(device: str | Device) -> bool:
    """Whether a device is open; devices that work in host memory always are. DeviceError if it is not available.

    >>> tfr.backends.is_open("cpu")
    True
    """
    place = named_device("is_open", device)
    return backend_of(place).is_open(place)


@contextmanager
def opened(device: str | Device, *, warm_up: bool = False) -> Iterator[Device]:
    """Return a context manager that opens a device for a block, and closes it at its end, unless it was open before.

    >>> with tfr.backends.opened("numpy") as device:
    ...     print(tfr.ones(2, device=device).tolist())
    [1.0, 1.0]
    """
    before = is_open(device)
    place = open(device, warm_up=warm_up)
    try:
        yield place
    finally:
        if not before:
            close(place)


def _run_something(device: Device) -> None:
    """Compile the sum of two arrays, and run it."""
    backend = backend_of(device)
    dtype = _some_dtype(device)
    shape = (_ELEMENTS,)
    add = RegionOp(find("add"), (), (0, 0), shape, dtype)
    operand = backend.upload(device, np.ones(shape, dtype))
    program = backend.compile(Region(((shape, dtype),), (add,), (1,)), device)
    (handle,) = backend.settle(device, program([operand.handle], [None]))
    backend.download(backend.wrap(device, handle))


def _some_dtype(device: Device) -> DType:
    held = info_of(device).capabilities.dtypes & find("add").accepts
    return min(held, key=lambda dtype: (dtype.kind != "f", dtype.itemsize != 4, dtype.name))
