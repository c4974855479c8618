"""The calling convention of kernels: a range, and two arrays of 8-byte slots.

    void kernel(uint64 start, uint64 stop, uint64 *varying, uint64 *fixed)

`start` to `stop` is the range of the outermost parallel loop. `varying` holds what changes with each call: arrays and
scalars. `fixed` holds what belongs to the operands' layout: sizes, strides, offsets; a negative one as its two's
complement.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


@cache
def data_offset() -> int | None:
    """Return where an array object keeps the address of its data, or None if that is not known.

    It is the first field after the object's header, in every NumPy so far. Kernels read it themselves: `id(array)`
    costs a twentieth of `array.ctypes.data`.
    """
    offset = object.__basicsize__
    for array in (np.zeros(3), np.zeros((4, 5), np.int8)[1:, ::-1]):
        there = ctypes.c_size_t.from_address(id(array) + offset).value
        if there != array.ctypes.data:
            return None
    return offset


def address(array: Array) -> int:
    """Return the address of an array's data; `array.ctypes.data` takes ten times as long."""
    offset = data_offset()
    return array.ctypes.data if offset is None else _word_at(id(array) + offset).value


_word_at = ctypes.c_size_t.from_address


@cache
def array_slot() -> Callable[[Array], int]:
    """Return the function that makes the slot of an array, which the caller keeps alive during the call."""
    return address if data_offset() is None else id
