"""DLPack import: memory of other libraries as NumPy arrays, bfloat16 included."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from tensorframe.errors import ArgumentError, DeviceError
from tensorframe.frontend.protocols.dlpack_capsule import BFLOAT, UNSIGNED, dtype_in

Array = np.ndarray[Any, Any]

# kDLCPU and kDLCUDAHost (pinned): memory that the host can read
HOST_TYPES: Final = frozenset({1, 3})


class _Words:
    """An exporter of bfloat16 passed off as one of 16-bit words, since NumPy's importer knows no bfloat16."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.owner.__dlpack__(**options)
        dtype = dtype_in(capsule)
        if (dtype.code, dtype.bits, dtype.lanes) != (BFLOAT, 16, 1):
            raise BufferError(
                f"no NumPy dtype for DLPack dtype code {dtype.code}, {dtype.bits} bits"
            )
        dtype.code = UNSIGNED
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def dlpack_device(x: Any) -> tuple[int, int]:
    """Return the type and number of the device that an exporter names; DeviceError if it names none."""
    try:
        kind, index = x.__dlpack_device__()
        return int(kind), int(index)
    except Exception as error:  # whatever another library's method raises
        raise DeviceError(
            f"from_dlpack: __dlpack_device__ of a {type(x).__name__} gives no pair of integers: {error}",
            suggestions=("report it to the library that the object is of",),
        ) from error


def adopt(x: Any, *, copy: bool | None) -> Array:
    """Return the elements of a DLPack exporter as an array in host memory, sharing it where `copy` is not True."""
    shared = False if copy is False else None
    try:
        return _import(x, shared)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if copy is False:
            raise ArgumentError(
                f"copy=False: from_dlpack: {error}", suggestions=("leave copy out",)
            ) from error
        hint = "copy it to host memory with its own library first"
        raise DeviceError(f"from_dlpack: {error}", suggestions=(hint,)) from error


def _import(x: Any, copy: bool | None) -> Array:
    options: dict[str, Any] = {} if dlpack_device(x)[0] in HOST_TYPES else {"device": "cpu"}
    try:
        return np.from_dlpack(x, copy=copy, **options)
    except (BufferError, RuntimeError):
        return np.from_dlpack(_Words(x), copy=copy, **options).view(ml_dtypes.bfloat16)
