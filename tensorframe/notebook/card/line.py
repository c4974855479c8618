"""The line of a card: numbers along one axis as a small curve, with marks where they are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.notebook.style import TRANSFER_HUE

Array = np.ndarray[Any, Any]

WIDTH, HEIGHT = 480.0, 64.0
_MARGIN = 4.0
_ODD_HUE = TRANSFER_HUE


def line(low: Array, high: Array, colour: str) -> str:
    """Return the SVG of a curve whose points reach from `low` to `high`: equal ones where they are single elements."""
    both = np.concatenate([low, high]).astype(np.float64)
    finite = both[np.isfinite(both)]
    bottom, top = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    lower, upper = (_heights(one.astype(np.float64), bottom, top) for one in (low, high))
    across = (np.arange(low.size) + 0.5) * (WIDTH / low.size)
    shapes = [_zero(bottom, top), *_odd(across, low, high)]
    (base,) = _heights(np.clip(np.zeros(1), bottom, top), bottom, top)
    shapes += [
        _curve(across[run], lower[run], upper[run], base, colour)
        for run in _runs(np.isfinite(lower) & np.isfinite(upper))
    ]
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" '
        f'style="--ink:{colour}" aria-label="the elements as a line" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'
    )


def _heights(values: Array, bottom: float, top: float) -> Array:
    """Return where values are in the picture, which counts downwards."""
    # halves, since the whole range may be more than a float holds
    span = top / 2 - bottom / 2
    with np.errstate(invalid="ignore"):
        share = (
            (values / 2 - bottom / 2) / span if span else np.where(np.isfinite(values), 0.5, np.nan)
        )
    return HEIGHT - _MARGIN - share * (HEIGHT - 2 * _MARGIN)


def _zero(bottom: float, top: float) -> str:
    """Return the line of zero, where values lie on both sides of it."""
    if not bottom < 0 < top:
        return ""
    (at,) = _heights(np.zeros(1), bottom, top)
    return f'<path class="zero" d="M0 {at:.1f}H{WIDTH:g}"/>'


def _odd(across: Array, low: Array, high: Array) -> list[str]:
    """Return marks: from top to bottom for NaN, in the upper or lower half for what is infinite."""
    unknown = np.isnan(low) | np.isnan(high)
    marks = [
        (unknown, 0.0, HEIGHT),
        (~unknown & (high == np.inf), 0.0, HEIGHT / 2),
        (~unknown & (low == -np.inf), HEIGHT / 2, HEIGHT),
    ]
    return [
        f'<path d="{"".join([f"M{at:.1f} {top:g}V{bottom:g}" for at in across[where]])}" '
        f'stroke="{_ODD_HUE}" stroke-width="{max(WIDTH / across.size, 1):.1f}" opacity=".45"/>'
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


def _curve(across: Array, lower: Array, upper: Array, base: float, colour: str) -> str:
    """Return a curve, with the area between it and zero, or the band of values between two curves."""
    forth = _points(across, upper)
    back = _points(across[::-1], lower[::-1])
    if forth == back[::-1]:
        wide, area = (
            1.5,
            f"M{across[0]:.1f} {base:.1f}L{'L'.join(forth)}L{across[-1]:.1f} {base:.1f}Z",
        )
        # a path of one point is not drawn, one from there to there is
        curve = f"M{'L'.join(forth * 2 if len(forth) == 1 else forth)}"
    else:
        wide, area = 1.0, ""
        curve = f"M{'L'.join([*forth, *back])}Z"
    filling = "none" if area else colour
    return (
        (f'<path class="area" d="{area}" fill="{colour}" opacity=".16"/>' if area else "")
        + f'<path class="{"curve" if area else "band"}" d="{curve}" fill="{filling}" '
        f'stroke="{colour}" stroke-width="{wide:g}" stroke-linejoin="round" '
        'stroke-linecap="round" vector-effect="non-scaling-stroke"/>'
    )


def _points(across: Array, heights: Array) -> list[str]:
    return [f"{x:.1f} {y:.1f}" for x, y in zip(across, heights, strict=True)]
