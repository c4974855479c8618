"""DLPack import: memory of other libraries as NumPy arrays, of dtypes too that NumPy does not know."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tensorframe.dtypes import FORMAT, DType
from tensorframe.errors import ArgumentError, DeviceError

Array = np.ndarray[Any, Any]

# kDLCPU and kDLCUDAHost (pinned): memory that the host can read
HOST_TYPES: Final = frozenset({1, 3})


# code and bits -> a dtype that NumPy's importer does not know
_UNKNOWN: Final = {
    (how.dlpack, 8 * dtype.itemsize): dtype for dtype, how in FORMAT.items() if how.dlpack
}


class _Words:
    """An exporter of such a dtype passed off as one of unsigned integers; notes which it was."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.dtype: DType | None = None

    def __dlpack__(self, **options: Any) -> Any:
        from tensorframe.frontend.conversion.dlpack_capsule import (
            UNSIGNED,
            dtype_in,
        )  # for the few who need it

        capsule = self.owner.__dlpack__(**options)
        dtype = dtype_in(capsule)
        self.dtype = _UNKNOWN.get((dtype.code, dtype.bits)) if dtype.lanes == 1 else None
        if self.dtype is None:
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
        words = _Words(x)
        return np.from_dlpack(words, copy=copy, **options).view(words.dtype)
