"""The timeline of a profile as a picture: a lane for each device and thread, for transfers, for making kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tensorframe.notebook.figures import time_text
from tensorframe.notebook.style import TRANSFER_HUE, hue, is_bright, text
from tensorframe.runtime.timeline import HOST, MAKING, PLANNING, TRANSFERS, Lane, Slice

PLANNING_HUE, MAKING_HUE = "#8C8C8C", "#9467BD"

WIDTH, LABELS = 900.0, 132.0  # of the picture, and what of it lane names take
_LANE, _GAP, _STRIP = 20.0, 6.0, 5.0
_AXIS = 22.0
_LEAST = 0.7  # narrower slices could not be seen
_APART = 0.6  # nearer ones cannot be told apart

_STYLE = """
.tensorframe .timeline{display:block;width:100%;height:auto;margin:2px 0 10px}
.tensorframe .timeline text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:currentColor}
.tensorframe .timeline .tick{fill:var(--soft);font-variant-numeric:tabular-nums}
.tensorframe .timeline .thread{fill:var(--soft);font-size:9px}
.tensorframe .timeline .grid{stroke:var(--line);stroke-width:1;stroke-dasharray:2 3}
.tensorframe .timeline .track{fill:var(--faint)}
.tensorframe .timeline .inside{fill:var(--soft)}
"""


@dataclass(slots=True)
class _Bar:
    """Slices of one kind that lie too near each other to be told apart."""

    first: Slice
    began: int
    ended: int
    busy: int
    count: int = 1

    def takes(self, one: Slice, apart: float) -> bool:
        """Whether a slice is so near that it belongs to this bar."""
        return one.kind == self.first.kind and one.began - self.ended < apart

    def add(self, one: Slice) -> None:
        self.ended = max(self.ended, one.ended)
        self.busy += one.ended - one.began
        self.count += 1


def timeline(slices: Sequence[Slice], seconds: float, kept: float | None = None) -> str:
    """Return SVG of slices within so many seconds; `kept` are those after which nothing was kept, if so."""
    lanes = _lanes(_apart(slices))
    threads = {lane.thread for lane in lanes}
    length = max(seconds * 1e9, 1.0)
    scale = (WIDTH - LABELS) / length
    parts: list[str] = []
    top = _AXIS
    for lane, found in lanes.items():
        is_strip = lane.group == HOST
        height = _STRIP if is_strip else _LANE
        top += _GAP if is_strip and parts else 0.0  # between threads
        parts.append(_label(lane, top, height, several=len(threads) > 1))
        parts.append(_rectangle("track", LABELS, top, WIDTH - LABELS, height))
        bars = _bars(found, _APART / scale)
        parts += [_bar(bar, lane, top, height, scale) for bar in bars]
        top += height + _GAP + (4.0 if is_strip else 0.0)
    bottom = top - _GAP
    parts.insert(0, "".join(_axis(length, scale, bottom)))
    if kept is not None:
        parts.append(_not_kept(kept * 1e9 * scale, bottom))
    box = f'viewBox="0 0 {WIDTH:g} {bottom + 2:g}"'
    label = "timeline: when each device computed, and what went on beside it"
    return f'<svg class="timeline" {box} role="img" aria-label="{label}">{"".join(parts)}</svg>'


def sheet() -> str:
    """Return the rules that the picture needs."""
    return _STYLE


def colour_of(lane: Lane) -> str:
    """Return the colour of what lies in a lane."""
    own = {PLANNING: PLANNING_HUE, MAKING: MAKING_HUE, TRANSFERS: TRANSFER_HUE}
    return own.get(lane.group) or hue(lane.group)


def _lanes(slices: Iterable[Slice]) -> dict[Lane, list[Slice]]:
    """Return slices by lane: by thread, what prepares first, then devices, then transfers."""
    found: dict[Lane, list[Slice]] = {}
    for one in slices:
        found.setdefault(one.lane, []).append(one)
    places = {HOST: 0, PLANNING: 1, MAKING: 2, TRANSFERS: 4}
    order = sorted(found, key=lambda lane: (lane.thread, places.get(lane.group, 3), lane.group))
    return {lane: found[lane] for lane in order}


def _apart(slices: Iterable[Slice]) -> Iterator[Slice]:
    """Yield slices, those of steps without the making of kernels in them, and that without what lies inside it."""
    making: dict[int, list[Slice]] = {}
    every = list(slices)
    for one in every:
        if one.lane.group == MAKING:
            making.setdefault(one.lane.thread, []).append(one)
    for one in every:
        if one.lane.group in (HOST, PLANNING, TRANSFERS):
            yield one
        else:
            others = making.get(one.lane.thread, ())
            yield from _without(one, [other for other in others if other is not one])


def _without(one: Slice, others: Iterable[Slice]) -> Iterator[Slice]:
    began = one.began
    for other in others:
        if one.began <= other.began and other.ended <= one.ended and other.ended > began:
            if other.began > began:
                yield replace(one, began=began, ended=other.began)
            began = other.ended
    if began < one.ended or began == one.began:
        yield replace(one, began=began)


def _bars(slices: Iterable[Slice], apart: float) -> list[_Bar]:
    """Return slices joined where nobody could see that they are two."""
    found: list[_Bar] = []
    for one in sorted(slices, key=lambda one: one.began):
        if found and found[-1].takes(one, apart):
            found[-1].add(one)
        else:
            found.append(_Bar(one, one.began, one.ended, one.ended - one.began))
    return found


def _bar(bar: _Bar, lane: Lane, top: float, height: float, scale: float) -> str:
    left = LABELS + bar.began * scale
    width = max((bar.ended - bar.began) * scale, _LEAST)
    title = f"<title>{text(_said(bar))}</title>"
    if lane.group == HOST:
        return _rectangle("inside", left, top, width, height, title)
    # many short steps with pauses between look paler than one that lasts as long
    share = min(bar.busy / max(bar.ended - bar.began, 1), 1.0)
    shown = 0.35 + 0.65 * share if bar.count > 1 else 1.0
    shape = f'x="{left:.2f}" y="{top:g}" width="{width:.2f}" height="{height:g}"'
    rounded = ' rx="2"' if width > 6 else ""
    fill = f'fill="{colour_of(lane)}" fill-opacity="{shown:.2f}"'
    return f"<rect {shape}{rounded} {fill}>{title}</rect>{_name(bar, lane, left, top, width)}"


def _name(bar: _Bar, lane: Lane, left: float, top: float, width: float) -> str:
    """Return the name of what a bar shows, inside it, if there is room."""
    one = bar.first
    name = f"{one.kind} {one.facts['for']}" if one.facts.get("for") else one.name
    said = name if bar.count == 1 else f"{bar.count:,} x {name}"
    room = int((width - 10) / 6.3)
    if room < 6 or one.kind == "plan":
        return ""
    said = said if len(said) <= room else f"{said[: room - 1]}…"
    ink = "#000" if is_bright(colour_of(lane)) else "#fff"
    return f'<text x="{left + 5:.1f}" y="{top + 14:g}" style="fill:{ink}">{text(said)}</text>'


def _said(bar: _Bar) -> str:
    one = bar.first
    lines = [f"{bar.count:,} x {one.name}" if bar.count > 1 else f"{one.kind}: {one.name}"]
    lines.append(time_text(bar.busy * 1e-9))
    lines += [str(one.facts[name]) for name in ("for", "where", "line") if one.facts.get(name)]
    return "\n".join(lines)


def _label(lane: Lane, top: float, height: float, *, several: bool) -> str:
    name = "in tensorframe" if lane.group == HOST else lane.group
    middle = top + height / 2 + 4
    if not several or lane.group == HOST:
        kind = ' class="thread"' if lane.group == HOST else ""
        said = f"{name}, {lane.name[:14]}" if several else name
        return f'<text{kind} x="0" y="{middle - 1 if kind else middle:g}">{text(said)}</text>'
    thread = f'<tspan class="thread" dx="5">{text(lane.name[:14])}</tspan>'
    return f'<text x="0" y="{middle:g}">{text(name)}{thread}</text>'


def _axis(length: float, scale: float, bottom: float) -> Iterator[str]:
    """Yield times at the top, and lines down through the lanes."""
    step = _round(length / 6)
    at = 0.0
    while at <= length:
        x = LABELS + at * scale
        anchor = "start" if at == 0 else "end" if WIDTH - x < 24 else "middle"
        said = time_text(at * 1e-9) if at else "0"
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 5:g}" y2="{bottom:g}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{_AXIS - 9:g}" text-anchor="{anchor}">{said}</text>'
        at += step


def _round(step: float) -> float:
    """Return the next larger of 1, 2, 5, 10, 20 ..."""
    power = 1.0
    while power * 10 <= step:
        power *= 10
    return next(power * one for one in (1, 2, 5, 10) if power * one >= step)


def _not_kept(left: float, bottom: float) -> str:
    x = LABELS + left
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 5:g}" y2="{bottom:g}" stroke="{TRANSFER_HUE}"/>'
        f'<text class="tick" x="{x + 5:.1f}" y="{bottom - 5:g}">single steps are not kept from here on</text>'
    )


def _rectangle(
    kind: str, left: float, top: float, width: float, height: float, inside: str = ""
) -> str:
    shape = f'x="{left:.2f}" y="{top:g}" width="{width:.2f}" height="{height:g}"'
    return f'<rect class="{kind}" {shape}>{inside}</rect>'
