"""Arrow's C data interface: its two structs, the capsules that carry them, and which dtype has which format.

Source: "The Arrow C data interface" and "The Arrow PyCapsule Interface" in the documentation of Apache Arrow.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tensorframe import formats

RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# dtypes of tensors and Arrow's format strings
FORMATS: Final = {known.name: known.arrow.encode() for known in formats.FORMATS if known.arrow}
DTYPES: Final = {form: np.dtype(name) for name, form in FORMATS.items()}

SCHEMA: Final = b"arrow_schema"
ARRAY: Final = b"arrow_array"


class ArrowSchema(ctypes.Structure):
    """What the elements are: a format, and those of the children of nested types."""


class ArrowArray(ctypes.Structure):
    """Where the elements are: their number, the buffers, and the children."""


ArrowSchema._fields_ = (
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
)
ArrowArray._fields_ = (
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
)

_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
# destructors get the capsule while it is freed, as an address: nobody may count references to it
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def release(struct: Any) -> None:
    """Give a struct back to whoever made it, unless somebody did that or moved it elsewhere."""
    if struct.release:
        RELEASE(struct.release)(ctypes.addressof(struct))


def callback(kind: type[Any], function: Callable[[Any], None]) -> Any:
    """Return a function for C that is called with the address of a struct.

    A consumer may call it while it raises an error: the first call to C from Python ends with that one then. The struct
    is released all the same, and the error shown as one that was ignored: callbacks have no other way to pass it on.
    """

    def call(address: int) -> None:
        try:
            struct = kind.from_address(address)
        except BaseException:
            function(kind.from_address(address))
            raise
        function(struct)

    return RELEASE(call)


def _destructor(kind: type[Any], name: bytes) -> Any:
    def destroy(capsule: int) -> None:
        address = _pointer_in(capsule, name)
        release(kind.from_address(address))
        _CAPSULES.pop(address, None)

    return _DESTRUCTOR(destroy)


# what capsules point to lives here until their destructors run
_CAPSULES: dict[int, Any] = {}
_DESTRUCTORS = {
    SCHEMA: _destructor(ArrowSchema, SCHEMA),
    ARRAY: _destructor(ArrowArray, ARRAY),
}


def capsule_of(struct: Any, name: bytes) -> Any:
    """Return a capsule with a struct, which is released with it if nobody took it."""
    address = ctypes.addressof(struct)
    _CAPSULES[address] = struct
    return _new_capsule(address, name, _DESTRUCTORS[name])


def struct_in(capsule: Any, kind: type[Any], name: bytes) -> Any:
    """Return the struct that a capsule of another library points to."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(pointer_of(capsule, name))
