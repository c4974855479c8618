"""Memory of products while they are made: packed right factors, and what each thread has for its blocks.

It is kept for the next product, which finds it in the cache: to get it from the pool of results takes longer than a
small product, and another block each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.numpy.threads import core_count, thread_count
from tensorframe.machine import HOST

Array = Any

BYTES = np.dtype(np.uint8)
# There is a bit for each thread's memory.
_MOST_THREADS = 64
# Bytes that are kept at most.
_KEPT = 1 << 23

# at most one, which whoever uses it takes out: two callers at the same time have memory of their own
_spare: list[Array] = []


def borrow(packed: int, each: int, blocks: int) -> tuple[Array, int]:
    """Return memory for packed factors and each thread that makes some blocks; and a bit for each of these."""
    threads = min(thread_count(), core_count(), blocks, _MOST_THREADS)
    nbytes = packed + HOST.line + threads * each
    try:
        memory = _spare.pop()
    except IndexError:
        memory = None
    if memory is None or memory.nbytes < nbytes:
        (memory,) = host_pool.scratch(nbytes, [BYTES])
    return memory, (1 << threads) - 1


def give_back(memory: Array) -> None:
    """Keep memory for the next product; what an interrupt takes away instead is freed."""
    if not _spare and memory.nbytes <= _KEPT:
        _spare.append(memory)
