"""Products of factors that lie anywhere, and transpositions, as calls of compiled functions: see the text's module."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.functions import placed
from tensorframe.backends.llvm.load import Function, Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.codegen.llvm.box_copy import COPY
from tensorframe.codegen.llvm.dot_products import DOT_SLOTS, DOTS, print_dots
from tensorframe.codegen.llvm.indirect_product import (
    PRODUCT,
    SLOTS,
    print_products,
    shape_for,
)
from tensorframe.codegen.llvm.scripts import RUN
from tensorframe.codegen.llvm.transposition import TRANSPOSE
from tensorframe.dtypes import DType
from tensorframe.quick_tuples import NamedTuple

Array = Any
# sizes with steps in bytes, or with the bytes to each index, the outermost first
Extents = tuple[tuple[int, int | tuple[int, ...]], ...]

# what makes a call of a function, of so many rows, given the arrays and numbers of its slots: at once, or later
Call = Callable[[str, int, tuple[Array, ...], tuple[int, ...]], None]

_SLOTS = {
    PRODUCT: struct.Struct(f"={len(SLOTS)}q"),
    TRANSPOSE: struct.Struct("=8q"),
    COPY: struct.Struct("=13q"),
}
_DOTS = struct.Struct(f"={len(DOT_SLOTS)}q")


class Functions(NamedTuple):
    """The compiled functions for a dtype, and how many elements a vector has."""

    code: Placed  # that keeps them in memory
    called: Mapping[str, Any]
    scripts: Function
    lanes: int


@lru_cache
def functions(dtype: DType) -> Functions:
    """Return the functions for a dtype, float32 or float64."""
    text = print_products(target(), str(target_machine().target_data), dtype)
    code = placed(f"indirect_products_{dtype.name}", text, (PRODUCT, TRANSPOSE, COPY, RUN))
    called = {name: code.function(name).call for name in (PRODUCT, TRANSPOSE, COPY)}
    return Functions(code, called, code.function(RUN), shape_for(target(), dtype).lanes)


def at_once(function: str, rows: int, arrays: tuple[Array, ...], numbers: tuple[int, ...]) -> None:
    """Make a call."""
    compiled = functions(arrays[0].dtype)  # held: another thread's may take its place in the cache
    slots = _SLOTS[function].pack(*map(address, arrays), *numbers)
    compiled.called[function](0, rows, slots, b"")


@lru_cache
def _dots(dtype: DType) -> tuple[Placed, Any]:
    """Return what keeps the function for dot products of a dtype in memory, and it; few programs need it."""
    text = print_dots(target(), str(target_machine().target_data), dtype)
    code = placed(f"dot_products_{dtype.name}", text, (DOTS,))
    return code, code.function(DOTS).call


@lru_cache(maxsize=256)
def offsets(extents: Extents) -> Array:
    """Return the bytes to each element of a box of these sizes and steps, in C order."""
    total = np.zeros((), np.int64)
    for size, step in extents:
        if isinstance(step, tuple):
            total = total[..., None] + np.asarray(step, np.int64)
        else:
            total = total[..., None] + np.arange(size, dtype=np.int64) * step
    return np.ascontiguousarray(total.reshape(-1))


@lru_cache(maxsize=256)
def pairs(left: Extents, right: Extents) -> Array:
    """Return the bytes to each term of a sum in both factors, whose boxes have as many elements."""
    return np.ascontiguousarray(np.stack([offsets(left), offsets(right)], axis=1))


class Repeated(NamedTuple):
    """How many products one call makes, and how many bytes on each next one is."""

    times: int = 1
    left: int = 0
    right: int = 0
    result: int = 0


def multiply(
    left: Array,
    right: Array,
    result: Array,
    rows: Array,
    terms: Array,
    vectors: int,
    repeated: Repeated = Repeated(),  # noqa: B008 - immutable
    *,
    resumed: bool = False,
    call: Call = at_once,
) -> None:
    """Write the product to `result`, whose rows begin with so many vectors of columns.

    `rows` are pairs, of the left factor and the result, and `terms` of both factors: they say where elements are, in
    bytes from the first one of each array. If it is `resumed`, the sums go on from what is there.
    """
    numbers = (len(terms), vectors, *repeated, int(resumed))
    call(PRODUCT, len(rows), (left, right, result, rows, terms), numbers)


class Columns(NamedTuple):
    """Columns of a right factor and of a result: how many, and how many bytes apart they are in each."""

    number: int
    step: int
    pitch: int


def dot_products(
    left: Array,
    right: Array,
    result: Array,
    rows: Array,
    segments: Array,
    length: int,
    columns: Columns,
    repeated: Repeated,
) -> None:
    """Write sums of products along segments of so many elements; rows of the result are next to each other.

    `rows` and `segments` say where they begin, in bytes from the first element of each array.
    """
    addresses = [address(array) for array in (left, right, result, rows, segments)]
    slots = _DOTS.pack(*addresses, len(segments), length, *columns, *repeated)
    _, function = _dots(result.dtype)
    function(0, len(rows), slots, b"")


class Matrices(NamedTuple):
    """Matrices to transpose: bytes between rows, here and there, how many there are, and bytes between these."""

    rows: int
    columns: int
    down: int
    across: int
    times: int = 1
    on: int = 0
    target_on: int = 0


def transpose(source: Array, target: Array, matrices: Matrices, call: Call = at_once) -> None:
    """Write rows of matrices as columns of `target`."""
    rows, columns, down, across, *repeated = matrices
    call(TRANSPOSE, rows, (source, target), (down, across, columns, *repeated))


def copy(source: Array, target: Array, call: Call = at_once) -> None:
    """Write elements to another array of their dtype and shape, row by row: in one call of up to four axes."""
    shape, down, across = _merged(source.shape, source.strides, target.strides)
    if 0 in shape:
        return
    if len(shape) > 4:
        for part, place in zip(source, target, strict=True):
            copy(part, place, call)
        return
    call(COPY, shape[0], (source, target), (*shape[1:], *down, *across))


@lru_cache(maxsize=256)
def _merged(
    shape: tuple[int, ...], down: tuple[int, ...], across: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return at least four axes: neighbours that are one in both arrays are joined."""
    axes: list[tuple[int, int, int]] = []
    for size, step, other in zip(shape, down, across, strict=True):
        if size == 1:
            continue
        if axes and axes[-1][1:] == (size * step, size * other):
            axes[-1] = (axes[-1][0] * size, step, other)
        else:
            axes.append((size, step, other))
    axes = [(1, 0, 0)] * (4 - len(axes)) + axes
    return tuple(zip(*axes, strict=True))
