"""CuPy's arrays over our memory, and ours over CuPy's: nothing is copied where strides can say it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import cupy
import numpy as np

from tensorframe.backends.cuda.queue import CudaQueue
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.graph.shape import Shape


class BlockMemory(cupy.cuda.BaseMemory):  # type: ignore[misc] # CuPy has no types
    """A block of our pool as memory of CuPy's arrays: it goes back when the last of these is gone."""

    def __init__(self, block: Block, index: int) -> None:
        self.ptr = block.buffer.ptr
        self.size = block.nbytes
        self.device_id = index
        self.block = block


class Lent(BlockMemory):
    """A block that others compute with too: what they do on their stream comes before its next use."""

    def __init__(self, block: Block, queue: CudaQueue) -> None:
        super().__init__(block, queue.index)
        self._queue = queue

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending
            wait_for_others(self._queue)


class Borrowed(Block):
    """Memory of an array of CuPy's: what we do comes before its next use."""

    __slots__ = ("_array", "_queue")

    def __init__(self, array: Any, queue: CudaQueue, nbytes: int, below: int) -> None:
        """`below` are the bytes in front of the array's first element."""
        self._array = array
        self._queue = queue
        memory = array.data.mem
        self.buffer = cupy.cuda.MemoryPointer(memory, array.data.ptr - memory.ptr - below)
        self.nbytes = nbytes

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending
            have_others_wait(self._queue)


def wait_for_others(queue: CudaQueue) -> None:
    """Have the queue run what comes next after what CuPy's current stream has been given."""
    with queue.lock:
        queue.stream.wait_event(cupy.cuda.get_current_stream().record())
        queue.note_unseen()


def have_others_wait(queue: CudaQueue) -> None:
    """Have CuPy's current stream run what comes next after what the queue has been given."""
    with queue.lock:
        cupy.cuda.get_current_stream().wait_event(queue.stream.record())


def allocator(pool: Pool, index: int) -> Any:
    """Return what CuPy's functions get their memory from: our pool, with its limit and statistics."""

    def allocate(nbytes: int) -> Any:
        return cupy.cuda.MemoryPointer(BlockMemory(pool.block(nbytes), index), 0)

    return allocate


def to_cupy(array: DeviceArray, queue: CudaQueue, *, lent: bool = False) -> Any:
    """Return an array of CuPy's over the same memory; `lent` for one that leaves our hands."""
    block = array.block
    if block is None:
        with queue.lock:
            return cupy.empty(array.shape, array.dtype)
    memory = Lent(block, queue) if lent else BlockMemory(block, queue.index)
    size = array.dtype.itemsize
    pointer = cupy.cuda.MemoryPointer(memory, array.offset * size)
    strides = tuple([step * size for step in array.strides])
    return cupy.ndarray(array.shape, array.dtype, pointer, strides=strides)


def from_cupy(array: Any, queue: CudaQueue) -> DeviceArray | None:
    """Return our array over the memory of one of CuPy's; None where it is not whole elements apart."""
    dtype = np.dtype(array.dtype)
    shape: Shape = tuple(array.shape)
    if not array.size:
        return DeviceArray(None, dtype, shape, (0,) * len(shape))
    memory, size = array.data.mem, dtype.itemsize
    steps = [step if count > 1 else 0 for step, count in zip(array.strides, shape, strict=True)]
    if any(step % size for step in steps):
        return None
    strides = tuple([step // size for step in steps])
    if isinstance(memory, BlockMemory):
        offset, rest = divmod(array.data.ptr - memory.ptr, size)
        return None if rest else DeviceArray(memory.block, dtype, shape, strides, offset)
    reach = [step * (count - 1) for step, count in zip(steps, shape, strict=True)]
    below = -sum(min(extent, 0) for extent in reach)
    above = sum(max(extent, 0) for extent in reach) + size
    if (array.data.ptr - below) % size:
        return None
    block = Borrowed(array, queue, below + above, below)
    return DeviceArray(block, dtype, shape, strides, below // size)


def is_array(obj: Any) -> bool:
    """Whether something is an array of CuPy's."""
    return isinstance(obj, cupy.ndarray)


def borrowed(array: Any, queue: CudaQueue, pool: Pool) -> DeviceArray:
    """Return our array over one of CuPy's, or over a copy where its elements are not whole steps apart."""
    ours = from_cupy(array, queue)
    if ours is None:
        memory = cupy.cuda.using_allocator(allocator(pool, queue.index))
        with queue.lock, queue.for_libraries(), memory:
            ours = from_cupy(cupy.ascontiguousarray(array), queue)
    assert ours is not None
    return ours


def imported(obj: Any, queue: CudaQueue) -> Any:
    """Return CuPy's array over the memory of an exporter, whose work comes before what the queue is given next."""
    with queue.lock, queue.for_libraries():
        return cupy.from_dlpack(obj)


class Exported:
    """An array as other libraries take it over: their stream waits for ours."""

    def __init__(self, array: DeviceArray, queue: CudaQueue) -> None:
        self._array = to_cupy(array, queue, lent=True)
        self._queue = queue

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the type and the number of the device."""
        return (10 if cupy.cuda.runtime.is_hip else 2, self._queue.index)

    def __dlpack__(self, **options: Any) -> Any:
        """Return the capsule."""
        with self._queue.lock, self._queue.stream:
            return self._array.__dlpack__(**options)
