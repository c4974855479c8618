"""PNG: pixels as the bytes of an image file, and as an address that a page shows without fetching anything."""

from __future__ import annotations

from base64 import b64encode
from struct import pack
from typing import Any
from zlib import compress, crc32

import numpy as np

Pixels = np.ndarray[
    Any, np.dtype[np.uint8]
]  # height, width, channels: red, green, blue and maybe opacity

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {3: 2, 4: 6}  # of the channels, as the format numbers them
_PALETTE, _MOST_COLOURS = 3, 256


def png(pixels: Pixels) -> bytes:
    """Return the file of an image."""
    height, width, channels = pixels.shape
    colours, samples = _indexed(pixels)
    colour_type = _PALETTE if colours else _COLOUR_TYPES[channels]
    header = pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    # each row begins with the number of its filter: none
    rows = np.zeros((height, 1 + samples.size // height), np.uint8)
    rows[:, 1:] = samples.reshape(height, -1)
    chunks = [(b"IHDR", header), *([(b"PLTE", colours)] if colours else [])]
    chunks += [(b"IDAT", compress(rows.tobytes(), 9)), (b"IEND", b"")]
    return _SIGNATURE + b"".join([_chunk(kind, data) for kind, data in chunks])


def _indexed(pixels: Pixels) -> tuple[bytes, Pixels]:
    """Return the colours, and which each pixel has; no colours, and the pixels, where there are too many."""
    if pixels.shape[2] == 3:
        packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        colours, numbers = np.unique(packed, return_inverse=True)
        if colours.size <= _MOST_COLOURS:
            return colours.astype(">u4").view(np.uint8).reshape(-1, 4)[
                :, 1:
            ].tobytes(), numbers.astype(np.uint8)
    return b"", pixels


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def address(pixels: Pixels) -> str:
    """Return an image as an address that holds it."""
    return f"data:image/png;base64,{b64encode(png(pixels)).decode('ascii')}"
