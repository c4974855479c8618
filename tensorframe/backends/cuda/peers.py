"""Copies from one GPU to another, which the driver makes without the host where the machine has a way."""

from __future__ import annotations

import cupy

from tensorframe.backends.cuda.error_translation import translated_errors
from tensorframe.backends.cuda.queue import CudaQueue
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Pool
from tensorframe.graph.shape import strides_of


def copy(array: DeviceArray, source: CudaQueue, target: CudaQueue, pool: Pool) -> DeviceArray:
    """Return a copy, in the target's memory, of an array in C order: after all that its GPU was given before."""
    steps = strides_of(array.shape)
    if array.block is None:
        return DeviceArray(None, array.dtype, array.shape, steps)
    block = pool.block(array.nbytes)
    first = array.block.buffer.ptr + array.offset * array.dtype.itemsize
    with source.lock, translated_errors:
        ready = source.stream.record()
    with target.lock, translated_errors:
        target.stream.wait_event(ready)
        cupy.cuda.runtime.memcpyPeerAsync(
            block.buffer.ptr, target.index, first, source.index, array.nbytes, target.stream.ptr
        )
        target.note_unseen()
        done = target.stream.record()
    with source.lock, translated_errors:
        # the block may be used for something else as soon as nobody refers to it
        source.stream.wait_event(done)
        source.note_unseen()
    return DeviceArray(block, array.dtype, array.shape, steps)
