"""DLPack capsules: the dtype inside, which is rewritten where NumPy does not know it."""

from __future__ import annotations

import ctypes
from typing import Any, Final

# Codes and offsets in bytes of DLPack 1.1, dlpack.h: DLDataType inside DLTensor, DLTensor inside
# DLManagedTensorVersioned (in DLManagedTensor it comes first).
UNSIGNED: Final = 1
_DTYPE_OFFSET: Final = 20
_VERSIONED_OFFSET: Final = 32


class DataType(ctypes.Structure):
    """The struct DLDataType."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


def dtype_in(capsule: Any) -> DataType:
    """Return the dtype field inside a fresh DLPack capsule, to be read and changed."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    address = pointer_of(capsule, name)
    start = address + (_VERSIONED_OFFSET if name == b"dltensor_versioned" else 0)
    return DataType.from_address(start + _DTYPE_OFFSET)
