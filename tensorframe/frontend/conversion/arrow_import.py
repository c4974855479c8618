"""Arrow import: arrays of other libraries that speak Arrow's C data interface, as NumPy arrays of their own memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tensorframe.errors import DTypeError
from tensorframe.frontend.conversion import arrow_structs as arrow

Array = np.ndarray[Any, Any]


def elements_of(obj: Any) -> Array:
    """Return a copy of the elements of an object with `__arrow_c_array__`; lists of one size become axes.

    DTypeError for missing elements, and for types that are no numbers or bools.
    """
    schema_capsule, array_capsule = obj.__arrow_c_array__()
    schema = arrow.struct_in(schema_capsule, arrow.ArrowSchema, arrow.SCHEMA)
    array = arrow.struct_in(array_capsule, arrow.ArrowArray, arrow.ARRAY)
    # the capsules own the memory, and are released when this returns
    return _read(schema, array, array.offset, array.length)


def _read(schema: Any, array: Any, start: int, length: int) -> Array:
    """Return the elements from `start` on, which counts those before the array's own offset in its buffers."""
    _refuse_missing(array, start, length)
    form = schema.format
    if form.startswith(b"+w:"):
        size = int(form[3:])
        child, kind = array.children[0].contents, schema.children[0].contents
        inner = _read(kind, child, child.offset + start * size, length * size)
        return inner.reshape((length, size, *inner.shape[1:]))
    dtype = arrow.DTYPES.get(form)
    if dtype is None:
        raise DTypeError(
            f"asarray: Arrow's type {form.decode()!r} holds no numbers of one width",
            suggestions=("a cast to numbers with the library that the array is of",),
        )
    if form == arrow.FORMATS["bool"]:
        return _bits(array.buffers[1], start, length).astype(bool)
    count = length * dtype.itemsize
    return np.frombuffer(_bytes(array.buffers[1], start * dtype.itemsize, count), dtype)


def _bytes(address: int | None, start: int, count: int) -> bytes:
    return ctypes.string_at(address + start, count) if address and count else b""


def _bits(address: int | None, start: int, length: int) -> Array:
    """Return bits from `start` on as bytes of 0 and 1."""
    first, last = start // 8, (start + length + 7) // 8
    packed = np.frombuffer(_bytes(address, first, last - first), np.uint8)
    return np.unpackbits(packed, bitorder="little")[start % 8 :][:length]


def _refuse_missing(array: Any, start: int, length: int) -> None:
    address = array.buffers[0]
    if address and array.null_count and not _bits(address, start, length).all():
        raise DTypeError(
            "asarray: tensors have no missing elements",
            suggestions=("a value for them, or NaN, with the library that the array is of",),
        )
