"""Tables: numbers that kernels read beside their operands, computed on the host and stored on each device once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from tensorframe.backends.device.memory import Block, Pool
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import DType, float64
from tensorframe.kernel.nest.assemble import Table

Array = np.ndarray[Any, Any]


def roots_of_unity(length: int, real: DType) -> Array:
    """Return exp(-2j * pi * k / length) for k from 0 up to, not including, `length`, computed in a real dtype.

    Angles are taken of an eighth of the circle, where sines and cosines lose nothing, and mirrored from there.
    """
    octant, part = np.divmod(8 * np.arange(length, dtype=np.int64), length)
    part = np.where(octant % 2, length - part, part)
    angle = np.arctan(real.type(1)) * (part.astype(real) / length)
    cosine, sine = np.cos(angle), np.sin(angle)
    upright = (octant + 1) % 4 < 2
    across, up = np.where(upright, cosine, sine), np.where(upright, sine, cosine)
    result = np.empty(length, np.result_type(real, np.complex64))
    result.real = np.where((octant + 2) % 8 < 4, across, -across)
    result.imag = np.where(octant < 4, -up, up)
    return result


def chirp(length: int, real: DType) -> Array:
    """Return exp(-1j * pi * k**2 / length), which turns a transform into a convolution."""
    k = np.arange(length, dtype=np.int64)
    result: Array = roots_of_unity(2 * length, real)[k * k % (2 * length)]
    return result


def chirp_filter(length: int, size: int, real: DType) -> Array:
    """Return the transform of what `chirp` is convolved with, of `size` points, and divided by them."""
    turned = chirp(length, real).conj()
    filled = np.zeros(size, turned.dtype)
    filled[:length] = turned
    filled[size - length + 1 :] = turned[:0:-1]
    result: Array = np.fft.fft(filled) / size
    return result


KINDS: Mapping[str, Callable[..., Array]] = {
    "roots": roots_of_unity,
    "chirp": chirp,
    "chirp filter": chirp_filter,
}


def stored(table: Table, queue: Queue, pool: Pool) -> Block:
    """Return the block with a table's numbers, both parts of complex ones, for as long as somebody refers to it."""
    tables = _stored.setdefault(queue, WeakValueDictionary())
    block = tables.get(table)
    if block is None:
        # in more digits than the table has, so that its numbers are rounded once
        real = np.dtype(np.longdouble if table.dtype == float64 else np.float64)
        numbers = KINDS[table.kind](*table.sizes, real)
        data = numbers.view(real).astype(queue.traits.held.get(table.dtype, table.dtype))
        block = pool.block(data.nbytes)
        with queue.lock:
            queue.write(block.buffer, 0, data.view(np.uint8))
        tables[table] = block
    return block


_stored: WeakKeyDictionary[Queue, WeakValueDictionary[Table, Block]] = WeakKeyDictionary()
