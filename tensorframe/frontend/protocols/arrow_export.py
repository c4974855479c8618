"""Arrow export: `__arrow_c_array__` hands the elements of a tensor to pyarrow, polars and others, without a copy.

A vector is a primitive array, and each axis after the first one a fixed-size list. The memory stays the tensor's until
the consumer releases it; Arrow's arrays are never written to.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from tensorframe.errors import DTypeError, ShapeError
from tensorframe.frontend.conversion import arrow_structs as arrow
from tensorframe.frontend.tensor import Tensor

# what a struct points to, until its consumer releases it: by the number in its private_data
_held: dict[int, Any] = {}
_numbers = itertools.count(1)


def schema_capsule(tensor: Tensor) -> Any:
    """Return a capsule with the type of a tensor's elements."""
    return arrow.capsule_of(_schema(tensor), arrow.SCHEMA)


def capsules(tensor: Tensor, requested_schema: Any) -> tuple[Any, Any]:
    """Return a capsule with the type, and one with the elements, which are computed."""
    del requested_schema  # a wish, which exporters need not grant
    schema = _schema(tensor)
    elements = np.ascontiguousarray(tensor.numpy())
    if elements.dtype == bool:
        elements = np.packbits(elements, bitorder="little")
    return (
        arrow.capsule_of(schema, arrow.SCHEMA),
        arrow.capsule_of(_array(tensor.shape, elements), arrow.ARRAY),
    )


def _schema(tensor: Tensor) -> Any:
    """Return the struct of the type: that of the elements, inside a list for each further axis."""
    form = arrow.FORMATS.get(tensor.dtype.name)
    if form is None:
        raise DTypeError(
            f"__arrow_c_array__: Arrow has no type for {tensor.dtype}",
            suggestions=('x.astype("float32")', "x.real and x.imag, one by one"),
        )
    if tensor.ndim == 0:
        raise ShapeError(
            "__arrow_c_array__: Arrow's arrays have an axis, this tensor has none",
            suggestions=("x.reshape((1,))",),
        )
    struct = _schema_struct(form, None)
    for size in tensor.shape[:0:-1]:
        struct = _schema_struct(b"+w:%d" % size, struct)
    return struct


def _schema_struct(form: bytes, child: Any) -> Any:
    struct = arrow.ArrowSchema(format=form, name=b"item" if child is None else b"", flags=0)
    _give_child(struct, child)
    _hold(struct, (form, child), _RELEASE_SCHEMA)
    return struct


def _array(shape: tuple[int, ...], elements: np.ndarray[Any, Any]) -> Any:
    """Return the struct of the elements, inside a list for each further axis."""
    counts = list(itertools.accumulate(shape, lambda total, size: total * size))
    struct = _array_struct(counts[-1], [None, elements.ctypes.data or None], None, elements)
    for count in counts[-2::-1]:
        struct = _array_struct(count, [None], struct, None)
    return struct


def _array_struct(length: int, addresses: list[int | None], child: Any, owner: Any) -> Any:
    buffers = (ctypes.c_void_p * len(addresses))(*addresses)
    struct = arrow.ArrowArray(length=length, null_count=0, offset=0, n_buffers=len(addresses))
    struct.buffers = ctypes.cast(buffers, ctypes.POINTER(ctypes.c_void_p))
    _give_child(struct, child)
    _hold(struct, (buffers, child, owner), _RELEASE_ARRAY)
    return struct


def _give_child(struct: Any, child: Any) -> None:
    if child is not None:
        kind = type(child)
        children = (ctypes.POINTER(kind) * 1)(ctypes.pointer(child))
        struct.n_children = 1
        struct.children = ctypes.cast(children, ctypes.POINTER(ctypes.POINTER(kind)))


def _hold(struct: Any, owned: Any, release: Any) -> None:
    """Keep what a struct points to alive until it is released; consumers move structs, so by a number in it."""
    number = next(_numbers)
    _held[number] = (owned, struct.children)
    struct.private_data = number
    struct.release = ctypes.cast(release, ctypes.c_void_p)


def _releaser(kind: type[Any]) -> Any:
    def release(struct: Any) -> None:
        for position in range(struct.n_children):
            arrow.release(struct.children[position].contents)
        number, struct.private_data, struct.release = struct.private_data, None, None
        _held.pop(number, None)

    return arrow.callback(kind, release)


_RELEASE_SCHEMA = _releaser(arrow.ArrowSchema)
_RELEASE_ARRAY = _releaser(arrow.ArrowArray)
