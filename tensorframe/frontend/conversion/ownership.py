"""Ownership: which memory of others can still change, and how elements that can are copied."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def is_settled(array: Array) -> bool:
    """Whether nobody writes to the memory behind an array: all that it is a view of is read-only, its owner known.

    That owner is an array with memory of its own, `bytes`, or a map of a file that was opened to be read. Whether the
    array itself is read-only says little: pandas hands out read-only views of memory that it writes to.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray | memoryview):
        if isinstance(owner, memoryview):
            owner = owner.obj
        elif owner.flags.writeable:
            return False
        elif owner.base is None:
            return owner.flags.owndata
        else:
            owner = owner.base
    return type(owner) is bytes or _is_read_only_map(owner)


def _is_read_only_map(owner: Any) -> bool:
    from mmap import mmap  # for the few who have one, it is loaded

    return type(owner) is mmap and memoryview(owner).readonly


def copied(array: Array) -> Array:
    """Return a copy with memory in the same order; what several elements share, such as windows, is copied once."""
    reach = [step * (size - 1) for step, size in zip(array.strides, array.shape, strict=True)]
    below = -sum(min(span, 0) for span in reach)
    extent = below + sum(max(span, 0) for span in reach) + array.itemsize
    if array.flags.forc or array.size == 0 or extent >= array.nbytes:
        return array.copy(order="K")
    memory = np.array(_Extent(array, array.__array_interface__["data"][0] - below, extent))
    return np.ndarray(array.shape, array.dtype, memory, below, array.strides)


class _Extent:
    """The bytes from the first to the last element of an array, as NumPy's array interface describes them."""

    def __init__(self, array: Array, address: int, size: int) -> None:
        self._array = array
        self.__array_interface__ = {
            "data": (address, True),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }


__all__ = ["copied", "is_settled"]
