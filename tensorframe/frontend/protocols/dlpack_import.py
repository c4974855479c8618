"""DLPack import: memory of other libraries as NumPy arrays, bfloat16 included."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import ml_dtypes
import numpy as np

from tensorframe.errors import ArgumentError, DeviceError

Array = np.ndarray[Any, Any]

# kDLCPU and kDLCUDAHost (pinned): memory that the host can read
HOST_TYPES: Final = frozenset({1, 3})

# Codes and offsets in bytes of DLPack 1.1, dlpack.h: DLDataType inside DLTensor, DLTensor inside
# DLManagedTensorVersioned (in DLManagedTensor it comes first).
_UNSIGNED: Final = 1
_BFLOAT: Final = 4
_DTYPE_OFFSET: Final = 20
_VERSIONED_OFFSET: Final = 32


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Words:
    """An exporter of bfloat16 passed off as one of 16-bit words, since NumPy's importer knows no bfloat16."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.owner.__dlpack__(**options)
        dtype = _dtype_in(capsule)
        if (dtype.code, dtype.bits, dtype.lanes) != (_BFLOAT, 16, 1):
            raise BufferError(
                f"no NumPy dtype for DLPack dtype code {dtype.code}, {dtype.bits} bits"
            )
        dtype.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def _dtype_in(capsule: Any) -> _DataType:
    """Return the dtype field inside a fresh DLPack capsule, to be read and changed."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    address = pointer_of(capsule, name)
    start = address + (_VERSIONED_OFFSET if name == b"dltensor_versioned" else 0)
    return _DataType.from_address(start + _DTYPE_OFFSET)


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
    options: dict[str, Any] = (
        {} if int(x.__dlpack_device__()[0]) in HOST_TYPES else {"device": "cpu"}
    )
    try:
        return np.from_dlpack(x, copy=copy, **options)
    except (BufferError, RuntimeError):
        return np.from_dlpack(_Words(x), copy=copy, **options).view(ml_dtypes.bfloat16)
