"""Pages: results that a notebook shows as one, drawn by a layer that the frontend does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _State:
    """What draws; the notebook's layer sets it."""

    draw: Callable[[Any], str]


def drawn_by(draw: Callable[[Any], str]) -> None:
    """Have `draw` make the HTML of every page from now on."""
    _State.draw = draw


class Page:
    """A result that prints as text, and that a notebook shows as a page."""

    def _repr_html_(self) -> str:
        return _State.draw(self)
