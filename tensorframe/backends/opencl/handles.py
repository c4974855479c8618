"""Handles: what PyOpenCL's buffers and arrays tell of their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from tensorframe.backends.device.foreign import Memory
from tensorframe.dtypes import ANY
from tensorframe.errors import ArgumentError, DTypeError

_UNREADABLE = (
    ("WRITE_ONLY", "kernels"),
    ("HOST_WRITE_ONLY", "the host"),
    ("HOST_NO_ACCESS", "the host"),
)


def memory_of(obj: Any) -> Memory | None:
    """Return what is known of a buffer or array, all work on it done; None if it is neither."""
    if isinstance(obj, cl.MemoryObjectHolder):
        return _memory_of_buffer(obj)
    from pyopencl.array import Array

    if not isinstance(obj, Array):
        return None
    dtype = np.dtype(obj.dtype)
    if dtype not in ANY or not dtype.isnative:
        raise DTypeError(f"from_native: the array's dtype is {obj.dtype}, which tensors have not")
    if not isinstance(obj.base_data, cl.MemoryObjectHolder | None):
        kind = type(obj.base_data).__name__
        raise ArgumentError(
            f"from_native: the array's memory is {kind}, not a buffer",
            suggestions=("array.copy() with an allocator of buffers",),
        )
    obj.finish()
    buffer = obj.base_data
    return Memory(
        "pyopencl Array",
        buffer,
        0 if buffer is None else _memory_of_buffer(buffer).nbytes,
        _whole(buffer),
        int(obj.offset),
        tuple([int(size) for size in obj.shape]),
        dtype,
        tuple([int(step) for step in obj.strides]),
    )


def _memory_of_buffer(buffer: Any) -> Memory:
    if buffer.type != cl.mem_object_type.BUFFER:
        raise ArgumentError(f"from_native: {type(buffer).__name__} is no buffer of bytes")
    for flag, reader in _UNREADABLE:
        if buffer.flags & getattr(cl.mem_flags, flag):
            raise ArgumentError(
                f"from_native: the buffer is {flag}, so {reader} cannot read it",
                suggestions=("pyopencl.mem_flags.READ_WRITE",),
            )
    return Memory("pyopencl Buffer", buffer, int(buffer.size), _whole(buffer))


def _whole(buffer: Any) -> Any:
    """Return the buffer that one is a part of, if it is."""
    return getattr(buffer, "associated_memobject", None)
