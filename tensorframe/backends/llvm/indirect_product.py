"""Products of factors that lie anywhere, and transpositions, as calls of compiled functions: see the text's module."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.compile import object_code
from tensorframe.backends.llvm.functions import from_object_code
from tensorframe.backends.llvm.load import PROTOTYPE, Placed
from tensorframe.backends.llvm.target import target, target_machine
from tensorframe.codegen.llvm.dot_products import DOT_SLOTS, DOTS, print_dots
from tensorframe.codegen.llvm.indirect_product import (
    PRODUCT,
    SLOTS,
    print_products,
    shape_for,
)
from tensorframe.codegen.llvm.moves import COPY, TRANSPOSE
from tensorframe.dtypes import DType

Array = Any
# sizes with steps in bytes, or with the bytes to each index, the outermost first
Extents = tuple[tuple[int, int | tuple[int, ...]], ...]

_PRODUCT = struct.Struct(f"={len(SLOTS)}q")
_TRANSPOSITION = struct.Struct("=8q")
_COPY = struct.Struct("=13q")
_DOTS = struct.Struct(f"={len(DOT_SLOTS)}q")


class Functions(NamedTuple):
    """The compiled functions for a dtype, and how many elements a vector has."""

    code: Placed  # that keeps them in memory
    product: Any
    transposition: Any
    copy: Any
    lanes: int


@lru_cache
def functions(dtype: DType) -> Functions:
    """Return the functions for a dtype, float32 or float64."""
    text = print_products(target(), str(target_machine().target_data), dtype)
    code, called = _called(f"indirect_products_{dtype.name}", text, (PRODUCT, TRANSPOSE, COPY))
    product, turn, move = called
    return Functions(code, product, turn, move, shape_for(target(), dtype).lanes)


@lru_cache
def _dots(dtype: DType) -> tuple[Placed, list[Any]]:
    """Return the function for dot products of a dtype, which few programs need, and what keeps it in memory."""
    text = print_dots(target(), str(target_machine().target_data), dtype)
    return _called(f"dot_products_{dtype.name}", text, (DOTS,))


def _called(name: str, text: str, symbols: tuple[str, ...]) -> tuple[Placed, list[Any]]:
    code = from_object_code(
        name, text, lambda: object_code(text), lambda binary: Placed(name, binary, symbols)
    )
    return code, [PROTOTYPE(code.addresses[symbol]) for symbol in symbols]


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
    pitch: int,
    repeated: Repeated = Repeated(),  # noqa: B008 - immutable
) -> None:
    """Write the product to `result`, whose rows are `pitch` bytes apart and begin with so many vectors of columns.

    `rows` and `terms` say where the factors' elements are, in bytes from the first one of each array.
    """
    addresses = [address(array) for array in (left, right, result, rows, terms)]
    slots = _PRODUCT.pack(*addresses, len(terms), pitch, vectors, *repeated)
    compiled = functions(result.dtype)  # held: another thread's may take its place in the cache
    compiled.product(0, len(rows), slots, b"")


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
    _, (function,) = _dots(result.dtype)
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


def transpose(source: Array, target: Array, matrices: Matrices) -> None:
    """Write rows of matrices as columns of `target`."""
    rows, columns, down, across, *repeated = matrices
    addresses = address(source), address(target)
    slots = _TRANSPOSITION.pack(*addresses, down, across, columns, *repeated)
    compiled = functions(target.dtype)
    compiled.transposition(0, rows, slots, b"")


def copy(source: Array, target: Array) -> None:
    """Write elements to another array of their dtype and shape, row by row in one call."""
    shape, down, across = _merged(source.shape, source.strides, target.strides)
    if len(shape) > 4 or 0 in shape:
        target[...] = source
        return
    slots = _COPY.pack(address(source), address(target), *shape[1:], *down, *across)
    compiled = functions(target.dtype)
    compiled.copy(0, shape[0], slots, b"")


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
