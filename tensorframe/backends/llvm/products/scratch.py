"""Memory of products while they are made: packed right factors, and what each thread has for its blocks."""

from __future__ import annotations

from typing import Any

from tensorframe.backends.host_pool import pool
from tensorframe.backends.numpy.threads import core_count, thread_count
from tensorframe.machine import HOST

Array = Any

# There is a bit for each thread's memory.
_MOST_THREADS = 64

give_back = pool.give_back


def borrow(packed: int, each: int, blocks: int) -> tuple[Array, int]:
    """Return memory for packed factors and each thread that makes some blocks; and a bit for each of these."""
    threads = min(thread_count(), core_count(), blocks, _MOST_THREADS)
    return pool.spare(packed + HOST.line + threads * each), (1 << threads) - 1
