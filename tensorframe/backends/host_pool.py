"""Memory of the host that is used again: large blocks for results, which cost no page faults the second time.

The C library gives large blocks back to the system as soon as they are freed, and the next result pays for every page
again: half of the time of a loop over a few expressions. Here a block is free as soon as nothing refers to it: arrays,
their views, memoryviews and DLPack capsules all keep the block that they lie in alive: its reference count says so.
What is pooled is bounded by what was in use, and goes back to the system once it has not been used for a while.
"""

from __future__ import annotations

import gc
import mmap
import sys
import threading
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import inf, prod
from operator import attrgetter
from time import monotonic
from typing import Any

import numpy as np

from tensorframe.backends import c_heap, host_memory
from tensorframe.backends.budget import Budget
from tensorframe.dtypes import DType
from tensorframe.forks import in_forked_processes, new_lock
from tensorframe.graph.shape import Shape, strides_of
from tensorframe.machine import HOST
from tensorframe.quick_dataclasses import dataclass

Array = np.ndarray[Any, Any]

# Bytes. Below, the C library retains what is freed; NumPy requests huge pages from 4 MiB on, and so do we.
SMALLEST = 1 << 19
_HUGE_PAGES = 1 << 22
# Of the most that was in use at once: what blocks in use and free ones may take together.
BOUND = 1.25
# How many times larger than an array its block is at most, if there is room for a new one, and what there is room for:
# well below the bound, or other free blocks would be released for it.
_WASTEFUL, _ROOMY = 2, 1.1
# Seconds that a free block waits for its next use.
IDLE = 2.0
# The part of what is left that is not taken.
_LEFT_ALONE = 10
# Bytes at most of a limit that are left to Python's objects, stacks of threads and compiled code.
_UNCOUNTED = 4 << 20
# Blocks that may be free at once: a step of training frees all that it had.
_MOST_FREE = 256
# Bytes of scratch memory below which the C library retains it.
_RETAINED_BY_C = 1 << 17
# Bytes of scratch memory up to which it is pooled for the next use.
_SPARE = 1 << 23
_BYTES = np.dtype(np.uint8)
# Sizes have this many significant bits, so that a block serves for lengths that are nearly the same.
_SIGNIFICANT = 4
_CAN_ADVISE = hasattr(mmap, "MADV_DONTNEED")


class Memory(mmap.mmap):
    """Anonymous memory of this process: its own type, so that an array over it is known as one of ours."""

    __slots__ = ()


def _mapped(nbytes: int) -> Memory:
    """Return new memory; OSError if there is none. A forked child gets a copy of it, not the same memory."""
    if sys.platform == "win32":
        return Memory(-1, nbytes)
    memory = Memory(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if nbytes >= _HUGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Block:
    """Memory of the pool: `used` bytes are those of the array over it, `touched` those that have pages."""

    __slots__ = ("last_use", "memory", "size", "touched", "used", "watch")

    def __init__(self, nbytes: int) -> None:
        self.memory = _mapped(nbytes)
        self.size = nbytes
        self.used = 0
        self.touched = 0
        self.last_use = 0.0
        self.watch: weakref.ref[Array] | None = None  # called when the array is freed

    def cut(self) -> int:
        """Release the pages beyond the array over this block, and return how many bytes these are."""
        start = -(-self.used // mmap.PAGESIZE) * mmap.PAGESIZE
        if start >= self.touched or not _CAN_ADVISE:
            return 0
        self.memory.madvise(mmap.MADV_DONTNEED, start, self.size - start)
        released, self.touched = self.touched - start, start
        return released


_size, _last_use = attrgetter("size"), attrgetter("last_use")


_references = sys.getrefcount


def _of_nobody() -> int:
    """Return how many references there are to the memory of a block whose array was freed."""
    block = Block(mmap.PAGESIZE)
    return _references(block.memory)


# measured, since versions of Python count differently
_WHEN_FREE = _of_nobody()


@dataclass(slots=True)
class Statistics:
    """Bytes in use by arrays, pooled for later ones, and at the peak; how many blocks were mapped, and used again."""

    in_use: int = 0
    pooled: int = 0
    peak: int = 0
    allocations: int = 0
    hits: int = 0


class Pool:
    """Blocks that are used again. Nothing here waits: where another thread is at it, NumPy's own memory will do."""

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.budget = Budget("cpu", self, _UNCOUNTED)
        self._lock = new_lock()
        self._lent: set[Block] = set()
        self._lent_bytes = (
            0  # of them that have pages: more than in use, where a block is larger than its array
        )
        self._free: list[Block] = []  # by size, and of one size those first that were freed last
        self._returned: deque[Block] = deque()  # whose array was freed, in any thread
        # the most in use since the sweeper looked last, and from then back to when it had looked before
        self._recent_peaks = (0, 0)
        self._sweeper: threading.Thread | None = None
        # free scratch memory, one block at most, and since when
        self._spare: list[tuple[Array, float]] = []

    def empty(
        self,
        shape: Shape,
        dtype: DType,
        layout: Sequence[int] | None = None,
        *,
        least: int = SMALLEST,
    ) -> Array:
        """Return a new array with any elements, whose axes are in this order in memory.

        MemoryError if there is no memory for it, or none within the limit.

        `layout` names the axes, the outermost first; None is C order. Arrays of fewer than `least` bytes are NumPy's.
        """
        nbytes = prod(shape) * dtype.itemsize
        if nbytes >= least and nbytes > self.budget.spare:
            self.budget.grow(nbytes)
        # not `with`: a signal's handler or a finaliser may compute while this very thread is inside
        if nbytes < least or not self._lock.acquire(blocking=False):
            return _of_numpy(shape, dtype, layout)
        try:
            block = self._block(nbytes)
            if block is None:
                return _of_numpy(shape, dtype, layout)
            array: Array
            if layout is None:
                array = np.ndarray(shape, dtype, block.memory)
            else:
                steps = [step * dtype.itemsize for step in strides_of(shape, layout)]
                array = np.ndarray(shape, dtype, block.memory, 0, steps)
            block.watch = weakref.ref(array, lambda _: self._returned.append(block))
            return array
        finally:
            self._lock.release()

    def held(self) -> int:
        """Return the bytes that this process has to itself, but for those that are pooled."""
        counts = self.statistics
        return max(host_memory.own() - counts.pooled, counts.in_use)

    def pooled(self) -> int:
        """Return the bytes that are pooled for later arrays, those of arrays that were just freed among them."""
        if self._returned and self._lock.acquire(blocking=False):
            try:
                self._take_back()
            finally:
                self._lock.release()
        return self.statistics.pooled

    def total(self) -> int | None:
        """Return the memory that is available to this process in all."""
        return host_memory.total()

    def free(self) -> int | None:
        """Return what is still available, but for a part that is reserved for others and for untracked memory."""
        return free_memory()

    def largest(self) -> int | None:
        """Return None: a block may take all that there is."""
        return None

    def trim(self, wait: float = 0.0) -> None:
        """Release all free blocks; wait so many seconds for another thread that uses the pool."""
        # not `with`: as in `empty`
        if self._lock.acquire(timeout=wait) if wait else self._lock.acquire(blocking=False):
            try:
                self._trim(0.0)
            finally:
                self._lock.release()

    def compact(self) -> None:
        """Release free memory of the C library's heaps, which the system counts as this process's."""
        c_heap.trim()

    def limited(self) -> None:
        """Have the C library release large blocks when they are freed."""
        c_heap.give_back_early()

    def spare(self, nbytes: int) -> Array:
        """Return scratch memory of so many bytes: what was released last, which is in the cache, if it is enough."""
        try:
            memory, _ = self._spare.pop()
        except IndexError:
            memory = None
        if memory is None or memory.nbytes < nbytes:
            (memory,) = scratch(nbytes, [_BYTES])
        return memory

    def give_back(self, memory: Array) -> None:
        """Pool scratch memory for the next use, for a while; what an interrupt prevents from coming here is freed."""
        if not self._spare and memory.nbytes <= _SPARE:
            self._spare.append((memory, monotonic()))

    def _drop_spare(self, since: float) -> None:
        try:
            memory, since_when = self._spare.pop()  # who popped it owns it
        except IndexError:
            return
        if since_when > since:
            self._spare.append((memory, since_when))

    def _trim(self, idle: float) -> None:
        self._drop_spare(monotonic() - idle)
        self._take_back()
        since = monotonic() - idle
        for block in [free for free in self._free if free.last_use <= since]:
            self._drop(block)

    def _take_back(self) -> None:
        """Count blocks as free whose arrays were freed."""
        returned, counts = self._returned, self.statistics
        for _ in range(len(returned)):
            block = returned.popleft()
            if (
                _references(block.memory) != _WHEN_FREE
            ):  # its array is just going, in another thread
                returned.append(block)
                continue
            self._lent.remove(block)
            self._lent_bytes -= block.touched
            self._free.insert(bisect_left(self._free, block.size, key=_size), block)
            block.last_use = monotonic()
            counts.in_use -= block.used
            counts.pooled += block.touched
        if len(self._free) > _MOST_FREE:
            for block in sorted(self._free, key=_last_use)[:-_MOST_FREE]:
                self._drop(block)

    def _take(self, block: Block) -> None:
        """Take a block out of those that are pooled."""
        del self._free[self._free.index(block, bisect_left(self._free, block.size, key=_size))]
        self.statistics.pooled -= block.touched

    def _drop(self, block: Block) -> None:
        """Release a block."""
        self._take(block)
        self.budget.spare += block.touched

    def _block(self, nbytes: int) -> Block | None:
        """Return a block for so many bytes, in use from now on; None if the system has none."""
        if self._returned:
            self._take_back()
        block = self._fitting(nbytes) if self._free else None
        counts = self.statistics
        if block is not None:
            self._take(block)
            counts.hits += 1
            self.budget.reused += min(nbytes, block.touched)
        counts.in_use += nbytes
        counts.peak = max(counts.peak, counts.in_use)
        if counts.in_use > self._recent_peaks[0]:
            self._recent_peaks = (counts.in_use, self._recent_peaks[1])
        self._make_room(nbytes, block)
        block = self._new(nbytes) if block is None else block
        if block is None:
            counts.in_use -= nbytes
            return None
        block.used = nbytes
        block.touched = max(block.touched, nbytes)
        if self._lent_bytes + block.touched + counts.pooled > self._bound():
            block.cut()
        self._lent.add(block)
        self._lent_bytes += block.touched
        return block

    def _fitting(self, nbytes: int) -> Block | None:
        """Return the smallest free block that so many bytes fit into, if there is one.

        Of equal ones it is that which was freed last, whose lines are in the cache. One that is much larger serves only
        where there is no room for another: the pages that it would lose soon have to be there again.
        """
        largest = _largest_for(nbytes)
        place = bisect_left(self._free, nbytes, key=_size)
        if place == len(self._free) or self._free[place].size > largest:
            return None
        block = self._free[place]
        if block.size <= _WASTEFUL * nbytes:
            return block
        held = self._lent_bytes + self.statistics.pooled
        roomy = _ROOMY * max(self._recent_peaks)
        has_room = held + nbytes <= roomy and nbytes <= self.budget.spare
        return None if has_room else block

    def _bound(self) -> float:
        return BOUND * max(self._recent_peaks)

    def _make_room(self, nbytes: int, taken: Block | None) -> None:
        """Release memory, the longest unused first, until what is held and what comes are within the bounds.

        What comes is so many bytes, in a pooled block, or in a new one, which has to fit into the budget.
        """
        coming = nbytes if taken is None else max(nbytes, taken.touched)
        too_much = self._lent_bytes + self.statistics.pooled + coming - self._bound()
        if taken is None:
            too_much = max(too_much, nbytes - self.budget.spare)
        if too_much <= 0:
            return
        for block in sorted(self._free, key=_last_use):
            if too_much <= 0:
                return
            too_much -= block.touched
            self._drop(block)
        for block in self._lent:
            if too_much <= 0:
                return
            released = block.cut()
            self._lent_bytes -= released
            too_much -= released

    def _new(self, nbytes: int) -> Block | None:
        try:
            block = Block(_rounded(nbytes))
        except OSError:
            gc.collect()  # tensors in cycles
            self._trim(0.0)
            c_heap.trim()
            return None
        c_heap.retain()
        self.statistics.allocations += 1
        self.budget.spare -= block.size
        if self._sweeper is None:
            self._sweeper = threading.Thread(
                target=self._sweep, name="tensorframe memory", daemon=True
            )
            self._sweeper.start()
        return block

    def _sweep(self) -> None:
        """Release idle blocks periodically, as long as there are blocks, and then what the C library retains."""
        pause, counts = threading.Event(), self.statistics
        uses = trimmed = 0
        while True:
            pause.wait(IDLE / 2)
            with self._lock:
                self._trim(IDLE)
                self._recent_peaks = (counts.in_use, self._recent_peaks[0])
                before, uses = uses, counts.allocations + counts.hits
                is_last = not self._free and not self._lent
                if is_last:
                    self._sweeper = None
            if trimmed != uses and (is_last or (uses == before and not self._free)):
                self.compact()  # copies of users' arrays were there, and what is too small for the pool
                trimmed = uses
            if is_last:
                return

    def after_fork(self) -> None:
        """Go on in a child: the thread is not there."""
        self._sweeper = None


def _of_numpy(shape: Shape, dtype: DType, layout: Sequence[int] | None) -> Array:
    """Return memory of NumPy's that is the array's alone, as that of a transposed view is not."""
    if layout is None:
        return np.empty(shape, dtype)
    return np.empty_like(_prototype(tuple(layout)), dtype, shape=shape)


@lru_cache(64)
def _prototype(layout: tuple[int, ...]) -> Array:
    """Return an array whose strides tell NumPy the order of axes in memory: those of outer axes are larger."""
    ndim = len(layout)
    steps = [ndim - layout.index(axis) for axis in range(ndim)]
    return np.ndarray((2,) * ndim, _BYTES, bytes(sum(steps) + 1), 0, steps)


def _largest_for(nbytes: int) -> float:
    """Return the size of the largest block that may serve: any, where pages can be released one by one."""
    return inf if _CAN_ADVISE else 2 * nbytes


def _rounded(nbytes: int) -> int:
    step = max(1 << max(nbytes.bit_length() - _SIGNIFICANT, 0), mmap.PAGESIZE)
    return -(-nbytes // step) * step


def scratch(count: int, dtypes: Sequence[DType]) -> list[Array]:
    """Return memory for `count` elements of each of the dtypes, all in one block of the pool."""
    sizes = [-(-count * dtype.itemsize // HOST.line) * HOST.line for dtype in dtypes]
    memory = pool.empty((sum(sizes),), np.dtype(np.uint8), least=_RETAINED_BY_C)
    starts = accumulate(sizes, initial=0)
    return [
        np.ndarray((count,), dtype, memory, start)
        for dtype, start in zip(dtypes, starts, strict=False)
    ]


def reshaped(array: Array, shape: Shape) -> Array:
    """Return an array in another shape; a copy counts here, since plans take leaves to be in C order."""
    try:
        return array.reshape(shape, copy=False)
    except ValueError:  # strides cannot say it
        pool.budget.take(array.nbytes)
        return array.reshape(shape)


def contiguous(array: Array) -> Array:
    """Return an array in C order; a copy counts, as that of `reshaped` does."""
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    pool.budget.take(array.nbytes)
    return np.ascontiguousarray(array)


def free_memory() -> int | None:
    """Return the bytes of host memory that may be taken: a part is reserved, since whoever takes the last is killed."""
    left = host_memory.available()
    return None if left is None else left - left // _LEFT_ALONE


def owns_memory(array: Array) -> bool:
    """Whether an array's memory is its alone: NumPy's flag does not say so of arrays that the pool gave."""
    return array.flags.owndata or isinstance(array.base, Memory)


pool = Pool()
empty = pool.empty

in_forked_processes(pool.after_fork)
