"""Results: what `bench`, `verify`, `estimate`, `doctor` and `calibrate` return, as a line of facts over a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorframe.notebook.style import (
    APART,
    FRAME,
    LINE,
    SHADE,
    dot,
    hue,
    numbers,
    page,
    text,
    words,
)

_SHEET = """
.tensorframe.tensorframe .result table{font-size:12.5px;table-layout:auto}
.tensorframe.tensorframe .result tr{background:none}
.tensorframe.tensorframe .result th,.tensorframe.tensorframe .result td{padding:2px 18px 2px 0;white-space:nowrap}
.tensorframe.tensorframe .result td:last-child{white-space:normal}
"""
_FRAME = f"display:inline-block;max-width:100%;overflow:auto;{FRAME}"
_FACTS = f"padding:6px 12px;background:{SHADE}"
_TABLE = "padding:6px 12px"


def result_page(facts: Iterable[str], *parts: str) -> str:
    """Return a result as a piece of HTML: what there is to say in one line, and below it everything."""
    head = f'<div style="{_FACTS}">{APART.join(facts)}</div>'
    body = "".join([f'<div style="{_TABLE};border-top:{LINE}">{part}</div>' for part in parts])
    return page(f'<div class="result" style="{_FRAME}">{head}{body}</div>', _SHEET)


def table(heads: Sequence[str], numbered: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table with `heads` over words, then `numbered` ones over numbers, then whatever the rows end with."""
    top = words(*heads, tag="th") + numbers(*numbered, tag="th")
    body = "".join([f"<tr>{row}</tr>" for row in [top, *rows]])
    return f'<table cellpadding="4" style="margin:0">{body}</table>'


def device_name(device: object) -> str:
    """Return the name of a device behind a mark in its colour."""
    return f"{dot(hue(str(device)))}{text(device)}"
