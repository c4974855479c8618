"""Measures: how large boxes and labels are. Fonts are the viewer's, so widths are those of the widest usual ones."""

from __future__ import annotations

from tensorframe.notebook.diagrams.diagram import Box, Frame, Look

TITLE = 7.6  # the mean width of a character of a title, at 12 px and weight 600
CODE = 6.35  # that of every character of code, at 10.5 px
LINE = 14.0  # from one line to the next
HEADER = 22.0  # the bar over a frame, or over a kernel that is closed
PADDING = 11.0
TAG = 17.0  # the strip under a box that says what leaves it

_BARS = 10.0  # a library call has a bar on either side


def box_size(box: Box) -> tuple[float, float]:
    """Return the width and height of a box."""
    inner = max([title_width(box.title), *[code_width(line) for line in box.lines]])
    height = LINE * len(box.lines)
    if box.closed:
        return max(inner + 2 * PADDING + _BARS, _with_note(box)), HEADER + height + 9.0
    if box.look in (Look.INPUT, Look.RESULT, Look.TRANSFER):
        return inner + 2 * PADDING + 8, 22.0 + height
    bars = _BARS + 4.0 if box.look is Look.LIBRARY else 0.0
    return max(inner + bars + 2 * PADDING, 64.0), 26.0 + height - (2 if box.lines else 0)


def header_width(frame: Frame) -> float:
    """Return the least width of a frame."""
    return _with_note(frame)


def _with_note(shape: Box | Frame) -> float:
    gap = 18.0 if shape.note else 0.0
    return title_width(shape.title) + code_width(shape.note) + gap + 2 * PADDING


def title_width(text: str) -> float:
    """Return the room that a title takes."""
    return TITLE * len(text)


def code_width(text: str) -> float:
    """Return the room that a line of code, or a label, takes."""
    return CODE * len(text)
