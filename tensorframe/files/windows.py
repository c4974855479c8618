"""Windows of files: which bytes are read, and where to, when a window is asked for of an array that lies in a file."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

# Bytes that are read at once and then picked from, at most: what a window takes beyond its own elements.
PIECE = 1 << 20
# Runs of elements that are nearer than this are read together with what lies between them: a call of the system's
# takes as long as some kilobytes.
NEAR = 1 << 14

Array = np.ndarray[Any, Any]
Axis = tuple[int, int, int]  # start, size, step


class ReadAt(Protocol):
    """Fills a buffer with the bytes from a position on."""

    def __call__(self, position: int, buffer: memoryview, /) -> None: ...


def forwards(start: int, size: int, step: int) -> Axis:
    """Return the same places of an axis, in ascending order."""
    if size <= 1:
        return start, size, 1
    return (start, size, step) if step > 0 else (start + step * (size - 1), size, -step)


def read_window(
    read_at: ReadAt, shape: Shape, dtype: DType, window: Window, out: Array, *, columns: bool
) -> None:
    """Fill `out` with what a window shows of an array that lies in a file, in C order or by `columns`.

    `dtype` is the file's, of any byte order. Positions count from the first element.
    """
    axes = [window.axis(axis) for axis in range(len(shape))]
    if columns:  # what lies by columns is the transpose of what lies by rows
        axes, shape, out = axes[::-1], shape[::-1], out.transpose()
    if not out.size:
        return
    turned = [slice(None, None, -1 if step < 0 else 1) for _, _, step in axes]
    key: tuple[Any, ...] = (*turned, ...)  # with an Ellipsis: no axes give a view, not a number
    out = out[key]
    strides = [dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    position, places = 0, []
    for axis, stride in zip(axes, strides, strict=True):
        start, size, step = forwards(*axis)
        position += start * stride
        places.append((size, step * stride))
    _fill(read_at, position, places, dtype, out)


def _fill(
    read_at: ReadAt, position: int, axes: list[tuple[int, int]], dtype: DType, out: Array
) -> None:
    """Fill `out` with elements that lie at a position and, along each axis (size, distance), further on."""
    reach = sum((size - 1) * distance for size, distance in axes) + dtype.itemsize
    if reach == out.nbytes and out.flags.c_contiguous:
        read_at(position, out.reshape(-1).view(np.uint8).data)
        if not dtype.isnative:
            out.byteswap(inplace=True)
        return
    if not axes:
        _pick(read_at, position, axes, dtype, out)
        return
    (size, distance), *inner = axes
    if distance > NEAR:
        for index in range(size):
            _fill(read_at, position + index * distance, inner, dtype, out[index, ...])
        return
    count = PIECE // distance
    for index in range(0, size, count):
        part = out[index : index + count]
        places = [(len(part), distance), *inner]
        _pick(read_at, position + index * distance, places, dtype, part)


def _pick(
    read_at: ReadAt, position: int, axes: list[tuple[int, int]], dtype: DType, out: Array
) -> None:
    """Fill `out` as `_fill` does, from one piece of the file."""
    reach = sum((size - 1) * distance for size, distance in axes) + dtype.itemsize
    piece = np.empty(reach, np.uint8)
    read_at(position, piece.data)
    strides = [distance for _, distance in axes]
    out[...] = np.ndarray(out.shape, dtype, piece.data, 0, strides)
