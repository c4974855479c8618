"""The image of a card: a plane of numbers in colours from dark to bright, or a photograph as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.notebook.card.numbers import shares
from tensorframe.notebook.card.png import Pixels, address

Array = np.ndarray[Any, Any]

# Viridis, which grows evenly brighter to every eye, at nine places
_ANCHORS = (
    "440154",
    "472d7b",
    "3b528b",
    "2c728e",
    "21918c",
    "28ae80",
    "5ec962",
    "addc30",
    "fde725",
)
LEAST, MOST = f"#{_ANCHORS[0]}", f"#{_ANCHORS[-1]}"
UNKNOWN, HIGHEST, LOWEST = "#d55e00", "#ffffff", "#000000"  # NaN, and what is infinite
_SIDE = 148  # CSS pixels of the longer side
_LONG, _THICK = 480, 22  # of a strip
_SHORTEST = 36  # of the shorter one, however long the other


def ramp() -> str:
    """Return the colours as a background of CSS, from the least to the greatest."""
    return f"linear-gradient(90deg,{','.join([f'#{anchor}' for anchor in _ANCHORS])})"


def plane(values: Array, low: float, high: float, size: tuple[int, ...]) -> str:
    """Return the picture of real numbers between `low` and `high`; `size` is that of the plane they are from."""
    return _image(coloured(values, low, high), size, "plane", "the elements as colours")


def strip(values: Array, low: float, high: float) -> str:
    """Return the picture of real numbers along one axis."""
    return _tag(
        coloured(values[np.newaxis], low, high), (_THICK, _LONG), "plane", "the elements as colours"
    )


def photograph(values: Array, size: tuple[int, ...]) -> str:
    """Return the picture of an image: bytes as they are, fractions from 0 to 1 or 255, else from the least on."""
    return _image(_pixels(values), size, "photograph", "the elements as an image")


def coloured(values: Array, low: float, high: float) -> Pixels:
    """Return the colours of numbers, in one of 256 steps."""
    steps = np.nan_to_num(shares(values, low, high), nan=0, posinf=1, neginf=0) * 255
    pixels: Pixels = _palette()[steps.astype(np.uint8)]
    for where, colour in (
        (np.isnan(values), UNKNOWN),
        (values == np.inf, HIGHEST),
        (values == -np.inf, LOWEST),
    ):
        pixels[where] = _channels(colour[1:])
    return pixels


def _palette() -> Pixels:
    places = np.linspace(0, 255, len(_ANCHORS))
    channels = np.array([_channels(anchor) for anchor in _ANCHORS]).T
    ramps = [np.interp(np.arange(256), places, channel) for channel in channels]
    return np.stack(ramps, axis=1).round().astype(np.uint8)


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour)
    return red, green, blue


def _pixels(values: Array) -> Pixels:
    if values.dtype == np.uint8:
        return values
    finite = np.where(np.isfinite(values), values, 0).astype(np.float64)
    low, high = float(finite.min()), float(finite.max())
    if low >= 0:
        low, high = 0.0, 1.0 if high <= 1 else 255.0 if high <= 255 else high
    pixels: Pixels = (shares(finite, low, high) * 255).round().astype(np.uint8)
    pixels[np.isnan(values).any(axis=2), :3] = _channels(UNKNOWN[1:])
    return pixels


def _image(pixels: Pixels, size: tuple[int, ...], kind: str, label: str) -> str:
    longer = max(size)
    height, width = (max(round(_SIDE * length / longer), _SHORTEST) for length in size)
    return _tag(pixels, (height, width), kind, label)


def _tag(pixels: Pixels, size: tuple[int, int], kind: str, label: str) -> str:
    height, width = size
    return (
        # as style too: notebooks have rules of their own for the height of images
        f'<img class="{kind}" alt="{label}" width="{width}" height="{height}" '
        f'style="width:{width}px;height:{height}px;max-width:100%" '
        f'src="{address(pixels)}"/>'
    )
