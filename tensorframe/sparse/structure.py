"""The integers of sparse tensors: orders, merged places and pointers, computed on the host where sizes depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.dtypes import int32, int64
from tensorframe.errors import ArgumentError, TracingError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.creation.ranges import arange
from tensorframe.frontend.dispatch import apply, call
from tensorframe.frontend.indexing.searching import searchsorted
from tensorframe.frontend.operands import converted, filled
from tensorframe.frontend.ordering.sorting import argsort
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.holding import holds
from tensorframe.graph.shape import Shape
from tensorframe.ops.elementwise import FLOOR_DIVIDE, REMAINDER
from tensorframe.ops.indexing import GATHER, SCATTER_ADD
from tensorframe.quick_tuples import NamedTuple

Array = np.ndarray[Any, Any]


class Lines(NamedTuple):
    """The integers of compressed lines of `length` elements, as arrays of the host."""

    indices: Array
    indptr: Array
    length: int

    def numbers(self) -> Array:
        """Return the line of each element."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def turned(self, stack: int) -> tuple[Array, Array, Array]:
        """Return the order of the elements in lines across these, and the integers of those lines, in a stack."""
        own, across, count = self.numbers(), self.indices, stack * self.length
        if stack != 1:
            matrix, own = np.divmod(own, max((len(self.indptr) - 1) // max(stack, 1), 1))
            across = matrix * self.length + across
        order = stable_order(across, count)
        begins = np.cumsum(np.bincount(across, minlength=count))
        return order, own[order], np.concatenate([[0], begins])

    def is_canonical(self) -> bool:
        """Whether each line has its elements in order, and none twice."""
        rises = self.indices[1:] > self.indices[:-1]
        begins = self.indptr[1:-1]
        rises[begins[(begins > 0) & (begins < len(self.indices))] - 1] = True
        return bool(rises.all())

    def merged(self) -> tuple[Array, Array, Array]:
        """Return the place of each element among those in order that are left, and the integers of these."""
        keys = self.numbers() * self.length + self.indices
        unique, places = np.unique(keys, return_inverse=True)
        lines, indices = np.divmod(unique, max(self.length, 1))
        return places, indices, pointers(lines, len(self.indptr) - 1)


def stable_order(keys: Array, bound: int) -> Array:
    """Return the order of integers below a bound, equal ones as they come: a radix sort, whose passes are NumPy's."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(16, max(bound - 1, 0).bit_length(), 16):
        digits = (keys >> shift).astype(np.uint16)[order]
        order = order[np.argsort(digits, kind="stable")]
    return order


def is_on_host(*integers: Tensor) -> bool:
    """Whether integers are computed, and arrays of the host."""
    storages = [tensor.node.storage for tensor in integers]
    return all(own is not None and isinstance(own.handle, np.ndarray) for own in storages)


def pointers(numbers: Array, count: int) -> Array:
    """Return where each of so many lines begins among sorted numbers of lines, and where the last one ends."""
    return np.searchsorted(numbers, np.arange(count + 1), "left")


def ordered(
    coords: Sequence[Tensor], own: Tensor, sizes: Sequence[int]
) -> tuple[Tensor | None, Tensor, Tensor]:
    """Return the order by lines, which coordinates give, and by places in them, and the integers of these lines.

    There is none, and the places are the same tensor, where the elements are in order.
    """
    numbers, places = flat([host(axis) for axis in coords], sizes), host(own)
    follow = (numbers[1:] == numbers[:-1]) & (places[1:] >= places[:-1])
    if bool((follow | (numbers[1:] > numbers[:-1])).all()):
        return None, own, like(pointers(numbers, prod(sizes)), own)
    order = np.lexsort((places, numbers))
    arrays = (order, places[order], pointers(numbers[order], prod(sizes)))
    made = [like(array, own) for array in arrays]
    return made[0], made[1], made[2]


def recorded_order(
    coords: Sequence[Tensor], own: Tensor, sizes: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the order by lines alone, and the integers of these lines, as tensors that are recorded."""
    dtype = index_dtype(own.device, prod(sizes) + 1)
    numbers = converted(coords[0], dtype)
    for axis, size in zip(coords[1:], sizes[1:], strict=True):
        numbers = numbers * size + converted(axis, dtype)
    order = argsort(numbers)
    begins = searchsorted(
        taken(numbers, order), arange(prod(sizes) + 1, dtype=dtype, device=own.device)
    )
    return order, taken(own, order), converted(begins, dtype)


def host(integers: Tensor) -> Array:
    """Return integers as an array of the host; TracingError where they are arguments of what is being recorded."""
    try:
        return integers.numpy().astype(np.int64, copy=False)
    except TracingError as error:
        raise TracingError(
            "how many elements the result stores depends on the indices, which are not known while this is recorded",
            suggestions=(
                "convert, slice or coalesce before the jitted function is called",
                "products, sums and multiplication with dense tensors need no such values",
            ),
        ) from error


def index_dtype(device: Device, *bounds: int) -> Any:
    """Return the dtype of integers below these bounds: 32 bits where they do, which every device has."""
    return int32 if max(bounds, default=0) < 2**31 or not holds(device, int64) else int64


def like(integers: Array, other: Tensor) -> Tensor:
    """Return integers as a tensor of the dtype and device of others; of 64 bits where these do not do."""
    dtype = other.dtype
    if len(integers) and int(integers.max()) > np.iinfo(dtype).max:
        dtype = int64
    return asarray(integers.astype(dtype), device=other.device)


def shortened(integers: Array, other: Tensor) -> Tensor:
    """Return integers in 16 bits if these do, else as `like` does: products wait for memory, and read less."""
    if len(integers) and int(integers.max()) >= 1 << 16:
        return like(integers, other)
    return asarray(integers.astype(np.uint16), device=other.device)


def taken(data: Tensor, order: Tensor) -> Tensor:
    """Return elements in another order, or some of them."""
    return call(GATHER, data, order, attrs=((0,), 0))


def added_up(data: Tensor, places: Array, count: int) -> Tensor:
    """Return the sums of the elements that have the same place, of so many places."""
    if not count:
        return filled((0,), 0, data.dtype, data.device)
    numbers = asarray(places.astype(index_dtype(data.device, count)), device=data.device)
    return call(
        SCATTER_ADD, filled((count,), 0, data.dtype, data.device), data, numbers, attrs=((0,), 0)
    )


def split(numbers: Tensor, stack: Shape, lines: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return the indices along the axes of a stack, and the line in its matrix, of lines counted through the stack."""
    if not stack or not prod(stack) * lines:
        return tuple([numbers for _ in stack]), numbers
    outer: list[Tensor] = []
    rest, own = apply(FLOOR_DIVIDE, numbers, lines), apply(REMAINDER, numbers, lines)
    for size in reversed(stack[1:]):
        outer.append(apply(REMAINDER, rest, size))
        rest = apply(FLOOR_DIVIDE, rest, size)
    return (rest, *reversed(outer)), own


def flat(coords: Sequence[Array], sizes: Sequence[int]) -> Array:
    """Return the number, in C order, of elements with these coordinates."""
    total: Any = np.zeros(len(coords[0]), np.int64)
    for coordinate, size in zip(coords, sizes, strict=True):
        total = total * size + coordinate
    return np.asarray(total)


def swapped(shape: Shape) -> Shape:
    """Return the shape of transposed matrices."""
    return (*shape[:-2], shape[-1], shape[-2])


def scipy_sparse() -> Any:
    """Return SciPy's module; ArgumentError where it is not installed."""
    try:
        import scipy.sparse
    except ImportError as error:
        raise ArgumentError("SciPy is not installed", suggestions=("pip install scipy",)) from error
    return scipy.sparse
