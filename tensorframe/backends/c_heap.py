"""The C library's heap: what is free in it, and has pages all the same, goes back to the system.

What is freed stays in the heap for the next who asks. In a large process these are tens of megabytes: glibc raises its
bounds when large blocks are freed, and threads have heaps of their own. Nobody uses these bytes, yet the system counts
them as the process's, and so do limits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache


def trim() -> None:
    """Give the free pages of all heaps back; nothing where the C library cannot: musl, macOS and Windows."""
    give_back = _malloc_trim()
    if give_back is not None:
        give_back(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # only whose memory runs short needs it

    try:
        found = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_size_t,)
    return found
