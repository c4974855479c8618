"""The page of a profile: where the time went, a timeline, and a row for each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tensorframe.frontend.diagnostics.profiling import Profile
from tensorframe.frontend.diagnostics.tables import shorten
from tensorframe.notebook.figures import share_text, time_text
from tensorframe.notebook.style import (
    APART,
    SHADE,
    TRANSFER_HUE,
    dot,
    gauge,
    hue,
    numbers,
    page,
    text,
    words,
)
from tensorframe.notebook.timeline import MAKING_HUE, OPENING_HUE, PLANNING_HUE, timeline
from tensorframe.runtime.profiling.records import DeviceMemory, MadeKernel, Record, Summary
from tensorframe.schedule.plan import human_bytes

_ROWS = 15  # that are seen at once; the others open with a click
_NAME, _SOURCE = 60, 90  # characters

# JupyterLab has rules of its own for tables, which these have to outweigh
_STYLE = """
.tensorframe .headline b{font-size:20px;font-weight:600;font-variant-numeric:tabular-nums}
.tensorframe .legend{font-variant-numeric:tabular-nums}
.tensorframe .profile table{table-layout:auto;font-size:12.5px}
.tensorframe.tensorframe .profile tr{background:none}
.tensorframe .profile td,.tensorframe .profile th{vertical-align:top}
.tensorframe .profile th{border-bottom:1px solid var(--line);padding-bottom:4px;white-space:nowrap}
.tensorframe .profile td{padding-top:6px;padding-bottom:0;white-space:nowrap}
.tensorframe .profile td:first-child{width:100%;max-width:0;overflow:hidden;text-overflow:ellipsis}
.tensorframe .profile td b{font-weight:600}
.tensorframe .profile .line td{border-bottom:1px solid var(--faint);padding-top:1px;padding-bottom:6px;
color:var(--soft);font-size:11.5px}
.tensorframe .profile tr:last-child td{border-bottom:0}
.tensorframe .profile td:last-child,.tensorframe .profile th:last-child{padding-right:0}
.tensorframe .line code{font-size:11px}
.tensorframe .profile details{margin-top:8px}
.tensorframe .notes{color:var(--soft)}
"""
_SHARE = f"display:flex;height:10px;margin:8px 0 6px;border-radius:3px;overflow:hidden;background:{SHADE}"
_FILLED, _HOLLOW = "\N{BLACK SQUARE}", "\N{WHITE SQUARE}"


def profile_page(profile: Profile) -> str:
    """Return a profile as a piece of HTML."""
    summary = profile.summary
    parts = [_headline(summary), _shares(profile.records, summary)]
    slices = profile.slices
    if slices:
        parts.append(timeline(slices, summary.seconds, profile.kept_until))
    parts += [_table(profile.records, summary.seconds), _made(profile.kernels_made)]
    parts.append(_notes([*map(_memory, profile.memory), *map(text, profile.notes())]))
    return page(f'<div class="profile" style="max-width:960px">{"".join(parts)}</div>', _STYLE)


def _headline(summary: Summary) -> str:
    runs = [
        _count(summary.runs, "plan run"),
        _count(summary.small_runs, "small graph"),
        _count(summary.plans_made, "plan") + " made" if summary.plans_made else "",
        f"{summary.plans_found:,} from the cache" if summary.plans_found else "",
        f"{summary.replays:,} replayed by jit" if summary.replays else "",
    ]
    said = " · ".join(filter(None, runs)) or "nothing was computed"
    took = f"<b>{time_text(summary.seconds)}</b>"
    return f'<div class="headline">{took}{APART}<span class="soft">{said}</span></div>'


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if number else ""


def _shares(records: Sequence[Record], summary: Summary) -> str:
    """Return a bar of where the time went, and what its colours mean."""
    parts = [
        (name, seconds, colour) for name, seconds, colour in _parts(records, summary) if seconds
    ]
    whole = summary.accounted or 1.0
    bar, legend = [], []
    for name, seconds, colour in parts:
        share = seconds / whole
        mark = dot(colour, _FILLED) if colour else dot("#888888", _HOLLOW)
        said = f"{text(name)} {time_text(seconds)}"
        legend.append(f'{mark}{said} <span class="soft">{share_text(share)}</span>')
        fill = f";background:{colour}" if colour else ""
        bar.append(f'<i style="width:{100 * share:.2f}%{fill}" title="{said}"></i>')
    shares = f'<div class="share" style="{_SHARE}">{"".join(bar)}</div>'
    return f'{shares}<div class="legend" style="margin:0 0 12px">{APART.join(legend)}</div>'


def _parts(records: Sequence[Record], summary: Summary) -> Iterator[tuple[str, float, str]]:
    devices: dict[str, float] = {}
    for record in records:
        if record.kind != "transfer":
            devices[record.device] = devices.get(record.device, 0.0) + record.seconds
    for device, seconds in devices.items():
        yield f"on {device}", seconds, hue(device)
    yield "transfers", summary.steps["transfer"], TRANSFER_HUE
    yield "making kernels", summary.making, MAKING_HUE
    yield "opening devices", summary.opening, OPENING_HUE
    yield "planning", summary.planning, PLANNING_HUE
    yield "overhead", summary.overhead, f"{PLANNING_HUE}99"
    yield "outside tensorframe", summary.outside, ""


def _table(records: Sequence[Record], seconds: float) -> str:
    if not records:
        return ""
    shown = [record for record in records if record.kind != "view"] or list(records)
    with_limits = any(record.share_of_limit is not None for record in shown)
    head = _head(with_limits=with_limits)
    rows = [_row(record, seconds, with_limits=with_limits) for record in shown]
    table = _rows(head, rows[:_ROWS])
    if len(rows) <= _ROWS:
        return table
    rest = _rows(head, rows[_ROWS:])
    return f"{table}<details><summary>{len(rows) - _ROWS:,} more</summary>{rest}</details>"


def _rows(head: str, rows: Iterable[str]) -> str:
    return f'<table cellpadding="4" style="width:100%;margin:0">{head}{"".join(rows)}</table>'


def _head(*, with_limits: bool) -> str:
    names = ["calls", "total", "", "mean", "fastest", "GB/s", "GFLOP/s"]
    names += ["of limit"] if with_limits else []
    heads = words("ops", "device", tag="th").replace("<th ", '<th width="40%" ', 1)
    return f"<tr>{heads}{numbers(*names, tag='th')}</tr>"


def _row(record: Record, seconds: float, *, with_limits: bool) -> str:
    name = f"<b>{text(shorten(record.name, _NAME))}</b>"
    colour = TRANSFER_HUE if record.kind == "transfer" else hue(record.device)
    place = text(record.device.replace("->", "\N{RIGHTWARDS ARROW}"))
    share = record.seconds / seconds if seconds else 0.0
    figures = [
        f"{record.calls:,}",
        time_text(record.seconds),
        f'<span class="soft">{share_text(share)}</span>',
        _mean(record),
        time_text(record.fastest),
        _billions(record.bytes_per_second),
        _billions(record.flops_per_second),
    ]
    figures += [_gauge(record.share_of_limit)] if with_limits else []
    first = f"<tr>{words(name, dot(colour) + place)}{numbers(*figures)}</tr>"
    across = f'colspan="{2 + len(figures)}" style="text-align:left"'
    return f'{first}<tr class="line"><td {across}>{_line(record)}</td></tr>'


def _mean(record: Record) -> str:
    """Return the mean time of a call, and how much of it the device itself has counted."""
    if record.device_seconds is None:
        return time_text(record.mean)
    counted = time_text(record.device_seconds / record.calls)
    return f'{time_text(record.mean)}<br><span class="soft">{counted} on device</span>'


def _line(record: Record) -> str:
    """Return what a row is, and where the user wrote it."""
    kind = {"library": "library call", "small": "small graph"}.get(record.kind, record.kind)
    source = f"<code>{text(shorten(record.source, _SOURCE))}</code>" if record.source else ""
    return APART.join(filter(None, [", ".join(filter(None, [kind, text(record.line)])), source]))


def _billions(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate / 1e9:.3g}" if rate >= 1e7 else "&lt; 0.01"


def _gauge(share: float | None) -> str:
    if share is None:
        return ""
    return share_text(share) + gauge(share)


def _made(made: Sequence[MadeKernel]) -> str:
    """Return the kernels that were made, closed: they are of interest the first time."""
    if not made:
        return ""
    disk = [kernel for kernel in made if kernel.from_disk]
    compiled = [kernel for kernel in made if not kernel.from_disk]
    said = " and ".join(filter(None, [_sum(compiled, "compiled"), _sum(disk, "loaded from disk")]))
    rows = [_made_row(kernel) for kernel in made]
    head = words("kernel", "for", "", tag="th") + numbers("time", tag="th")
    return f"<details><summary>{said}</summary>{_rows(f'<tr>{head}</tr>', rows)}</details>"


def _sum(made: Sequence[MadeKernel], how: str) -> str:
    return (
        f"{_count(len(made), 'kernel')} {how} in {time_text(sum(kernel.seconds for kernel in made))}"
        if made
        else ""
    )


def _made_row(kernel: MadeKernel) -> str:
    how = f"{kernel.compiler}, from disk" if kernel.from_disk else f"{kernel.compiler}, compiled"
    step = f"{text(shorten(kernel.step, _NAME))} <span class='soft'>{text(kernel.line)}</span>"
    cells = words(f"<code>{text(kernel.name)}</code>", step, how)
    return f"<tr>{cells}{numbers(time_text(kernel.seconds))}</tr>"


def _memory(memory: DeviceMemory) -> str:
    if memory.is_planned:
        said = f"{human_bytes(memory.peak)} for the largest plan, its inputs included"
    else:
        said = f"{human_bytes(memory.peak)} in use at most, {memory.allocations:,} blocks allocated"
    return f"{dot(hue(memory.device))}memory of {text(memory.device)}: {said}"


def _notes(notes: Iterable[str]) -> str:
    lines = "".join([f"<div>{note}</div>" for note in notes])
    return f'<div class="notes" style="margin:10px 0 0">{lines}</div>'
