"""Addresses: what threads take of them where the system limits these (RLIMIT_AS), and how that stays little.

The C library of Linux reserves 64 to 128 MiB of addresses for the heap of each new thread. It takes no memory, but
counts, and what is left then would not do for an array.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache

# Stacks of the threads that read, write, compile and compute, 8 MiB each.
_STACKS = 48 << 20
# M_ARENA_MAX of the C library's malloc.h.
_MOST_HEAPS = -8


def are_limited() -> bool:
    """Whether the process may have only so many addresses."""
    if sys.platform != "linux":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def addresses_of_threads() -> int:
    """Return the bytes of addresses that are left to threads, where they are limited."""
    return _STACKS if are_limited() else 0


def share_heaps() -> None:
    """Have new threads share the heaps that there are, if addresses are limited."""
    if are_limited():
        _share_heaps()


@cache
def _share_heaps() -> None:
    import ctypes

    with suppress(OSError, AttributeError):  # another C library has no such heaps
        ctypes.CDLL(None).mallopt(_MOST_HEAPS, 1)
