"""The machine: what is assumed of the processor, its caches and its vectors, by all that cuts work to their size.

For these sizes kernels and NumPy's calls are fast on the processors of a decade. They are not measured where the
package runs: chunks depend on them, and bits on chunks.
"""

from __future__ import annotations

from typing import Final

from tensorframe.quick_tuples import NamedTuple


class Machine(NamedTuple):
    """Sizes that several decisions share, which would contradict each other otherwise."""

    line: int = 64
    """Bytes that come from memory together. What a thread writes has lines of its own."""
    first: int = 1 << 15
    """Bytes that stay in the nearest cache."""
    second: int = 1 << 18
    """Bytes that stay in the second level of cache, which each core has for itself."""
    row: int = 1 << 16
    """Elements of a row that passes may go over several times: it stays in a cache. Longer ones come in chunks."""
    streamed: range = range(12 << 20, 32 << 20)
    """Bytes of an output that goes past the caches.

    Smaller ones would stay in the third level for the next kernel, which gains less from that than streaming saves from
    8 MiB on, and is as fast at 16. Memory for larger ones comes from the system, which has just cleared it: that is in
    the cache.
    """
    vector: int = 16
    """Elements of a loop from which it runs on vectors."""
    block: int = 128
    """Bytes of the widest values that a loop on vectors computes side by side."""
    register: int = 32
    """Bytes of a part of a block, and of what is left behind the last one, at a time."""
    units: int = 32
    """Rows, or blocks of columns, from which every thread has enough of them."""
    columns: int = 256
    """Columns that advance together where there should be many blocks of them."""


HOST: Final = Machine()


def spare_line(width: int, itemsize: int) -> int:
    """Return how many elements to leave free behind a row of so many, of which panels are read.

    Rows that are a multiple of four lines apart would meet in few places of the nearest cache.
    """
    return 0 if width * itemsize % (4 * HOST.line) else HOST.line // itemsize
