"""Wording: ops, their operands and attributes in as few words as a box has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tensorframe.graph.op import Op
from tensorframe.graph.shape import Shape
from tensorframe.schedule.naming import number_text

TIMES = "\N{MULTIPLICATION SIGN}"
WIRE = "·"  # an operand that a line leads to
_LINE = 30
_NAMES = 24
_MOST_LINES = 4


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def call_text(op: Op, attrs: tuple[Any, ...], operands: Sequence[str]) -> str:
    """Return the operands and attributes of an op, empty where lines to it say it all.

    `operands` are numbers, or `WIRE` where a line leads to the op.
    """
    given = ", ".join(operands) if any(operand != WIRE for operand in operands) else ""
    return shortened("  ".join(filter(None, [given, attribute_text(op, attrs)])), _LINE)


def attribute_text(op: Op, attrs: tuple[Any, ...]) -> str:
    """Return the attributes that say something, as `axes=1 keepdims`."""
    named = zip(op.attributes, attrs, strict=False)
    return " ".join(filter(None, [_attribute(name, value) for name, value in named]))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False or value == ():
        return ""
    if value is True:
        return name
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return f"{name}={_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    return number_text(value)


def size_text(shape: Shape, dtype: np.dtype[Any]) -> str:
    """Return the shape and dtype of a value, as plans print them."""
    return f"{dtype}{list(shape)}"


def names_of(ops: Iterable[str]) -> tuple[str, ...]:
    """Return the names of ops in lines: each once, with how often it occurs."""
    words = [
        f"{name} {TIMES}{number}" if number > 1 else name for name, number in Counter(ops).items()
    ]
    lines: list[str] = []
    for index, word in enumerate(words):
        if lines and len(lines[-1]) + len(word) + 2 <= _NAMES:
            lines[-1] += f"  {word}"
        elif len(lines) < _MOST_LINES:
            lines.append(word)
        else:
            return (*lines, f"… {len(words) - index} more")
    return tuple(lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 op`, `2 ops`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
