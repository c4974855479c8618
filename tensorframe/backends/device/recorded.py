"""Recorded launches: the commands that a plan enqueues, on memory that stays, enqueued again without the plan.

A step of a language model is a hundred kernels and more, and for each of them Python finds memory, views and numbers
again. Where all of that is the same in every call, there is no need to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.queue import Queue
from tensorframe.graph.shape import strides_of
from tensorframe.quick_tuples import NamedTuple

# what changes memory, and what waits for it
_WRITING, _READING = ("launch", "write", "copy"), "read"


class Call(NamedTuple):
    """A method of a queue, and what it was given."""

    name: str
    given: tuple[Any, ...]


class Recording:
    """The commands that were enqueued while a plan ran, and the memory that it allocated."""

    def __init__(self, queue: Queue, pool: Pool, run: Callable[[], Sequence[Any]]) -> None:
        """Run what is to be recorded. The memory that it takes stays its own."""
        self._queue, self._pool = queue, pool
        with queue.lock:
            with pool.noting() as self._blocks, _noted(queue) as calls:
                self.outputs: list[Any] = list(run())
                """Those to be copied; None in the place of others."""
            self._marks = [call.given for call in calls if call.name == _READING]
            changing = calls[: len(calls) - len(self._marks)]
            # what is read in between may decide what follows
            self.is_complete = not any(call.name == _READING for call in changing)
            marks = {id(buffer) for buffer, *_ in self._marks}
            again = [call for call in changing if not _clears(call, marks)]
            self._again = _bound(queue, again) if self.is_complete else []

    @property
    def is_usable(self) -> bool:
        """Whether the device is still open."""
        return not self._pool.closed

    def run(
        self, before: Sequence[tuple[DeviceArray, DeviceArray]]
    ) -> list[DeviceArray | None] | None:
        """Copy operands, first to second, give the queue the same again, and return what `copies` does.

        None where a kernel has set its mark.
        """
        queue = self._queue
        with queue.lock:
            for source, target in before:
                fill(queue, source, target)
            for again in self._again:
                again()
            copies = self.copies()  # before there is a wait: the device does them in one go
            is_marked = any(queue.read(*given).any() for given in self._marks)
        return None if is_marked else copies

    def copies(self) -> list[DeviceArray | None]:
        """Return the outputs, in memory that the next run does not write."""
        with self._queue.lock:
            return [None if array is None else self._copied(array) for array in self.outputs]

    def _copied(self, array: DeviceArray) -> DeviceArray:
        own = new_like(self._pool, array)
        fill(self._queue, array, own)
        return own

    def release(self) -> None:
        """Free the memory."""
        self._again.clear()
        self._blocks.clear()


@contextmanager
def _noted(queue: Queue) -> Iterator[list[Call]]:
    """Record the commands that are enqueued meanwhile, with the queue locked."""
    calls: list[Call] = []
    before = {name: queue.__dict__.get(name) for name in (*_WRITING, _READING)}

    def noting(name: str) -> Callable[..., Any]:
        method = getattr(queue, name)

        def call(*given: Any) -> Any:
            # the caller may write to the array afterwards
            kept = [part.copy() if isinstance(part, np.ndarray) else part for part in given]
            calls.append(Call(name, tuple(kept)))
            return method(*given)

        return call

    for name in before:
        setattr(queue, name, noting(name))
    try:
        yield calls
    finally:
        for name, method in before.items():
            if method is None:
                delattr(queue, name)
            else:
                setattr(queue, name, method)


def _clears(call: Call, marks: Collection[int]) -> bool:
    """Whether a call clears a mark, which is clear after every run that is followed by another one."""
    if call.name != "write":
        return False
    buffer, _, data = call.given
    return id(buffer) in marks and not data.any()


def _bound(queue: Queue, calls: Sequence[Call]) -> list[Callable[[], Any]]:
    """Return what gives the queue these calls again; launches that follow each other are bound together."""
    again: list[Callable[[], Any]] = []
    for name, some in groupby(calls, attrgetter("name")):
        given = [call.given for call in some]
        if name == "launch":
            again.append(queue.bound(given))
        else:
            again += [partial(getattr(queue, name), *each) for each in given]
    return again


def can_be_copied(value: Any) -> bool:
    """Whether the elements of an array lie side by side, in whole words."""
    return (
        type(value) is DeviceArray
        and value.block is not None
        and value.is_contiguous
        and value.nbytes % 4 == value.offset * value.dtype.itemsize % 4 == 0
    )


def new_like(pool: Pool, array: DeviceArray) -> DeviceArray:
    """Return a new array of the shape and dtype of another one."""
    assert array.block is not None
    block: Block = pool.block(array.block.nbytes)
    return DeviceArray(block, array.dtype, array.shape, strides_of(array.shape))


def fill(queue: Queue, source: DeviceArray, target: DeviceArray) -> None:
    """Copy elements that lie side by side in both arrays."""
    assert source.block is not None
    assert target.block is not None
    size = queue.traits.held.get(source.dtype, source.dtype).itemsize
    starts = [array.offset * size for array in (source, target)]
    queue.copy(source.block.buffer, starts[0], target.block.buffer, starts[1], source.size * size)
