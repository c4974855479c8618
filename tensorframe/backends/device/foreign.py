"""Foreign memory: arrays over buffers that somebody else has made on a device's queue, without a copy."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """What the device's library tells of an object: the buffer, and the layout if the object has one."""

    kind: str  # what its owners call it
    buffer: Any  # the library's
    nbytes: int
    base: Any = None  # the buffer that this one is a part of
    origin: int = 0  # bytes in front of the first element
    shape: Shape | None = None
    dtype: DType | None = None
    strides: tuple[int, ...] | None = None  # in bytes; None for C order

    def seen_as(self, shape: Shape | None, dtype: DType | None) -> Memory:
        """Return it with the layout that the user tells, where the object has none; ArgumentError if nobody tells."""
        if self.shape is not None and self.dtype is not None:
            return self
        missing = [
            name
            for name, told in (("shape", shape), ("dtype", dtype))
            if told is None and getattr(self, name) is None
        ]
        if missing:
            whole = self.nbytes // (4 if dtype is None else dtype.itemsize)
            named = "float32" if dtype is None else dtype.name
            raise ArgumentError(
                f"from_native: a {self.kind} is bytes without {' and '.join(missing)}",
                suggestions=(f"from_native(buffer, shape={shape or (whole,)}, dtype={named!r})",),
            )
        return replace(self, shape=shape, dtype=dtype)


class ForeignBlock(Block):
    """A block that never goes to the pool: its owner is referred to for as long as a tensor uses the memory."""

    __slots__ = ("_owner", "_queue")

    def __init__(self, queue: Queue, buffer: Any, nbytes: int, owner: Any) -> None:
        self._queue = queue
        self._owner = owner
        self.buffer = buffer
        self.nbytes = nbytes

    def __del__(self) -> None:
        with suppress(DeviceError):  # it went with its device
            self._queue.give_up(self.buffer)


def block_over(memory: Memory, owner: Any, queue: Queue, pool: Pool) -> Block | None:
    """Return the block of a buffer: that of the tensor it came from, or one for foreign memory.

    None if the queue does not reach it. ArgumentError if it is ours, and its tensor is gone: then others use it.
    """
    if memory.buffer is None:  # of an array without elements
        return ForeignBlock(queue, None, 0, owner)
    with queue.lock:
        base = memory.buffer if memory.base is None else memory.base
        known = pool.lent.get(queue.identity(base))
        if known is not None and memory.base is None:
            return known
        if known is None and queue.owns(base):
            raise ArgumentError(
                f"from_native: the {memory.kind} was lent by a tensor that is gone: others use its memory now",
                suggestions=("keep the tensor while its native() is in use",),
            )
        buffer = queue.borrow(memory.buffer, memory.nbytes)
    if buffer is None:
        return None
    return pool.keep_track(ForeignBlock(queue, buffer, memory.nbytes, (owner, known)))


def array_over(memory: Memory, block: Block, queue: Queue, device: str) -> DeviceArray:
    """Return the array of a layout in a block of foreign memory; what does not fit raises."""
    shape, dtype = memory.shape, memory.dtype
    assert shape is not None
    assert dtype is not None
    held = queue.traits.held.get(dtype, dtype)
    if held is not dtype:
        raise DTypeError(
            f"from_native: on {device} memory holds {dtype.name} as {held.name}",
            suggestions=(f"from_native(..., dtype={held.name!r}).astype({dtype.name!r})",),
        )
    size = dtype.itemsize
    steps = memory.strides or tuple([step * size for step in strides_of(shape)])
    if prod(shape) == 0:
        return DeviceArray(None, dtype, shape, strides_of(shape))
    _check_reach(memory, steps, size)
    if any(number % size for number in (memory.origin, *steps)):
        raise ArgumentError(
            f"from_native: elements of {dtype.name} do not begin at multiples of {size} bytes here:"
            f" the origin is at byte {memory.origin}, the strides are {steps}",
            suggestions=("a copy of the array", "a dtype of fewer bytes"),
        )
    strides = tuple([step // size for step in steps])
    return DeviceArray(block, dtype, shape, strides, memory.origin // size)


def _check_reach(memory: Memory, steps: tuple[int, ...], size: int) -> None:
    """Raise ShapeError unless every element lies in the buffer."""
    assert memory.shape is not None
    reach = [step * (count - 1) for step, count in zip(steps, memory.shape, strict=True)]
    low = memory.origin + sum(min(extent, 0) for extent in reach)
    high = memory.origin + sum(max(extent, 0) for extent in reach) + size
    if low < 0 or high > memory.nbytes:
        raise ShapeError(
            f"from_native: shape {memory.shape} of {memory.dtype} takes bytes {low} to {high},"
            f" and the {memory.kind} has {memory.nbytes}",
            suggestions=("a smaller shape", "a larger buffer"),
        )


def of_another_context(memory: Memory, device: str) -> DeviceError:
    """Return the error for memory that the queue of `device` cannot reach."""
    return DeviceError(
        f"from_native: the {memory.kind} belongs to another context than {device}'s",
        suggestions=(
            f"tfr.backends.native_device({device!r}), which makes memory that fits",
            "a copy through the host: tfr.asarray(values, device=...)",
        ),
    )
