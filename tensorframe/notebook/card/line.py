"""The line of a card: numbers along one axis as a small curve, with marks where they are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.notebook.card.image import UNKNOWN
from tensorframe.notebook.card.numbers import shares
from tensorframe.notebook.style import image

Array = np.ndarray[Any, Any]

WIDTH, HEIGHT = 480.0, 64.0
_MARGIN = 4.0
_SIZE = f"width:{WIDTH:g}px;height:{HEIGHT:g}px;max-width:100%"


def line(low: Array, high: Array, colour: str) -> str:
    """Return the image of a curve whose points reach from `low` to `high`: equal ones where they are single elements.

    It is an image, not SVG among HTML: that is the same on every page, trusted or not.
    """
    both = np.concatenate([low, high]).astype(np.float64)
    finite = both[np.isfinite(both)]
    bottom, top = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    lower, upper = (_heights(bound, bottom, top) for bound in (low, high))
    across = (np.arange(low.size) + 0.5) * (WIDTH / low.size)
    shapes = [_zero(bottom, top), *_odd(across, low, high)]
    (base,) = _heights(np.clip(np.zeros(1), bottom, top), bottom, top)
    shapes += [
        _run(across[run], lower[run], upper[run], base, colour)
        for run in _runs(np.isfinite(lower) & np.isfinite(upper))
    ]
    box = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="none">{"".join(shapes)}</svg>'
    return image(svg, "the elements as a line", _SIZE)


def _heights(values: Array, bottom: float, top: float) -> Array:
    """Return where values are in the picture, which counts downwards."""
    return HEIGHT - _MARGIN - shares(values, bottom, top) * (HEIGHT - 2 * _MARGIN)


def _zero(bottom: float, top: float) -> str:
    """Return the line of zero, where values lie on both sides of it."""
    if not bottom < 0 < top:
        return ""
    (height,) = _heights(np.zeros(1), bottom, top)
    return f'<path d="M0 {height:.1f}H{WIDTH:g}" stroke="#888" stroke-dasharray="3 3"/>'


def _odd(across: Array, low: Array, high: Array) -> list[str]:
    """Return marks: from top to bottom for NaN, in the upper or lower half for what is infinite."""
    unknown = np.isnan(low) | np.isnan(high)
    marks = [
        (unknown, 0.0, HEIGHT),
        (~unknown & (high == np.inf), 0.0, HEIGHT / 2),
        (~unknown & (low == -np.inf), HEIGHT / 2, HEIGHT),
    ]
    return [
        f'<path d="{"".join([f"M{x:.1f} {top:g}V{bottom:g}" for x in across[where]])}" '
        f'stroke="{UNKNOWN}" stroke-width="{max(WIDTH / across.size, 1):.1f}" opacity=".45"/>'
        for where, top, bottom in marks
        if where.any()
    ]


def _runs(present: Array) -> list[slice]:
    """Return where neighbours are all present."""
    steps = np.diff(np.concatenate([[0], present.astype(np.int8), [0]]))
    return [
        slice(int(start), int(stop))
        for start, stop in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)
    ]


def _run(across: Array, lower: Array, upper: Array, base: float, colour: str) -> str:
    """Return a curve with the area between it and zero, or the band between two curves."""
    stroke = f'stroke="{colour}" stroke-linejoin="round" stroke-linecap="round"'
    forth = _points(across, upper)
    if not np.array_equal(lower, upper):
        band = "L".join([*forth, *_points(across[::-1], lower[::-1])])
        return f'<path d="M{band}Z" fill="{colour}" {stroke}/>'
    area = "L".join([f"{across[0]:.1f} {base:.1f}", *forth, f"{across[-1]:.1f} {base:.1f}"])
    # a path of one point is not drawn, one from there to there is
    curve = "L".join(forth * 2 if len(forth) == 1 else forth)
    return (
        f'<path d="M{area}Z" fill="{colour}" opacity=".2"/>'
        f'<path d="M{curve}" {stroke} stroke-width="1.5"/>'
    )


def _points(across: Array, heights: Array) -> list[str]:
    return [f"{x:.1f} {y:.1f}" for x, y in zip(across, heights, strict=True)]
