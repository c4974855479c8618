"""Scans in NumPy: floats accumulate in float64 one after the other, as in kernels, without arrays of float64.

Pieces of some lines are converted, accumulated after what came before them, and rounded: where they are cut changes no
bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tensorframe.backends.numpy.blocks import Index
from tensorframe.backends.numpy.functions import spells
from tensorframe.dtypes import NARROW, DType, complex64, complex128, float32, float64
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST

Array = Any

# Elements of a piece, which fit the second level of cache in float64, and lines of it where these are long.
PIECE = HOST.second // 8
_LINES = 64

_WIDE: dict[DType, DType] = {
    **dict.fromkeys(NARROW, float64),
    float32: float64,
    complex64: complex128,
}


def line_parts(shape: Shape, least: int) -> Iterator[Index]:
    """Yield parts of the axes behind the first one, each of as many lines as make a piece, and of `least` at least."""
    length, *others = shape
    room = max(PIECE // length, least)
    cuts: list[list[slice]] = []
    for size in reversed(others):  # inner axes whole, one axis cut, outer ones one by one
        step = max(min(size, room), 1)
        room //= step
        cuts.append([slice(start, start + step) for start in range(0, size, step)])
    return product(*cuts[::-1])


def _accumulate(ufunc: np.ufunc, x: Array, out: Array, wide: DType) -> None:
    """Write the scan of some lines, along the first axis."""
    step = max(PIECE * len(x) // x.size, 1)
    before = None
    for start in range(0, len(x), step):
        piece = x[start : start + step].astype(wide)
        if before is not None:
            ufunc(before, piece[0], out=piece[0, ...])
        ufunc.accumulate(piece, axis=0, out=piece)
        before = piece[-1]
        out[start : start + step] = piece


def scratch_of_scan(elements: int, dtype: DType) -> int:
    """Return the bytes of a piece that is converted, and of what NumPy converts at a time to make a small one."""
    wide = _WIDE.get(dtype)
    return 0 if wide is None else min(2 * elements, PIECE + np.getbufsize()) * wide.itemsize


def _spell(name: str, ufunc: np.ufunc) -> None:
    def run(x: Array, axis: int) -> Array:
        wide = _WIDE.get(x.dtype)
        if wide is None or not x.size:
            return ufunc.accumulate(x, axis=axis, dtype=x.dtype)
        if x.size <= PIECE:
            return ufunc.accumulate(x, axis=axis, dtype=wide).astype(x.dtype)
        out = np.empty_like(x)
        lines, results = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
        for part in line_parts(lines.shape, _LINES):
            _accumulate(ufunc, lines[:, *part], results[:, *part], wide)
        return out

    spells(name)(run)


_spell("cumulative_sum", np.add)
_spell("cumulative_prod", np.multiply)
