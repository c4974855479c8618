"""Operands of the calls: the same names in several dtypes and layouts, without axes and without elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Arrays = dict[str, Any]

SQUARE = "mh"  # functions of square matrices have nothing to say about empty ones
ORDERED = "o"


def contiguous(dtype: str) -> Arrays:
    """Operands of a dtype, C-contiguous; what must be real has the precision of the dtype where that is floating."""
    draw = np.random.default_rng(20)
    kind = np.dtype(dtype).kind
    real = {"f": dtype, "c": "f4" if dtype == "c8" else "f8"}.get(kind, "f8")

    def normal(*shape: int) -> Any:
        values = draw.normal(size=shape) * 3
        if kind == "c":
            return values + 1j * draw.normal(size=shape)
        return np.abs(values) if kind == "u" else values

    matrix = normal(3, 3) * 0.7
    hermitian = matrix @ matrix.conj().T + np.eye(3) * 4
    operands: Arrays = {"x": normal(3, 4), "v": normal(6), "w": normal(6), "m": matrix}
    operands |= {"h": hermitian, "z": np.asarray(2.5)}
    if kind == "b":
        operands = {name: array > 0.5 for name, array in operands.items()}
    operands = {name: array.astype(dtype) for name, array in operands.items()}
    return operands | {
        "i": draw.integers(-9, 9, (3, 4)),
        "k": draw.integers(0, 9, 6),
        "b": draw.random(6) > 0.4,
        "c": (draw.normal(size=6) + 1j * draw.normal(size=6)).astype(
            "c8" if real != "f8" else "c16"
        ),
        "q": draw.random(6).astype(real),
        "o": np.asarray([-2.0, -1.0, 0.5, 1.0, 2.0, 4.0]).astype(real),
        "n": np.asarray([1.0, np.nan, -2.0, 3.0, np.nan, 0.5]).astype(real),
    }


def laid_out(layout: Callable[[Any], Any], dtype: str, unchanged: str = "") -> Arrays:
    """Return the operands of a dtype, each laid out anew but those of these names."""
    return {
        name: array if name in unchanged or not array.ndim else layout(array)
        for name, array in contiguous(dtype).items()
    }


def with_gaps(array: Any) -> Any:
    """Return the same elements with gaps between them, from back to front."""
    return np.repeat(array[..., ::-1], 2, axis=-1)[..., ::-2]


def column_major(array: Any) -> Any:
    """Return the same elements, those of a column beside each other; of a vector, every third of a longer one."""
    return np.asfortranarray(array) if array.ndim > 1 else np.repeat(array, 3)[::3]


def repeated_row(array: Any) -> Any:
    """Return an array in which every row is the first, in the same memory (a stride of 0)."""
    return np.broadcast_to(array[:1], array.shape)


def without_axes(array: Any) -> Any:
    """Return the first element, 0-d."""
    return np.asarray(array.reshape(-1)[0])


def without_rows(array: Any) -> Any:
    """Return no rows of it."""
    return array[:0]


def without_columns(array: Any) -> Any:
    """Return all its rows, which have no elements."""
    return array[..., :0]


DTYPES = {
    "bool": "?",
    "int8": "i1",
    "uint8": "u1",
    "int32": "i4",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "complex64": "c8",
    "complex128": "c16",
    "int64": "i8",
}
ENVIRONMENTS: dict[str, Callable[[], Arrays]] = {
    **{name: partial(contiguous, dtype) for name, dtype in DTYPES.items()},
    "gaps": partial(laid_out, with_gaps, "f4"),
    "gaps, int64": partial(laid_out, with_gaps, "i8"),
    "column-major": partial(laid_out, column_major, "f8"),
    "stride 0": partial(laid_out, repeated_row, "f4", SQUARE + ORDERED),
    "0-d": partial(laid_out, without_axes, "f4", SQUARE + ORDERED),
    "0-d, int64": partial(laid_out, without_axes, "i8", SQUARE + ORDERED),
    "0-d, complex128": partial(laid_out, without_axes, "c16", SQUARE + ORDERED),
    "no rows": partial(laid_out, without_rows, "f4", SQUARE + ORDERED),
    "no rows, int64": partial(laid_out, without_rows, "i8", SQUARE + ORDERED),
    "no columns": partial(laid_out, without_columns, "f8", SQUARE + ORDERED),
}
