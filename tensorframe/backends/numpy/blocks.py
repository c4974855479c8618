"""Blocks: operands are walked in the order of memory, in parts that stay in the cache."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any
Axes = tuple[int, ...]
Index = tuple[slice, ...]

# Elements of a block along an axis on which one operand is contiguous and another is not. The other has a cache line
# in use for each of them, and lines that are a power of two apart displace each other early.
_TILE = 128


class Operands(NamedTuple):
    """Inputs that broadcast to one shape, outputs of it, and the shape of a block.

    Axes are in the order of memory. `results` are the outputs with their axes as they were.
    """

    shape: Shape
    inputs: list[Array]
    outputs: list[Array]
    block: Shape
    results: list[Array]

    def blocks(self) -> Iterator[tuple[Index, Shape]]:
        """Yield index and shape of blocks that cover the shape."""
        cuts = [
            [slice(start, min(start + extent, size)) for start in range(0, size, extent)]
            for size, extent in zip(self.shape, self.block, strict=True)
        ]
        for index in product(*cuts):
            yield index, tuple([part.stop - part.start for part in index])

    def parts(self, index: Index) -> list[Array]:
        """Return the inputs of a block."""
        return [
            array[index] if np.shape(array) == self.shape else _broadcast_part(array, index)
            for array in self.inputs
        ]


def arrange(
    inputs: Sequence[Array],
    buffers: Sequence[Array | None],
    shape: Shape,
    dtypes: Sequence[DType],
    length: int,
) -> Operands:
    """Return the operands of one shape, in blocks of at most about `length` elements.

    `buffers` is the memory of outputs where it is there already. New outputs are laid out as most of the operands are
    that fill the shape, as NumPy does it. Single elements are left to NumPy to broadcast in each block.
    """
    inputs = [array.reshape(()) if np.size(array) == 1 else array for array in inputs]
    given = [*inputs, *[buffer for buffer in buffers if buffer is not None]]
    filling = [array for array in given if _fills(array, shape)]
    orders = [_axes_in_memory(array) for array in filling]
    order = Counter(orders).most_common(1)[0][0] if orders else tuple(range(len(shape)))
    layout = None if order == tuple(range(len(shape))) else order
    results = [
        host_pool.empty(shape, dtype, layout) if buffer is None else buffer
        for dtype, buffer in zip(dtypes, buffers, strict=True)
    ]
    turned = [_turned(array, order) for array in inputs]
    outputs = [array.transpose(order) for array in results]
    size = outputs[0].size
    if all(_is_contiguous(array, size) for array in (*turned, *outputs)):
        flat = [array.reshape(-1) if np.ndim(array) else array for array in turned]
        outputs = [array.reshape(-1) for array in outputs]
        return Operands((size,), flat, outputs, (length,), results)
    contiguous = {order.index(axes[-1]) for axes in orders}
    space = outputs[0].shape
    return Operands(space, turned, outputs, _block(space, length, contiguous), results)


def _broadcast_part(array: Array, index: Index) -> Array:
    """Return what an operand gives to a block: axes of size 1 are whole in every one."""
    if not np.ndim(array):
        return array
    sizes = zip(index, array.shape, strict=True)
    return array[tuple([part if size != 1 else slice(None) for part, size in sizes])]


def _fills(array: Array, shape: Shape) -> bool:
    """Whether an operand has elements of its own all over the shape."""
    return np.shape(array) == shape and 0 not in array.strides


def _axes_in_memory(array: Array) -> Axes:
    """Return the axes, that of the largest stride first; those of one element have none that matters."""
    strides = [
        abs(stride) if size != 1 else math.inf
        for size, stride in zip(array.shape, array.strides, strict=True)
    ]
    return tuple(sorted(range(array.ndim), key=lambda axis: -strides[axis]))


def _turned(array: Array, order: Axes) -> Array:
    """Return an input with as many axes as the shape, in this order."""
    if not np.ndim(array):
        return array
    return array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)


def _is_contiguous(array: Array, size: int) -> bool:
    return not np.ndim(array) or (array.size == size and array.flags.c_contiguous)


def _block(shape: Shape, length: int, contiguous: Collection[int]) -> Shape:
    """Return the shape of blocks of at most about `length` elements.

    Inner axes stay whole; the first axis that does not fit is cut, and those before it are walked one by one. Where
    operands are contiguous on different axes, each of these axes has a few elements in a block.
    """
    tiled = contiguous if len(contiguous) > 1 else ()
    block = [1] * len(shape)
    room = length
    for axis in sorted(range(len(shape)), key=lambda axis: (axis not in tiled, -axis)):
        block[axis] = max(min(shape[axis], room, _TILE if axis in tiled else room), 1)
        room //= block[axis]
    return tuple(block)
