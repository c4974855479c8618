"""The elements of a card as text: in NumPy's layout, with four digits, and what is not finite in front."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tensorframe.dtypes import COMPLEX, FLOAT
from tensorframe.notebook.style import text

Array = np.ndarray[Any, Any]

_WIDTH = 72
_TOKENS = re.compile(r"(?P<odd>[-+]?\b(?:nan|inf)j?\b)|[\[\],]+|\.\.\.")


def printed(values: Array, *, shortened: bool) -> str:
    """Return elements in columns; if `shortened`, the last of those in front on an axis stands for the middle."""
    if values.dtype in FLOAT:
        values = values.astype(np.float64)
    word = _complex if values.dtype in COMPLEX else _fraction
    width = max([len(word(element)) for element in _shown(values, shortened).flat], default=0)

    def aligned(values: Any) -> str:
        return word(values).rjust(width)

    return np.array2string(
        values,
        threshold=0 if shortened else values.size,
        max_line_width=_WIDTH,
        formatter={"float_kind": aligned, "complex_kind": aligned},
    )


def _shown(values: Array, shortened: bool) -> Array:
    """Return the values without those that become dots."""
    edge = int(np.get_printoptions()["edgeitems"])
    for axis, size in enumerate(values.shape):
        if shortened and size > 2 * edge:
            values = np.delete(values, slice(edge, size - edge), axis)
    return values


def _fraction(value: Any) -> str:
    word = f"{value:.4g}"
    return f"{word}." if word.lstrip("-").isdigit() else word


def _complex(value: Any) -> str:
    return f"{value.real:.4g}{value.imag:+.4g}j"


def toned(elements: str) -> str:
    """Return printed elements as HTML, with brackets in the background and what is not finite in front."""
    return _TOKENS.sub(_tone, text(elements))


def _tone(match: re.Match[str]) -> str:
    return f"<em>{match[0]}</em>" if match["odd"] else f"<span>{match[0]}</span>"
