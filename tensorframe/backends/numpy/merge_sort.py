"""Sorting values in several threads: lines side by side, and of a long line parts that are merged.

NumPy's fastest sort is that of values, in one thread, and its stable sort merges what is in order already (timsort).
Parts are as long as the line says, whatever the threads, so equal values that differ in their bits (zeros, NaN) come
out in the same order everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorframe.backends.numpy.threads import share_out

Array = Any

# elements of a job that is worth another thread
_WORTH = 1 << 16
# parts of one line
_MOST = 8
# bytes of an element below which NumPy sorts by digits, several times as fast, and its stable sort does not merge
_WIDE = 4


def sort_lines(lines: Array) -> None:
    """Sort values along the last axis, in place; NaN is last. They should lie in one piece."""
    if lines.dtype.itemsize < _WIDE or lines.size < 2 * _WORTH or not lines.flags.c_contiguous:
        lines.sort(axis=-1)
        return
    length = lines.shape[-1]
    flat = lines.reshape(-1, length)
    parts = _parts(length)
    step = max(_WORTH // length, 1)
    jobs = [
        flat[first : first + step, length * part // parts : length * (part + 1) // parts]
        for first in range(0, len(flat), step)
        for part in range(parts)
    ]
    share_out(jobs, _sort_all)
    while parts > 1:
        parts //= 2
        jobs = [
            line[length * part // parts : length * (part + 1) // parts]
            for line in flat
            for part in range(parts)
        ]
        share_out(jobs, _merge_all)


def merging_bytes(length: int, elements: int, itemsize: int) -> int:
    """Return how many bytes the merges of lines take beside them: the shorter one of two parts is copied."""
    is_merged = itemsize >= _WIDE and elements >= 2 * _WORTH and _parts(length) > 1
    return elements * itemsize // 2 if is_merged else 0


def _parts(length: int) -> int:
    """Return in how many parts a line is sorted: a power of two."""
    return min(1 << max((length // _WORTH).bit_length() - 1, 0), _MOST)


def _sort_all(jobs: Iterator[Array]) -> None:
    for lines in jobs:
        lines.sort(axis=-1)


def _merge_all(jobs: Iterator[Array]) -> None:
    for line in jobs:
        line.sort(kind="stable")
