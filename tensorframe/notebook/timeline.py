"""The timeline of a profile as a picture: a lane for each device and thread, for transfers, for making kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tensorframe.notebook.bars import Bar, bars_of, lanes_of
from tensorframe.notebook.figures import time_text
from tensorframe.notebook.style import (
    TRANSFER_HUE,
    framed,
    hue,
    image,
    is_bright,
    text,
)
from tensorframe.notebook.wording import shortened
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.profiling.timeline import (
    HOST,
    MAKING,
    OPENING,
    PLANNING,
    TRANSFERS,
    Lane,
    Slice,
)

OPENING_HUE, PLANNING_HUE, MAKING_HUE = "#8C564B", "#8C8C8C", "#9467BD"

WIDTH, LABELS = 900.0, 132.0  # of the picture, and what of it lane names take
_LANE, _GAP, _STRIP = 20.0, 6.0, 5.0
_AXIS = 22.0
_LEAST = 0.7  # narrower slices could not be seen
_APART = 0.6  # nearer ones cannot be distinguished
_FONT = 'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="11" fill="currentColor"'

# a colour that words and lines have on light and on dark pages, where these cannot lend theirs
_OWN_INK = "#808080"
_SOFT, _FAINT, _LINE = (f'fill-opacity="{share}"' for share in (0.65, 0.08, 0.5))


class _Block(NamedTuple):
    """A bar where it is drawn."""

    bar: Bar
    look: str
    left: float
    top: float
    width: float
    height: float


def timeline(slices: Sequence[Slice], seconds: float, kept: float | None = None) -> str:
    """Return the picture of slices within so many seconds; after `kept` of them, if so, no slices were kept.

    It is SVG that takes the page's ink and says more of what one points at; around that an image of it, for pages that
    show no SVG.
    """
    lanes = lanes_of(slices)
    length = max(seconds * 1e9, 1.0)
    scale = (WIDTH - LABELS) / length
    back: list[str] = []
    blocks: list[_Block] = []
    names: list[str] = []
    top, several = _AXIS, len({lane.thread for lane in lanes}) > 1
    for lane, on_lane in lanes.items():
        is_strip = lane.group == HOST
        height = _STRIP if is_strip else _LANE
        top += _GAP if is_strip and back else 0.0  # between threads
        back.append(_label(lane, top, height, several=several))
        back.append(_rectangle(_FAINT, LABELS, top, WIDTH - LABELS, height))
        drawn = [_block(bar, lane, top, height, scale) for bar in bars_of(on_lane, _APART / scale)]
        names += [] if is_strip else [_name(block, lane) for block in drawn]
        blocks += drawn
        top += height + _GAP + (4.0 if is_strip else 0.0)
    bottom = top - _GAP
    back += _axis(length, scale, bottom)
    if kept is not None:
        names.append(_not_kept(kept * 1e9 * scale, bottom))
    return _frame(bottom + 2, "".join(back), blocks, "".join(names))


def _frame(height: float, back: str, blocks: Sequence[_Block], names: str) -> str:
    """Return what is drawn as SVG, and as an image in its description."""
    label = "timeline: when each device computed, and what went on beside it"
    box = f'viewBox="0 0 {WIDTH:g} {height:g}" {_FONT}'
    alone = f'width="{WIDTH:g}" {box} color="{_OWN_INK}"'
    body = f"{back.replace(_SOFT, '')}{_outlines(blocks)}{names.replace(_SOFT, '')}"
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {alone}>{body}</svg>'
    shown = image(svg, label, "width:100%;max-width:960px")
    look = 'role="img" style="display:block;width:100%;height:auto"'
    head = f'<svg {box} {look} aria-label="{label}">'
    return framed(
        head, shown, back + "".join(map(_pointed_at, blocks)) + names, "margin:2px 0 10px"
    )


def colour_of(lane: Lane) -> str:
    """Return the colour of what lies in a lane."""
    own = {
        OPENING: OPENING_HUE,
        PLANNING: PLANNING_HUE,
        MAKING: MAKING_HUE,
        TRANSFERS: TRANSFER_HUE,
    }
    return own.get(lane.group) or hue(lane.group)


def _block(bar: Bar, lane: Lane, top: float, height: float, scale: float) -> _Block:
    left = LABELS + bar.began * scale
    width = max((bar.ended - bar.began) * scale, _LEAST)
    if lane.group == HOST:
        return _Block(bar, _LINE, left, top, width, height)
    # many short steps with pauses between look paler than one that lasts as long
    share = min(bar.busy / max(bar.ended - bar.began, 1), 1.0)
    shown = 0.35 + 0.65 * share if bar.count > 1 else 1.0
    fill = f'fill="{colour_of(lane)}" fill-opacity="{shown:.2f}"'
    return _Block(bar, fill, left, top, width, height)


def _pointed_at(block: _Block) -> str:
    """Return a block that says what it is of."""
    bar, look, left, top, width, height = block
    rounded = 'rx="2" ' if width > 6 and height > _STRIP else ""
    title = f"<title>{text(bar.described())}</title>"
    return _rectangle(f"{rounded}{look}", left, top, width, height, title)


def _outlines(blocks: Iterable[_Block]) -> str:
    """Return the blocks of an image: nobody points at them, so those that look the same are one path."""
    paths: dict[str, str] = {}
    for _, look, left, top, width, height in blocks:
        outline = f"M{left:.1f} {top:g}h{width:.1f}v{height:g}h-{width:.1f}z"
        paths[look] = paths.get(look, "") + outline
    return "".join([f'<path {look} d="{outlines}"/>' for look, outlines in paths.items()])


def _name(block: _Block, lane: Lane) -> str:
    """Return the name of what took the most of a bar, inside it, if there is room."""
    room = int((block.width - 10) / 6.3)
    if room < 6 or block.bar.first.kind == "plan":
        return ""
    said = shortened(block.bar.named(), room)
    ink = "#000" if is_bright(colour_of(lane)) else "#fff"
    return f'<text x="{block.left + 5:.1f}" y="{block.top + 14:g}" fill="{ink}">{text(said)}</text>'


def _label(lane: Lane, top: float, height: float, *, several: bool) -> str:
    name = "in tensorframe" if lane.group == HOST else lane.group
    middle = top + height / 2 + 4
    if not several or lane.group == HOST:
        kind = f' font-size="9" {_SOFT}' if lane.group == HOST else ""
        said = f"{name}, {lane.name[:14]}" if several else name
        return f'<text{kind} x="0" y="{middle - 1 if kind else middle:g}">{text(said)}</text>'
    thread = f'<tspan font-size="9" {_SOFT} dx="5">{text(lane.name[:14])}</tspan>'
    return f'<text x="0" y="{middle:g}">{text(name)}{thread}</text>'


def _axis(length: float, scale: float, bottom: float) -> Iterator[str]:
    """Yield times at the top, and lines down through the lanes."""
    step = _round(length / 6)
    time = 0.0
    while time <= length:
        x = LABELS + time * scale
        anchor = "start" if time == 0 else "end" if WIDTH - x < 24 else "middle"
        said = time_text(time * 1e-9) if time else "0"
        line = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 5:g}" y2="{bottom:g}"'
        yield f'<line {line} stroke="currentColor" stroke-opacity="0.25" stroke-dasharray="2 3"/>'
        yield f'<text {_SOFT} x="{x:.1f}" y="{_AXIS - 9:g}" text-anchor="{anchor}">{said}</text>'
        time += step


def _round(step: float) -> float:
    """Return the next larger of 1, 2, 5, 10, 20 ..."""
    power = 1.0
    while power * 10 <= step:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)


def _not_kept(left: float, bottom: float) -> str:
    x = LABELS + left
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 5:g}" y2="{bottom:g}" stroke="{TRANSFER_HUE}"/>'
        f'<text {_SOFT} x="{x + 5:.1f}" y="{bottom - 5:g}">single steps are not kept from here on</text>'
    )


def _rectangle(
    look: str, left: float, top: float, width: float, height: float, inside: str = ""
) -> str:
    shape = f'x="{left:.2f}" y="{top:g}" width="{width:.2f}" height="{height:g}"'
    return f"<rect {look} {shape}>{inside}</rect>"
