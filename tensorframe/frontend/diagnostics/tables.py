"""Tables: rows of text under headings, numbers for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

_LONGEST = 120  # characters of a reason: drivers tell long stories


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows as text, the first ones the headings: columns as wide as they need to be.

    `right` are the columns of numbers, whose last digits stand below each other.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    turned = [str.rjust if index in right else str.ljust for index in range(len(widths))]
    lines = [
        "  ".join([turned[index](cell, widths[index]) for index, cell in enumerate(row)]).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def human_seconds(seconds: float) -> str:
    """Return a duration for people: 0.0012 -> `1.2 ms`."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def reason(error: BaseException) -> str:
    """Return the first line of what went wrong, or its beginning."""
    said = shorten(f"{type(error).__name__}: {error}".partition("\n")[0], _LONGEST)
    return said.removesuffix(": ")


def shorten(text: str, most: int) -> str:
    """Return text of `most` characters at most."""
    return text if len(text) <= most else f"{text[: most - 3]}..."
