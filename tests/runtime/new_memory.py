"""Memory that a computation takes, as Python's own tracer counts it: the pool stands aside."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tensorframe.backends.host_pool import pool


@dataclass
class Taken:
    """The most that was allocated at once, known when the block ends."""

    peak: int = 0


@contextmanager
def new_memory() -> Iterator[Taken]:
    """Measure what the block allocates and keeps alive at once."""
    taken = Taken()
    gc.collect()
    with pool._lock:  # whoever finds it taken allocates by NumPy
        tracemalloc.start()
        try:
            yield taken
        finally:
            taken.peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
