"""Windows of files: which bytes of a file a window of the array in it is, read or written."""

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


class Access(Protocol):
    """Fills a buffer with the bytes from a position on, or writes those that are in it."""

    def __call__(self, position: int, buffer: memoryview, /) -> None: ...


def forwards(start: int, size: int, step: int) -> Axis:
    """Return the same places of an axis, in ascending order."""
    if size <= 1:
        return start, size, 1
    return (start, size, step) if step > 0 else (start + step * (size - 1), size, -step)


def forward_axes(window: Window) -> list[Axis]:
    """Return the axes of a window as they look forwards; `turns` puts what they show into the window's order."""
    return [forwards(*window.axis(axis)) for axis in range(len(window.sizes))]


def turns(window: Window) -> tuple[Any, ...]:
    """Return the key that turns what the axes show forwards into what the window shows, and back."""
    # with an Ellipsis: no axes give a view, not a number
    return (*[slice(None, None, -1 if step < 0 else 1) for step in window.steps], ...)


def forward_key(axes: list[Axis]) -> tuple[slice, ...]:
    """Return the slices for axes that look forwards: they stop at the last place shown, inside the array."""
    return tuple(
        [
            slice(start, start + step * (size - 1) + 1, step) if size else slice(0)
            for start, size, step in axes
        ]
    )


def read_window(
    read_at: Access, shape: Shape, dtype: DType, window: Window, out: Array, *, columns: bool
) -> None:
    """Fill `out` with what a window shows of an array that lies in a file, in C order or by `columns`.

    `dtype` is the file's, of any byte order. Positions count from the first element.
    """
    axes, out = forward_axes(window), out[turns(window)]
    if columns:  # what lies by columns is the transpose of what lies by rows
        axes, shape, out = axes[::-1], shape[::-1], out.transpose()
    if not out.size:
        return
    strides = [dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    position, places = 0, []
    for (start, size, step), stride in zip(axes, strides, strict=True):
        position += start * stride
        places.append((size, step * stride))
    _fill(read_at, position, places, dtype, out)


def picked_bytes(shape: Shape, itemsize: int, window: Window, *, columns: bool) -> int:
    """Return the bytes of the pieces of a file that a window is picked from; 0 where it lies in long runs."""
    axes = forward_axes(window)
    if columns:
        axes, shape = axes[::-1], shape[::-1]
    places = [
        (size, step * itemsize * math.prod(shape[axis + 1 :]))
        for axis, (_, size, step) in enumerate(axes)
    ]
    while places:
        reach = sum((size - 1) * distance for size, distance in places) + itemsize
        if reach == math.prod([size for size, _ in places]) * itemsize:
            return 0
        distance = places[0][1]
        if distance <= NEAR:
            return min(reach, PIECE)
        del places[0]
    return 0


def _fill(
    read_at: Access, position: int, axes: list[tuple[int, int]], dtype: DType, out: Array
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
    read_at: Access, position: int, axes: list[tuple[int, int]], dtype: DType, out: Array
) -> None:
    """Fill `out` as `_fill` does, from one piece of the file."""
    reach = sum((size - 1) * distance for size, distance in axes) + dtype.itemsize
    piece = np.empty(reach, np.uint8)
    read_at(position, piece.data)
    strides = [distance for _, distance in axes]
    out[...] = np.ndarray(out.shape, dtype, piece.data, 0, strides)


def write_window(
    write_at: Access, shape: Shape, itemsize: int, window: Window, array: Array
) -> None:
    """Write what a window shows of an array that lies in a file in C order; positions count from its first element."""
    if not array.size:
        return
    position, places = 0, []
    for axis, (start, size, step) in enumerate(forward_axes(window)):
        stride = itemsize * math.prod(shape[axis + 1 :])
        position += start * stride
        places.append((size, step * stride))
    _put(write_at, position, places, array[turns(window)])


def _put(write_at: Access, position: int, axes: list[tuple[int, int]], array: Array) -> None:
    """Write elements that lie at a position and, along each axis (size, distance), further on."""
    reach = sum((size - 1) * distance for size, distance in axes) + array.itemsize
    dense = reach == array.nbytes
    if dense and (array.flags.c_contiguous or array.nbytes <= PIECE):
        write_at(position, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return
    (size, distance), *inner = axes
    # what is not contiguous in memory is gathered, in pieces
    count = max(PIECE // distance, 1) if dense else 1
    for index in range(0, size, count):
        places = [(min(count, size - index), distance), *inner] if count > 1 else inner
        part = array[index : index + count] if count > 1 else array[index, ...]
        _put(write_at, position + index * distance, places, part)
