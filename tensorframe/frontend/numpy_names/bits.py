"""Bits as elements: bytes made of eight bools each, and taken apart again."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tensorframe.dtypes import BITWISE, as_dtype
from tensorframe.errors import DTypeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.fast_paths.exact_functions import exact
from tensorframe.frontend.manipulation.padding import pad
from tensorframe.frontend.manipulation.views import moveaxis, part_of
from tensorframe.frontend.operands import along_line, converted, operand, reshaped
from tensorframe.frontend.parameters import choice, integer
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor

__all__ = ["packbits", "unpackbits"]

Order = Literal["big", "little"]


def _shifts(order: Any, name: str, device: Any) -> Tensor:
    """Return how far each of eight bits is moved."""
    big = choice(name, "bitorder", order, ("big", "little")) == "big"
    places = np.arange(8, dtype=np.uint8)
    return operand(places[::-1].copy() if big else places, device=device)


@exact(np.packbits, 3, many=True)
def packbits(a: ArrayLike, axis: int | None = None, bitorder: Order = "big") -> Tensor:
    """Bytes (uint8) whose bits say which elements along `axis` are not zero; the last one is filled up with zeros.

    >>> tfr.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1]).tolist()
    [131, 128]
    >>> tfr.packbits([[1, 0, 1], [1, 1, 0]], axis=0).tolist()
    [[192, 64, 128]]
    """
    tensor, place = along_line("packbits", a, axis)
    if tensor.dtype not in BITWISE:
        raise DTypeError(f"packbits: takes integers or bools, got {tensor.dtype}")
    line = moveaxis(tensor, place, -1)
    size = line.shape[-1]
    bits: Any = converted(operand(line != 0), as_dtype("uint8"))
    bits = pad(bits, [(0, 0)] * (line.ndim - 1) + [(0, -size % 8)])
    bits = reshaped(bits, (*line.shape[:-1], -(-size // 8), 8)) << _shifts(
        bitorder, "packbits", line.device
    )
    return moveaxis(total(bits, axis=-1, dtype="uint8"), -1, place)


@exact(np.unpackbits, 4, many=True)
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: Order = "big"
) -> Tensor:
    """The bits of bytes (uint8) as zeros and ones along `axis`: the first `count`; negative ones are left out.

    >>> tfr.unpackbits(tfr.asarray([131], dtype="uint8")).tolist()
    [1, 0, 0, 0, 0, 0, 1, 1]
    >>> tfr.unpackbits(tfr.asarray([[1], [255]], dtype="uint8"), axis=1, count=3).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    tensor, place = along_line("unpackbits", a, axis)
    if tensor.dtype != as_dtype("uint8"):
        raise DTypeError(f"unpackbits: takes uint8, got {tensor.dtype}")
    line: Any = moveaxis(tensor, place, -1)
    bits = (reshaped(line, (*line.shape, 1)) >> _shifts(bitorder, "unpackbits", line.device)) & 1
    size = 8 * line.shape[-1]
    flat = reshaped(bits, (*line.shape[:-1], size))
    if count is not None:
        wanted = integer("unpackbits", "count", count)
        kept = max(size + wanted, 0) if wanted < 0 else wanted
        last = flat.ndim - 1
        flat = part_of(flat, last, 0, min(kept, size))
        flat = pad(flat, [(0, 0)] * last + [(0, max(kept - size, 0))])
    return moveaxis(flat, -1, place)
