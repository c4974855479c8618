"""Blocks of GGUF files: neighbours along a row that share scales, as bytes, and the float32 numbers that they mean.

Source of the layouts: ggml's `ggml-common.h`, https://github.com/ggml-org/ggml. Numbers are those of its own conversion
to float32, to the bit: each product and each difference is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.quick_tuples import NamedTuple

Array = np.ndarray[Any, Any]


class Kind(NamedTuple):
    """A kind of blocks: how many elements one has, in how many bytes, and what blocks (n, bytes) mean."""

    name: str
    size: int
    nbytes: int
    numbers: Callable[[Array], Array]


def _half(bytes_: Array) -> Array:
    """Return the float16 at each pair of bytes, as float32."""
    return np.ascontiguousarray(bytes_).view(np.dtype("<f2")).astype(np.float32)


def nibbles(bytes_: Array) -> Array:
    """Return the lower halves of bytes, and behind them the upper ones."""
    return np.concatenate([bytes_ & 15, bytes_ >> 4], axis=-1)


def _q8_0(blocks: Array) -> Array:
    return _half(blocks[:, :2]) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8).astype(
        np.float32
    )


def _q4_0(blocks: Array) -> Array:
    return _half(blocks[:, :2]) * (nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Array) -> Array:
    scale, least = _half(blocks[:, :2]), _half(blocks[:, 2:4])
    numbers: Array = scale * nibbles(blocks[:, 4:]).astype(np.float32) + least
    return numbers


def _six_bits(packed: Array) -> tuple[Array, Array]:
    """Return eight scales and eight offsets of six bits, of twelve bytes.

    The first four of each are the lower bits of bytes 0 to 3 and 4 to 7; the others have their upper two bits there,
    and the rest in the halves of bytes 8 to 11.
    """
    first, second, rest = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = [first & 63, (rest & 15) | (first >> 6) << 4]
    offsets = [second & 63, (rest >> 4) | (second >> 6) << 4]
    return np.concatenate(scales, axis=1), np.concatenate(offsets, axis=1)


def _of_eight(blocks: Array, integers: Array) -> Array:
    """Return what integers (n, 8, 32) mean whose scales and offsets are in the first sixteen bytes of blocks."""
    scales, offsets = _six_bits(blocks[:, 4:16])
    scale = _half(blocks[:, :2]) * scales.astype(np.float32)
    offset = _half(blocks[:, 2:4]) * offsets.astype(np.float32)
    numbers: Array = scale[..., None] * integers.astype(np.float32) - offset[..., None]
    return numbers.reshape((len(blocks), 256))


def _q4_k(blocks: Array) -> Array:
    lower = nibbles(blocks[:, 16:].reshape((-1, 4, 32)))
    return _of_eight(blocks, lower.reshape((-1, 8, 32)))


def _q5_k(blocks: Array) -> Array:
    lower = nibbles(blocks[:, 48:].reshape((-1, 4, 32))).reshape((-1, 8, 32))
    places = np.arange(8, dtype=np.uint8)[:, None]
    upper = (blocks[:, None, 16:48] >> places) & 1
    return _of_eight(blocks, lower | upper << 4)


def _q6_k(blocks: Array) -> Array:
    lower = nibbles(blocks[:, :128].reshape((-1, 2, 64))).reshape((-1, 2, 4, 32))
    places = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    upper = (blocks[:, 128:192].reshape((-1, 2, 1, 32)) >> places) & 3
    integers = (lower | upper << 4).astype(np.float32) - 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float32)
    scale = _half(blocks[:, 208:]) * scales
    numbers: Array = scale[..., None] * integers.reshape((-1, 16, 16))
    return numbers.reshape((len(blocks), 256))


# by the number of their kind in a file
KINDS = {
    2: Kind("Q4_0", 32, 18, _q4_0),
    3: Kind("Q4_1", 32, 20, _q4_1),
    8: Kind("Q8_0", 32, 34, _q8_0),
    12: Kind("Q4_K", 256, 144, _q4_k),
    13: Kind("Q5_K", 256, 176, _q5_k),
    14: Kind("Q6_K", 256, 210, _q6_k),
}


def _words_of_4_bits(blocks: Array) -> Array:
    """Return integers of Q4_0 blocks in order, eight in a word."""
    integers = nibbles(blocks[:, 2:])
    return np.ascontiguousarray(integers[:, 0::2] | integers[:, 1::2] << 4).view("<u4")


def _words_of_8_bits(blocks: Array) -> Array:
    return np.ascontiguousarray(blocks[:, 2:]).view("<u4")


def _scales(blocks: Array) -> Array:
    return np.ascontiguousarray(blocks[:, :2]).view("<f2")


# Of kinds that mean what `tfr.quantization` does: bits, and kinds of blocks whose numbers are words, and scales.
PARTS = {
    "Q4_0": (4, Kind("words", 4, 18, _words_of_4_bits), Kind("scales", 1, 18, _scales)),
    "Q8_0": (8, Kind("words", 8, 34, _words_of_8_bits), Kind("scales", 1, 34, _scales)),
}
