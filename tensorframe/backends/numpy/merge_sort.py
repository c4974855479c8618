"""Sorting values in several threads: lines side by side, and of a long line parts that are merged.

NumPy's fastest sort is that of values, in one thread, and its stable sort merges what is in order already (timsort).
Parts are as long as the line says, whatever the threads, so equal values that differ in their bits (zeros, NaN) come
out in the same order everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorframe.backends.numpy.threads import share_out
from tensorframe.dtypes import DType

Array = Any

# elements of a line from which it takes less time to sort values than positions
LONG = 512
# elements per place asked for up to which a line is sorted in less time than its places are selected
SHORT = 10
# elements of a job that is worth another thread
_WORTH = 1 << 16
# parts of one line
_MOST = 8
# bytes of an element below which NumPy sorts by digits, several times as fast, and its stable sort does not merge
_WIDE = 4


def sort_lines(lines: Array) -> None:
    """Sort values along the last axis, in place; NaN is last. They should lie in one piece."""
    if goes_by_bits(lines.dtype):
        _sort_as_integers(lines)
        return
    if not is_shared_out(lines.size, lines.dtype) or not lines.flags.c_contiguous:
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


def goes_by_bits(dtype: DType) -> bool:
    """Whether numbers are sorted by their bits: those of half precision, see `_sort_as_integers`."""
    return dtype.kind == "f" and dtype.itemsize < _WIDE


def is_shared_out(elements: int, dtype: DType) -> bool:
    """Whether several threads sort so many elements."""
    return dtype.itemsize >= _WIDE and elements >= 2 * _WORTH


def scratch_bytes(length: int, elements: int, dtype: DType) -> int:
    """Return how many bytes sorting lines takes beside them: the shorter one of two parts is copied to merge them."""
    if goes_by_bits(dtype):
        return elements * dtype.itemsize
    is_merged = is_shared_out(elements, dtype) and _parts(length) > 1
    return elements * dtype.itemsize // 2 if is_merged else 0


def _sort_as_integers(lines: Array) -> None:
    """Sort numbers of 16 bits by these bits: NumPy 2.4 leaves some out of order where many are infinite (AVX-512)."""
    lines[np.isnan(lines)] = np.nan  # the positive one, whose bits are above those of infinity
    bits = lines.view(np.int16)
    _turn_negative(bits)
    bits.sort(axis=-1)
    _turn_negative(bits)


def _turn_negative(bits: Array) -> None:
    """Exchange the bits of negative numbers, which fall as these rise, with integers that rise, or these with bits."""
    signs = bits >> 15
    signs &= np.iinfo(np.int16).max
    bits ^= signs


def _parts(length: int) -> int:
    """Return in how many parts a line is sorted: a power of two."""
    return min(1 << max((length // _WORTH).bit_length() - 1, 0), _MOST)


def _sort_all(jobs: Iterator[Array]) -> None:
    for lines in jobs:
        lines.sort(axis=-1)


def _merge_all(jobs: Iterator[Array]) -> None:
    for line in jobs:
        line.sort(kind="stable")
