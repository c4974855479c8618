"""The C library's heap: what is free in it, and has pages all the same, goes back to the system.

What is freed stays in the heap for the next who asks. In a large process these are tens of megabytes: glibc raises its
bounds when large blocks are freed, and threads have heaps of their own. Nobody uses these bytes, yet the system counts
them as the process's, and so do limits. Without a limit it is better to keep some.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of the C library's malloc.h.
_MOST_KEPT, _SMALLEST_MAPPED = -1, -3
# Bytes: of the end of a heap that stay in it, and of a block that is mapped by itself.
_KEPT, _MAPPED = 2 << 20, 1 << 20
# Bytes of a block that raises these bounds, below those for which NumPy requests huge pages.
_RAISING = (4 << 20) - (1 << 12)


def trim() -> None:
    """Give the free pages of all heaps back; nothing where the C library cannot: musl, macOS and Windows."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


@cache
def retain() -> None:
    """Have the end of the heap stay in it, up to 8 MiB, for who computes with arrays of a few hundred KiB.

    Its pages go back to the system else, and come again, hundreds in a step of training. glibc raises its bounds to the
    size of a mapped block that is freed, and twice that; those that `give_back_early` has set stay.
    """
    np.empty(_RAISING, np.uint8)


@cache
def give_back_early() -> None:
    """Have blocks of a megabyte go back to the system when they are freed, from now on.

    Its bounds rise no more then. Else each thread's heap keeps up to 64 MiB at its end, where `trim` does not reach.
    """
    library = _library()
    if library is not None:
        library.mallopt(_MOST_KEPT, _KEPT)
        library.mallopt(_SMALLEST_MAPPED, _MAPPED)


@cache
def _library() -> Any:
    """Return the C library, if it is glibc."""
    if sys.platform != "linux":
        return None
    import ctypes  # only whose memory runs short needs it

    library = ctypes.CDLL(None)
    return library if hasattr(library, "malloc_trim") else None
