"""The timeline of a profile as a picture: a lane for each device and thread, for transfers, for making kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tensorframe.notebook.figures import time_text
from tensorframe.notebook.style import (
    TITLE,
    TRANSFER_HUE,
    framed,
    hue,
    image,
    is_bright,
    text,
)
from tensorframe.runtime.timeline import HOST, MAKING, PLANNING, TRANSFERS, Lane, Slice

PLANNING_HUE, MAKING_HUE = "#8C8C8C", "#9467BD"

WIDTH, LABELS = 900.0, 132.0  # of the picture, and what of it lane names take
_LANE, _GAP, _STRIP = 20.0, 6.0, 5.0
_AXIS = 22.0
_LEAST = 0.7  # narrower slices could not be seen
_APART = 0.6  # nearer ones cannot be told apart
_SAID = 5  # names of what is in one bar
_FONT = 'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="11" fill="currentColor"'

# a colour that words and lines have on light and on dark pages, where these cannot lend theirs
_OWN_INK = "#808080"
_SOFT, _FAINT, _LINE = (f'fill-opacity="{share}"' for share in (0.65, 0.08, 0.5))


@dataclass(slots=True)
class _Bar:
    """Slices of one kind that lie too near each other to be told apart."""

    first: Slice
    began: int
    ended: int
    shares: dict[str, _Share] = field(default_factory=dict)

    def takes(self, one: Slice, apart: float) -> bool:
        """Whether a slice is so near that it belongs to this bar."""
        return one.kind == self.first.kind and one.began - self.ended < apart

    def add(self, one: Slice) -> None:
        self.ended = max(self.ended, one.ended)
        share = self.shares.setdefault(_named(one), _Share(one))
        share.busy += one.ended - one.began
        share.count += 1

    @property
    def busy(self) -> int:
        """Nanoseconds in which something ran."""
        return sum(share.busy for share in self.shares.values())

    @property
    def count(self) -> int:
        """How many slices there are."""
        return sum(share.count for share in self.shares.values())

    def longest_first(self) -> list[_Share]:
        """Return what took the bar's time, by name; of equal ones the first comes first."""
        return sorted(self.shares.values(), key=lambda share: -share.busy)


@dataclass(slots=True)
class _Share:
    """The slices of one name in a bar."""

    first: Slice
    busy: int = 0
    count: int = 0

    def __str__(self) -> str:
        name = _named(self.first)
        return name if self.count == 1 else f"{self.count:,} x {name}"


def _named(one: Slice) -> str:
    return f"{one.kind} {one.facts['for']}" if one.facts.get("for") else one.name


def timeline(slices: Sequence[Slice], seconds: float, kept: float | None = None) -> str:
    """Return the picture of slices within so many seconds; after `kept` of them, if so, no slices were kept.

    It is SVG that takes the page's ink and says more of what one points at; around that an image of it, for pages that
    show no SVG.
    """
    box, body = _drawn(slices, seconds, kept)
    label = "timeline: when each device computed, and what went on beside it"
    shown = image(_on_its_own(box, body), label, "width:100%;max-width:960px")
    look = 'role="img" style="display:block;width:100%;height:auto"'
    head = f'<svg {box} {_FONT} {look} aria-label="{label}">'
    return framed(head, shown, body, "margin:2px 0 10px")


def _on_its_own(box: str, body: str) -> str:
    """Return the SVG of an image."""
    size = f'width="{WIDTH:g}" {box} {_FONT} color="{_OWN_INK}"'
    without = TITLE.sub("", body).replace(_SOFT, "")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{without}</svg>'


def _drawn(slices: Sequence[Slice], seconds: float, kept: float | None) -> tuple[str, str]:
    """Return the box that an SVG shows, and the elements in it."""
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
        parts.append(_rectangle(_FAINT, LABELS, top, WIDTH - LABELS, height))
        bars = _bars(found, _APART / scale)
        parts += [_bar(bar, lane, top, height, scale) for bar in bars]
        top += height + _GAP + (4.0 if is_strip else 0.0)
    bottom = top - _GAP
    parts.insert(0, "".join(_axis(length, scale, bottom)))
    if kept is not None:
        parts.append(_not_kept(kept * 1e9 * scale, bottom))
    return f'viewBox="0 0 {WIDTH:g} {bottom + 2:g}"', "".join(parts)


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
        if not found or not found[-1].takes(one, apart):
            found.append(_Bar(one, one.began, one.ended))
        found[-1].add(one)
    return found


def _bar(bar: _Bar, lane: Lane, top: float, height: float, scale: float) -> str:
    left = LABELS + bar.began * scale
    width = max((bar.ended - bar.began) * scale, _LEAST)
    title = f"<title>{text(_said(bar))}</title>"
    if lane.group == HOST:
        return _rectangle(_LINE, left, top, width, height, title)
    # many short steps with pauses between look paler than one that lasts as long
    share = min(bar.busy / max(bar.ended - bar.began, 1), 1.0)
    shown = 0.35 + 0.65 * share if bar.count > 1 else 1.0
    shape = f'x="{left:.2f}" y="{top:g}" width="{width:.2f}" height="{height:g}"'
    rounded = ' rx="2"' if width > 6 else ""
    fill = f'fill="{colour_of(lane)}" fill-opacity="{shown:.2f}"'
    return f"<rect {shape}{rounded} {fill}>{title}</rect>{_name(bar, lane, left, top, width)}"


def _name(bar: _Bar, lane: Lane, left: float, top: float, width: float) -> str:
    """Return the name of what took the most of a bar, inside it, if there is room."""
    room = int((width - 10) / 6.3)
    if room < 6 or bar.first.kind == "plan":
        return ""
    longest, *others = bar.longest_first()
    more = sum(share.count for share in others)
    said = f"{longest} and {more:,} more" if more else str(longest)
    said = said if len(said) <= room else f"{said[: room - 1]}…"
    ink = "#000" if is_bright(colour_of(lane)) else "#fff"
    return f'<text x="{left + 5:.1f}" y="{top + 14:g}" fill="{ink}">{text(said)}</text>'


def _said(bar: _Bar) -> str:
    shares = bar.longest_first()
    one = shares[0].first
    lines = [str(shares[0]) if bar.count > 1 else f"{one.kind}: {one.name}"]
    lines.append(time_text(shares[0].busy * 1e-9))
    lines += [str(one.facts[name]) for name in ("for", "where", "line") if one.facts.get(name)]
    lines += [f"{share}: {time_text(share.busy * 1e-9)}" for share in shares[1:_SAID]]
    rest = sum(share.count for share in shares[_SAID:])
    return "\n".join([*lines, *([f"and {rest:,} more"] if rest else [])])


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
    at = 0.0
    while at <= length:
        x = LABELS + at * scale
        anchor = "start" if at == 0 else "end" if WIDTH - x < 24 else "middle"
        said = time_text(at * 1e-9) if at else "0"
        line = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_AXIS - 5:g}" y2="{bottom:g}"'
        yield f'<line {line} stroke="currentColor" stroke-opacity="0.25" stroke-dasharray="2 3"/>'
        yield f'<text {_SOFT} x="{x:.1f}" y="{_AXIS - 9:g}" text-anchor="{anchor}">{said}</text>'
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
        f'<text {_SOFT} x="{x + 5:.1f}" y="{bottom - 5:g}">single steps are not kept from here on</text>'
    )


def _rectangle(
    look: str, left: float, top: float, width: float, height: float, inside: str = ""
) -> str:
    shape = f'x="{left:.2f}" y="{top:g}" width="{width:.2f}" height="{height:g}"'
    return f"<rect {look} {shape}>{inside}</rect>"
