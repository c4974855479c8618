"""The namespace `tfr.lib.stride_tricks`: elements that lie any steps apart, windows, and what broadcasts shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.errors import ArgumentError, IndexingError
from tensorframe.frontend.array_like import ShapeLike
from tensorframe.frontend.creation.ranges import arange
from tensorframe.frontend.indexing.searching import take
from tensorframe.frontend.manipulation.sliding import sliding_window_view
from tensorframe.frontend.manipulation.views import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    ravel,
    reshape,
)
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import as_shape

__all__ = [
    "as_strided",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "sliding_window_view",
]

_NAME = "as_strided"


def as_strided(
    x: Any,
    shape: ShapeLike | None = None,
    strides: ShapeLike | None = None,
    subok: bool = False,
    writeable: bool = True,
) -> Tensor:
    """Elements of a tensor that lie `strides` bytes apart along each axis of `shape`, counted in C order.

    Values, not a view: assignments change no other tensor, and `subok` and `writeable` change nothing. Where NumPy
    reads whatever lies beyond an array, IndexingError is raised; ArgumentError if strides are no whole elements, not
    one for each axis, or given with an array of NumPy's that lies in another order. `sliding_window_view` says what
    most programs mean, and copies nothing.

    >>> x = tfr.arange(5)
    >>> tfr.lib.stride_tricks.as_strided(x, (3, 3), (x.itemsize, x.itemsize)).tolist()
    [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    """
    del subok, writeable
    tensor = operand(x)
    if strides is not None and isinstance(x, np.ndarray) and not x.flags.c_contiguous:
        raise ArgumentError(
            f"{_NAME}: strides count elements in C order, and this array of NumPy's has strides {x.strides}",
            suggestions=("np.ascontiguousarray(x)", "np.lib.stride_tricks.as_strided"),
        )
    sizes = tensor.shape if shape is None else as_shape(integers(_NAME, "shape", shape))
    steps = _steps(tensor, sizes, strides)
    reach = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
    first, last = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    if 0 not in sizes and not 0 <= first <= last < tensor.size:
        raise IndexingError(
            f"{_NAME}: shape {sizes} with steps of {steps} elements reaches from element {first} to {last}"
            f" of a tensor with {tensor.size}",
            suggestions=("tfr.pad(x, ...) before", "a smaller shape"),
        )
    positions = arange(1, device=tensor.device)
    for size, step in zip(sizes, steps, strict=True):
        positions = positions[..., None] + arange(size, device=tensor.device) * step
    return take(ravel(tensor), reshape(positions, sizes))


def _steps(tensor: Tensor, sizes: tuple[int, ...], strides: ShapeLike | None) -> tuple[int, ...]:
    """Return how many elements each axis steps over; ArgumentError if these are not whole, or not one for each axis."""
    size = tensor.dtype.itemsize
    given = tensor.strides if strides is None else integers(_NAME, "strides", strides)
    if len(given) != len(sizes):
        raise ArgumentError(f"{_NAME}: {len(given)} strides {given} for a shape {sizes}")
    if any(stride % size for stride in given):
        raise ArgumentError(
            f"{_NAME}: strides {given} are no multiples of the {size} bytes of {tensor.dtype}",
            suggestions=("multiples of x.itemsize",),
        )
    return tuple(stride // size for stride in given)
