"""Memory of a device: blocks that are pooled for the next use, counted, and within a limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from tensorframe.backends.base import byte_count
from tensorframe.backends.budget import Budget
from tensorframe.backends.device.promises import Promise
from tensorframe.backends.device.queue import Queue, closed
from tensorframe.errors import TensorFrameError
from tensorframe.forks import new_reentrant_lock
from tensorframe.quick_dataclasses import dataclass

# Blocks have sizes with three significant bits, so that one serves for lengths that are nearly the same.
_SIGNIFICANT = 3
_SMALLEST = 256
_TURNS = 2  # blocks of a size that copies from the host take turns with


@dataclass(slots=True)
class Statistics:
    """Bytes of a device's memory: in use by tensors, pooled for later ones, and the most that were in use at once."""

    in_use: int = 0
    pooled: int = 0
    peak: int = 0
    allocations: int = 0  # that the device was asked for
    hits: int = 0  # that what was pooled served for


class Block:
    """A buffer of a device, which goes back to its pool when nobody refers to it any more."""

    __slots__ = ("__weakref__", "_pool", "buffer", "nbytes", "promise")
    promise: Promise | None
    """What was said of the contents when they were handed over to the device; None where nothing was."""

    def __init__(self, pool: Pool, buffer: Any, nbytes: int) -> None:
        self._pool = pool
        self.buffer = buffer
        self.nbytes = nbytes

    def __del__(self) -> None:
        if not self._pool.closed:
            self._pool.take_back(self.buffer, self.nbytes)

    def __getattr__(self, name: str) -> Any:
        """Say of a buffer that went with its device where it is; of most blocks nothing is promised."""
        if name == "promise":
            return None
        if name == "buffer":
            raise closed(self._pool.name)
        raise AttributeError(name)

    @property
    def is_ours(self) -> bool:
        """Whether its buffer is one of the pool's, which was not handed out to the user."""
        lent = self._pool.lent
        return type(self) is Block and (
            not lent or all(self is not block for block in lent.values())
        )

    def lose(self) -> Any:
        """Give up the buffer, and return it: a later use raises that the device was closed."""
        buffer = self.buffer
        del self.buffer
        return buffer


class Pool:
    """The blocks of one device. What a freed block is used for next runs after all that used it before."""

    def __init__(self, queue: Queue, name: str = "") -> None:
        """`name` is the device's, for people."""
        self.name = name
        self._queue = queue
        self._lock = new_reentrant_lock()  # a finaliser may run while a block is handed out
        self._free: defaultdict[int, list[Any]] = defaultdict(list)
        # every buffer of the queue, by id: a block in cyclic garbage returns its buffer, and that must not have been
        # finalised by then
        self._buffers: dict[int, Any] = {}
        self.statistics = Statistics()
        self.budget = Budget(name, self)
        # of those who want to know the most that was in use while they looked
        self.watches: list[Statistics] = []
        # blocks whose buffers were handed out to the user, by what the queue tells buffers apart with
        self.lent: WeakValueDictionary[int, Block] = WeakValueDictionary()
        # those that tensors use, foreign ones included: they are lost when the device is closed
        self._live: WeakSet[Block] = WeakSet()
        self._noted: list[Block] | None = None
        self.closed = False
        pools.add(self)

    def held(self) -> int:
        """Return the bytes that tensors use."""
        return self.statistics.in_use

    def pooled(self) -> int:
        """Return the bytes that are pooled for later tensors."""
        return self.statistics.pooled

    def total(self) -> int | None:
        """Return what the device has in all."""
        return self._queue.total_memory()

    def free(self) -> int | None:
        """Return what its driver still gives; None where it does not tell, or has failed."""
        try:
            return self._queue.free_memory(self.statistics.in_use + self.statistics.pooled)
        except TensorFrameError:
            return None

    def block(self, nbytes: int) -> Block:
        """Return a block of at least so many bytes.

        MemoryError if there is none within the limit, even without what is pooled.
        """
        size = rounded(byte_count(nbytes))
        with self._lock:
            free = self._free[size]
            buffer = free.pop() if free else None
        return self._handed_out(size, buffer)

    def block_to_fill(self, nbytes: int) -> Block:
        """Return a block for a copy from the host: one that the copy need not wait for, if there is room for that.

        Where programs fill a block while kernels still read the one before, two blocks take turns.
        """
        size = rounded(byte_count(nbytes))
        with self._lock:
            candidates = tuple(reversed(self._free.get(size, ())))
        with self._queue.lock:
            idle = next((each for each in candidates if not self._queue.is_busy(each)), None)
        if idle is None and len(candidates) < _TURNS and size <= self.budget.spare:
            return self._handed_out(size, None)
        return self._handed_out(size, self._taken(size, idle))

    def _taken(self, size: int, buffer: Any | None) -> Any | None:
        """Take a buffer from the pool, or the one that was freed first; None if another thread has got it."""
        with self._lock:
            free = self._free[size]
            for index, each in enumerate(free):
                if buffer is None or each is buffer:
                    return free.pop(index)
        return None

    def _handed_out(self, size: int, buffer: Any | None) -> Block:
        """Return the block of a pooled buffer, or of a new one."""
        with self._lock:
            if buffer is not None:
                self.statistics.pooled -= size
                self.statistics.hits += 1
        if buffer is None:
            buffer = self._new(size)
        with self._lock:
            counts = self.statistics
            counts.in_use += size
            for tally in (counts, *self.watches):
                tally.peak = max(tally.peak, counts.in_use)
            block = Block(self, buffer, size)
            self._live.add(block)
            if self._noted is not None:
                self._noted.append(block)
        return block

    @contextmanager
    def noting(self) -> Iterator[list[Block]]:
        """Note the blocks that are handed out meanwhile: none of them is used again while the list refers to it."""
        before, self._noted = self._noted, []
        try:
            yield self._noted
        finally:
            self._noted = before

    def keep_track(self, block: Block) -> Block:
        """Return a block of foreign memory, which is lost with the device as all others."""
        block._pool = self
        with self._lock:
            self._live.add(block)
        return block

    def close(self) -> None:
        """Give all memory back; what tensors have of it is lost. The lock of the queue is held, and nothing runs."""
        self.trim()
        with self._lock:
            self.closed = True
            lent = set(map(id, self.lent.values()))
            ours = [(block, block.lose()) for block in list(self._live)]
            self._live.clear()
            self.lent.clear()
            self._buffers.clear()
            self.statistics.in_use = self.statistics.pooled = 0
        for block, buffer in ours:
            # what the user was given, or has given, is the user's to free
            if type(block) is Block and id(block) not in lent:
                self._queue.release(buffer)
        pools.discard(self)

    def _new(self, size: int) -> Any:
        if size > self.budget.spare:
            self.budget.grow(size)
        if size > self.budget.spare:  # there is room without what is pooled alone
            self.trim()
        try:
            return self._allocated(size)
        except MemoryError:
            self.budget.relieve(size)
            return self._allocated(size)

    def _allocated(self, size: int) -> Any:
        with self._queue.lock:
            buffer = self._queue.allocate(size)
        self._buffers[id(buffer)] = buffer
        self.statistics.allocations += 1
        self.budget.spare -= size
        return buffer

    def take_back(self, buffer: Any, nbytes: int) -> None:
        """Keep a block that nobody uses any more."""
        with self._lock:
            self._free[nbytes].append(buffer)
            self.statistics.in_use -= nbytes
            self.statistics.pooled += nbytes

    def largest(self) -> int | None:
        """Return the most bytes that one buffer may have."""
        return self._queue.largest_buffer()

    def trim(self, wait: float = 0.0) -> None:
        """Give what is pooled back to the device; the lock of a pool is never held for long, so nothing waits."""
        with self._lock:
            buffers = [buffer for free in self._free.values() for buffer in free]
            self._free.clear()
            for buffer in buffers:
                del self._buffers[id(buffer)]
            self.budget.spare += self.statistics.pooled
            self.statistics.pooled = 0
        with self._queue.lock:
            self._queue.flush()  # what waits may use them
            for buffer in buffers:
                self._queue.release(buffer)

    def compact(self) -> None:
        """Do nothing: only blocks of the pool count."""

    def limited(self) -> None:
        """Do nothing, for the same reason."""


# those of this process
pools: WeakSet[Pool] = WeakSet()


def rounded(nbytes: int) -> int:
    """Return the size of a block for so many bytes."""
    size = max(nbytes, _SMALLEST)
    step = 1 << max(size.bit_length() - _SIGNIFICANT, 8)
    return -(-size // step) * step
