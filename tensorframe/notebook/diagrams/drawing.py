"""Drawing: a diagram as SVG, with a title and a legend.

The same elements serve a page, whose own colours the ink takes on, and a file, which brings ink and paper with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorframe.notebook.diagrams.diagram import Box, Diagram, Frame, Look
from tensorframe.notebook.diagrams.layout import Scene, arrange
from tensorframe.notebook.diagrams.measures import code_width, title_width
from tensorframe.notebook.diagrams.shapes import LETTERS, box_parts, frame_parts, swatch, words
from tensorframe.notebook.diagrams.strokes import wire_parts
from tensorframe.notebook.style import text

_MARGIN = 16.0
_TOP = 54.0  # a title of one line, and the legend
_TITLE_LINE = 17.0
_LEAST_WIDTH = 320.0
# looks that a legend explains, where there are any; others say by themselves what they are
_EXPLAINED = {Look.LIBRARY: "library call", Look.VIEW: "view", Look.TRANSFER: "transfer"}

# Ink is the colour of what says none, paper that of a file; a page has its own of both. Looks are attributes of the
# elements, not rules of a sheet: many pages that show SVG drop its sheet.
_LIGHT = {"ink": "#1f2328", "paper": "#ffffff"}
_DARK = {"ink": "#e6edf3", "paper": "#0d1117"}
_NIGHT = "svg{{color:{ink}}}.paper{{fill:{paper}}}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The elements of an SVG, and how large it is."""

    title: str
    width: float
    height: float
    body: str

    @property
    def head(self) -> str:
        """The tag that begins the SVG."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        box = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {LETTERS} role="img" '
            f'aria-label="{text(self.title)}">'
        )

    def on_paper(self, *, dark: bool | None = None) -> str:
        """Return the SVG for a file, on light or `dark` paper; None leaves that to who shows it."""
        colours = _DARK if dark else _LIGHT
        head = self.head.replace("<svg ", f'<svg color="{colours["ink"]}" ', 1)
        if dark is None:
            night = _NIGHT.format(**_DARK)
            head += f"<style>@media (prefers-color-scheme:dark){{{night}}}</style>"
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        paper = f'<rect class="paper" {size} fill="{colours["paper"]}"/>'
        return f"{head}\n{paper}{self.body}</svg>"


def draw(diagram: Diagram) -> Drawing:
    """Return the drawing of a diagram: its title, a legend of devices, and everything in it."""
    scene = arrange(diagram)
    legend = list(_legend(diagram))
    headline = _headline_lines(diagram.title, max(scene.width, _LEAST_WIDTH * 1.8))
    top = _TOP + _TITLE_LINE * (len(headline) - 1)
    least = max([title_width(line) * 1.02 for line in headline] + [_LEAST_WIDTH])
    width = max(scene.width, least, _legend_width(legend)) + 2 * _MARGIN
    left = (width - scene.width) / 2
    parts = [
        *[
            words(_MARGIN, 22.0 + _TITLE_LINE * index, line, "headline")
            for index, line in enumerate(headline)
        ],
        *_legend_parts(legend, top - 14.0),
        f'<g transform="translate({left:.1f} {top:.1f})">',
        *_parts(diagram, scene),
        "</g>",
    ]
    return Drawing(diagram.title, width, top + scene.height + _MARGIN, "\n".join(parts))


def _headline_lines(title: str, width: float) -> list[str]:
    """Return a title in as many lines as it needs."""
    lines = [""]
    for word in title.split(" "):
        if lines[-1] and title_width(f"{lines[-1]} {word}") > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _parts(diagram: Diagram, scene: Scene) -> Iterator[str]:
    for frame in diagram.frames:
        yield from frame_parts(frame, scene.frames[frame.name])
    yield from wire_parts(diagram.wires, scene.lines, scene.inner)
    for wire, tags in zip(diagram.wires, scene.tags, strict=True):
        for x, y in tags:
            yield words(x, y + 2.0, wire.label, "tag middle")
    for box in diagram.boxes:
        yield from box_parts(box, scene.boxes[box.name])


def _legend(diagram: Diagram) -> Iterator[tuple[str, Look | None]]:
    """Yield the devices, and the looks that need a word."""
    drawn: list[Frame | Box] = [*diagram.frames, *diagram.boxes]
    for device in dict.fromkeys(box.device for box in drawn):
        yield device, None
    looks = {box.look for box in drawn}
    for look, word in _EXPLAINED.items():
        if look in looks:
            yield word, look


def _legend_width(legend: Sequence[tuple[str, Look | None]]) -> float:
    return sum(_entry_width(word, look) for word, look in legend)


def _entry_width(word: str, look: Look | None) -> float:
    return code_width(word) + (30.0 if look is None else 37.0)


def _legend_parts(legend: Sequence[tuple[str, Look | None]], y: float) -> Iterator[str]:
    x = _MARGIN
    for word, look in legend:
        yield swatch(look, word, x, y)
        yield words(x + (15.0 if look is None else 22.0), y, word, "code")
        x += _entry_width(word, look)
