"""Drawing: a scene as SVG. Shapes say what a box is, colours where it runs; the sheet says how dark ink is.

The same elements serve a page, whose own colours the ink takes on, and a file, which brings ink and paper with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorframe.notebook.diagram import Box, Diagram, Frame, Look, Wire
from tensorframe.notebook.layout import Area, Scene, arrange
from tensorframe.notebook.measures import HEADER, LINE, code_width, has_header, title_width
from tensorframe.notebook.placing import ARROW, Curve, Turn
from tensorframe.notebook.style import TRANSFER_HUE, hue, is_bright, text

_MARGIN = 16.0
_TOP = 54.0  # a title of one line, and the legend
_TITLE_LINE = 17.0
_CORNER = 6.0  # of lines that turn
_ROUND = 7.0  # of frames
_LEAST_WIDTH = 320.0

# Fonts and widths of lines; ink is the colour of text, soft that of what matters less, line that of wires.
_SHEET = """
text{font:600 12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:%(ink)s;stroke:none}
text.code,text.tag{font:10.5px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:%(soft)s}
text.name{font-weight:500;font-size:11px}
text.middle{text-anchor:middle}
text.headline{font-size:13px}
text.header{fill:#fff}
text.dark{fill:#111}
.wire{fill:none;stroke:%(line)s;stroke-width:1.3}
.arrow{fill:%(line)s;stroke:none}
.wire.moves{stroke:%(move)s;stroke-width:2.4}
.arrow.moves{fill:%(move)s}
.paper{fill:%(paper)s}
"""
_LIGHT = {"ink": "#1f2328", "soft": "#59636e", "line": "#8c959f", "paper": "#ffffff"}
_DARK = {"ink": "#e6edf3", "soft": "#9198a1", "line": "#6e7681", "paper": "#0d1117"}
_PAGE = {"ink": "currentColor", "soft": "var(--soft)", "line": "var(--wire)", "paper": "none"}


@dataclass(frozen=True, slots=True)
class Drawing:
    """The elements of an SVG, and how large it is."""

    title: str
    width: float
    height: float
    body: str

    def on_page(self) -> str:
        """Return the SVG for a page, whose own colours it takes."""
        rules = _SHEET % (_PAGE | {"move": TRANSFER_HUE})
        return self._svg("".join(f".tensorframe svg {rule}" for rule in _single(rules)), "")

    def on_paper(self, *, dark: bool | None = None) -> str:
        """Return the SVG for a file, on light or `dark` paper; None leaves that to who shows it."""
        sheet = _SHEET % ((_DARK if dark else _LIGHT) | {"move": TRANSFER_HUE})
        if dark is None:
            night = _SHEET % (_DARK | {"move": TRANSFER_HUE})
            sheet += f"@media (prefers-color-scheme:dark){{{night}}}"
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        return self._svg(sheet, f'<rect class="paper" {size}/>')

    def _svg(self, sheet: str, paper: str) -> str:
        size = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        box = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" '
            f'aria-label="{text(self.title)}"><style>{sheet}</style>\n{paper}{self.body}</svg>'
        )


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
            _text(_MARGIN, 22.0 + _TITLE_LINE * at, line, "headline")
            for at, line in enumerate(headline)
        ],
        *_legend_parts(legend, top - 14.0),
        f'<g transform="translate({left:.1f} {top:.1f})">',
        *_parts(diagram, scene),
        "</g>",
    ]
    return Drawing(diagram.title, width, top + scene.height + _MARGIN, "\n".join(parts))


def _single(rules: str) -> Iterator[str]:
    """Yield each rule once for each of its selectors, so that all can be told to hold inside the picture alone."""
    for rule in rules.strip().splitlines():
        selectors, _, body = rule.partition("{")
        for selector in selectors.split(","):
            yield f"{selector}{{{body}"


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
        yield from _frame(frame, scene.frames[frame.name])
    for wire, lines, inner in zip(diagram.wires, scene.lines, scene.inner, strict=True):
        yield _wire(wire, lines, inner)
    for wire, tags in zip(diagram.wires, scene.tags, strict=True):
        for x, y in tags:
            yield _text(x, y + 2.0, wire.label, "tag middle")
    for box in diagram.boxes:
        yield from _box(box, scene.boxes[box.name])


def _wire(wire: Wire, lines: Sequence[Curve | Turn], inner: Sequence[Curve | Turn]) -> str:
    hint = f"<title>{text(wire.label)}</title>" if wire.label else ""
    # inside a kernel a value has arrived
    parts = _strokes(lines, " moves" if wire.moves else "") + _strokes(inner, "")
    return f"<g>{hint}{parts}</g>"


def _strokes(lines: Sequence[Curve | Turn], kind: str) -> str:
    if not lines:
        return ""
    path = " ".join(_path(line) for line in lines)
    ends = [
        line.end if isinstance(line, Curve) else line.points[-1] for line in lines if line.arrow
    ]
    arrows = "".join(
        f"M{x:.1f} {y:.1f}l{-ARROW * 0.8:.1f} {-ARROW * 1.6:.1f}h{ARROW * 1.6:.1f}z"
        for x, y in ends
    )
    heads = f'<path class="arrow{kind}" d="{arrows}"/>' if arrows else ""
    return f'<path class="wire{kind}" d="{path}"/>{heads}'


def _path(line: Curve | Turn) -> str:
    if isinstance(line, Turn):
        return _turning(line)
    (x0, y0), (foot, head), (x1, y1) = line.start, line.bends, line.end
    tip = y1 - 1.5 * ARROW if line.arrow else y1
    if abs(x0 - x1) < 0.5:
        return f"M{x0:.1f} {y0:.1f}L{x1:.1f} {tip:.1f}"
    middle = (foot + head) / 2
    down = f"M{x0:.1f} {y0:.1f}" + (f"V{foot:.1f}" if foot - y0 > 0.5 else "")
    over = f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {head:.1f}"
    return down + over + (f"V{tip:.1f}" if tip - head > 0.5 else "")


def _turning(line: Turn) -> str:
    """Return a line around corners, each of them round."""
    points = line.points
    found = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1), (x2, y2) in zip(points, points[1:], points[2:], strict=False):
        before = min(_CORNER, (abs(x1 - x0) + abs(y1 - y0)) / 2)
        behind = min(_CORNER, (abs(x2 - x1) + abs(y2 - y1)) / 2)
        ax, ay = x1 - before * _sign(x1 - x0), y1 - before * _sign(y1 - y0)
        bx, by = x1 + behind * _sign(x2 - x1), y1 + behind * _sign(y2 - y1)
        found += f"L{ax:.1f} {ay:.1f}Q{x1:.1f} {y1:.1f} {bx:.1f} {by:.1f}"
    tip = points[-1][1] - (1.5 * ARROW if line.arrow else 0.0)
    return found + f"L{points[-1][0]:.1f} {tip:.1f}"


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _frame(frame: Frame, area: Area) -> Iterator[str]:
    colour = hue(frame.device)
    yield f'<g class="{frame.look.value} frame">{_hint(frame.hint)}'
    yield _rect(
        area, 7.0, f'fill="{colour}" fill-opacity="0.07" stroke="{colour}" stroke-width="1.4"'
    )
    yield _header(area, colour, frame.title, frame.note)
    if frame.look is Look.LIBRARY:
        yield _bars(area, colour, HEADER)
    yield "</g>"


def _box(box: Box, area: Area) -> Iterator[str]:
    yield f'<g class="{box.look.value} box">{_hint(box.hint)}'
    colour = hue(box.device)
    middle = area.x + area.width / 2
    y = area.y + (16.5 if box.lines else area.height / 2 + 4.3)
    if has_header(box):
        yield _rect(area, _ROUND, f'fill="{colour}" fill-opacity="0.09" stroke="{colour}"')
        yield _header(area, colour, box.title, box.note)
        if box.look is Look.LIBRARY:
            yield _bars(area, colour, HEADER)
        y = area.y + HEADER + 14.5
    else:
        yield _shape(box, area, colour)
        yield _text(middle, y, box.title, "middle")
        y += LINE
    for at, line in enumerate(box.lines):
        # what a closed step is made of is its content; below any other title stand details
        content = has_header(box) and (box.ops > 1 or at == 0)
        yield _text(middle, y + LINE * at, line, "name middle" if content else "code middle")
    yield "</g>"


def _shape(box: Box, area: Area, colour: str) -> str:
    round_end = min(area.height / 2, 13.0)
    if box.look is Look.INPUT:
        return _rect(area, round_end, f'fill="{colour}" fill-opacity="0.22" stroke="{colour}"')
    if box.look is Look.RESULT:
        return _rect(
            area,
            round_end,
            f'fill="{colour}" fill-opacity="0.22" stroke="{colour}" stroke-width="2.6"',
        )
    if box.look is Look.TRANSFER:
        return _rect(
            area,
            round_end,
            f'fill="{TRANSFER_HUE}" fill-opacity="0.14" stroke="{TRANSFER_HUE}" stroke-width="1.6"',
        )
    if box.look is Look.VIEW:
        return _rect(area, 5.0, f'fill="none" stroke="{colour}" stroke-dasharray="4 3"')
    shape = _rect(area, 5.0, f'fill="{colour}" fill-opacity="0.13" stroke="{colour}"')
    return shape + _bars(area, colour, 0.0) if box.look is Look.LIBRARY else shape


def _rect(area: Area, corner: float, look: str) -> str:
    return (
        f'<rect x="{area.x:.1f}" y="{area.y:.1f}" width="{area.width:.1f}" height="{area.height:.1f}" '
        f'rx="{corner:.1f}" {look}/>'
    )


def _header(area: Area, colour: str, title: str, note: str) -> str:
    """Return the bar over a kernel: wires that enter end at it, and go on below."""
    right, foot = area.x + area.width, area.y + HEADER
    corner = _ROUND
    bar = (
        f'<path d="M{area.x:.1f} {foot:.1f}V{area.y + corner:.1f}q0 {-corner} {corner} {-corner}'
        f'H{right - corner:.1f}q{corner} 0 {corner} {corner}V{foot:.1f}z" fill="{colour}"/>'
    )
    ink = "header dark" if is_bright(colour) else "header"
    name = _text(area.x + 9.0, area.y + 15.5, title, ink)
    if not note:
        return bar + name
    return bar + name + _text(right - code_width(note) - 9.0, area.y + 15.0, note, f"code {ink}")


def _bars(area: Area, colour: str, top: float) -> str:
    """Return the bars at both sides of a call, as flow charts mark subroutines."""
    left, right = area.x + 4.5, area.x + area.width - 4.5
    head, foot = area.y + top, area.y + area.height
    return (
        f'<path d="M{left:.1f} {head:.1f}V{foot:.1f}M{right:.1f} {head:.1f}V{foot:.1f}" '
        f'stroke="{colour}" stroke-width="1.2" fill="none"/>'
    )


def _legend(diagram: Diagram) -> Iterator[tuple[str, str]]:
    """Yield the word and the colour of each device, and what else needs a word."""
    devices = dict.fromkeys(one.device for one in (*diagram.boxes, *diagram.frames))
    for device in devices:
        yield device, hue(device)


def _legend_width(legend: Sequence[tuple[str, str]]) -> float:
    return sum(code_width(word) + 30.0 for word, _ in legend)


def _legend_parts(legend: Sequence[tuple[str, str]], y: float) -> Iterator[str]:
    x = _MARGIN
    for word, colour in legend:
        yield f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2.5" fill="{colour}"/>'
        yield _text(x + 15.0, y, word, "code")
        x += code_width(word) + 30.0


def _hint(hint: str) -> str:
    return f"<title>{text(hint)}</title>" if hint else ""


def _text(x: float, y: float, content: str, name: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{name}">{text(content)}</text>'
