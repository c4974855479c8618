"""Shapes: boxes and frames as elements of SVG. What a box is shows in its outline, where it runs in its colour."""

from __future__ import annotations

from collections.abc import Iterator

from tensorframe.notebook.diagrams.diagram import Box, Frame, Look
from tensorframe.notebook.diagrams.layout import Area
from tensorframe.notebook.diagrams.measures import HEADER, LINE, code_width
from tensorframe.notebook.style import OTHER_HUE, TRANSFER_HUE, hue, is_bright, text

_ROUND = 7.0  # the corners of frames, and of what could be one
_PILL = 13.0  # the most of those of inputs, results and transfers

# of all text that says nothing else
LETTERS = (
    'font-family="system-ui,-apple-system,Segoe UI,Roboto,Helvetica Neue,Arial,sans-serif" '
    'font-size="12" font-weight="600" fill="currentColor"'
)
_CODE = 'font-family="Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="10.5" font-weight="400"'
_LOOKS = {
    "headline": 'font-size="13"',
    "middle": 'text-anchor="middle"',
    "name": 'font-size="11" font-weight="500"',
    "code": f'{_CODE} fill-opacity="0.7"',
    "tag": f'{_CODE} fill-opacity="0.7"',
    "note": _CODE,
    "bright": 'fill="#fff"',
    "dark": 'fill="#111"',
}


def frame_parts(frame: Frame, area: Area) -> Iterator[str]:
    colour = hue(frame.device)
    yield f'<g class="{frame.look.value} frame">{_hint(frame.hint)}'
    yield _rect(
        area, _ROUND, f'fill="{colour}" fill-opacity="0.07" stroke="{colour}" stroke-width="1.4"'
    )
    yield _header(area, colour, frame.title, frame.note)
    if frame.look is Look.LIBRARY:
        yield _bars(area, colour, HEADER)
    yield "</g>"


def box_parts(box: Box, area: Area) -> Iterator[str]:
    yield f'<g class="{box.look.value} box">{_hint(box.hint)}'
    colour = hue(box.device)
    middle = area.x + area.width / 2
    if box.copies > 1:
        yield _behind(area, colour)
    y = area.y + (16.5 if box.lines else area.height / 2 + 4.3)
    if box.closed:
        yield _rect(area, _ROUND, f'fill="{colour}" fill-opacity="0.09" stroke="{colour}"')
        yield _header(area, colour, box.title, box.note)
        if box.look is Look.LIBRARY:
            yield _bars(area, colour, HEADER)
        y = area.y + HEADER + 14.5
    else:
        yield _shape(box.look, area, colour)
        yield words(middle, y, box.title, "middle")
        y += LINE
    for index, line in enumerate(box.lines):
        # what a closed step is made of is its content; below any other title stand details
        content = box.closed and (box.ops > 1 or index == 0)
        yield words(middle, y + LINE * index, line, "name middle" if content else "code middle")
    yield "</g>"


def _behind(area: Area, colour: str) -> str:
    """Return the edges of further boxes behind one that is a stack."""
    edges = ""
    for shift in (4.0, 8.0):
        x, y = area.x + shift, area.y - shift
        right, foot = x + area.width, y + area.height
        edges += (
            f"M{x:.1f} {y + 4:.1f}V{y:.1f}H{right - _ROUND:.1f}q{_ROUND} 0 {_ROUND} {_ROUND}"
            f"V{foot:.1f}h-4"
        )
    return f'<path d="{edges}" fill="none" stroke="{colour}" stroke-opacity="0.7"/>'


def swatch(look: Look | None, device: str, x: float, y: float) -> str:
    """Return what a legend shows of a device, or of a look, with its foot at `y`."""
    if look is None:
        return _rect(Area(x, y - 9, 10, 10), 2.5, f'fill="{hue(device)}"')
    return _shape(look, Area(x, y - 9.5, 17, 11), OTHER_HUE)


def _hint(hint: str) -> str:
    return f"<title>{text(hint)}</title>" if hint else ""


def _shape(look: Look, area: Area, colour: str) -> str:
    round_end = min(area.height / 2, 13.0)
    if look is Look.INPUT:
        return _rect(area, round_end, f'fill="{colour}" fill-opacity="0.22" stroke="{colour}"')
    if look is Look.RESULT:
        return _rect(
            area,
            round_end,
            f'fill="{colour}" fill-opacity="0.22" stroke="{colour}" stroke-width="2.6"',
        )
    if look is Look.TRANSFER:
        return _rect(
            area,
            round_end,
            f'fill="{TRANSFER_HUE}" fill-opacity="0.14" stroke="{TRANSFER_HUE}" stroke-width="1.6"',
        )
    if look is Look.VIEW:
        return _rect(area, 5.0, f'fill="none" stroke="{colour}" stroke-dasharray="4 3"')
    shape = _rect(area, 5.0, f'fill="{colour}" fill-opacity="0.13" stroke="{colour}"')
    return shape + _bars(area, colour, 0.0) if look is Look.LIBRARY else shape


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
    ink = "dark" if is_bright(colour) else "bright"
    name = words(area.x + 9.0, area.y + 15.5, title, ink)
    if not note:
        return bar + name
    return bar + name + words(right - code_width(note) - 9.0, area.y + 15.0, note, f"note {ink}")


def _bars(area: Area, colour: str, top: float) -> str:
    """Return the bars at both sides of a call, as flow charts mark subroutines."""
    left, right = area.x + 4.5, area.x + area.width - 4.5
    head, foot = area.y + top, area.y + area.height
    return (
        f'<path d="M{left:.1f} {head:.1f}V{foot:.1f}M{right:.1f} {head:.1f}V{foot:.1f}" '
        f'stroke="{colour}" stroke-width="1.2" fill="none"/>'
    )


def words(x: float, y: float, content: str, names: str) -> str:
    """Return text in the looks of these names."""
    looks = " ".join([_LOOKS[name] for name in names.split()])
    return f'<text x="{x:.1f}" y="{y:.1f}" {looks}>{text(content)}</text>'
