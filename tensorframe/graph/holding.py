"""Holding: which dtypes a device has room for, and where tensors of the others live instead.

Every device holds bool, and the parts of complex numbers where it holds these; so ops that compute in the dtype of
their operands need not ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from tensorframe.dtypes import ANY, DType
from tensorframe.errors import DTypeError
from tensorframe.graph.device import CPU, Device
from tensorframe.quick_dataclasses import dataclass


@dataclass(slots=True)
class _DTypeSupport:
    """Who knows what devices hold, and who says so where a result lives elsewhere; see `set_dtype_support`."""

    held: Callable[[Device], frozenset[DType]] = lambda _: ANY
    leave: Callable[[str, DType, Device], Device] = lambda *_: CPU


_support: Final = _DTypeSupport()


def set_dtype_support(
    held: Callable[[Device], frozenset[DType]], leave: Callable[[str, DType, Device], Device]
) -> None:
    """Set who knows the dtypes that a device holds, and who decides where an op's result lives that it cannot hold."""
    _support.held, _support.leave = held, leave


def holds(device: Device, dtype: DType) -> bool:
    """Whether the device can hold elements of a dtype."""
    return device is CPU or dtype in _support.held(device)


def holder(device: Device, dtype: DType, name: str) -> Device:
    """Return where the result of the op `name` lives: `device`, or another one if that cannot hold the dtype."""
    if device is CPU or dtype in _support.held(device):
        return device
    return _support.leave(name, dtype, device)


_NARROWER: Final[dict[DType, DType]] = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}


def default_on(device: Device, dtype: DType) -> DType:
    """Return the dtype of Python numbers on a device: `dtype`, or its half where the device holds only that."""
    if holds(device, dtype):
        return dtype
    narrow = _NARROWER.get(dtype, dtype)
    return narrow if holds(device, narrow) else dtype


def require(name: str, device: Device, dtype: DType) -> None:
    """Raise DTypeError if a tensor of `dtype` is to be made on a device that cannot hold it."""
    if holds(device, dtype):
        return
    narrow = default_on(device, dtype)
    hints = [f"dtype={narrow.name!r}, which it holds"] if narrow != dtype else []
    hints.append('device="cpu", which holds every dtype: results move as they are needed')
    raise DTypeError(f"{name}: {device} holds no {dtype.name}", suggestions=hints)
