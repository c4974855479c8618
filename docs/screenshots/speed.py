"""Makes docs/images/speed-light.svg and speed-dark.svg: the chart of the README, of tables in docs/benchmarks.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[1]
IMAGES = DOCS / "images"
# the workloads that are drawn, as the page calls them, and what the chart calls them
WORKLOADS = {
    "W1 expression, 4 M": "exp(-a*a)*sin(b)+a/(1+b*b)",
    "W2 softmax, 4096x1024": "softmax of rows",
    "W4 variance, axis 1": "variance of rows",
    "W5 layer norm, 4096x1024": "layer norm",
    "W6 Black-Scholes, 2 M": "Black-Scholes prices",
    "W7 transposed, 2048x2048": "a.T*2 + b[:, None]",
    "W10 heat, 512x512, 1000 steps": "heat equation, jit",
}
PEERS = ("NumPy", "JAX", "torch", "torch.compile")
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_LEFT, _BARS, _ROW, _BAR, _TOP, _FOOT = 190, 420, 62, 9, 46, 30
_TICKS = (1, 5, 10, 15, 20)
_MOST = 20.0  # times as long: longer bars end here
_COLOURS = {"NumPy": "#8a8f98", "JAX": "#9c6ade", "torch": "#e0703c", "torch.compile": "#c9a227"}
_OURS = "#1f9d8a"


class Theme(NamedTuple):
    """The colours of a page."""

    name: str
    ink: str
    soft: str
    line: str


THEMES = (
    Theme("light", "#1f2328", "#59636e", "#d1d9e0"),
    Theme("dark", "#f0f6fc", "#9198a1", "#3d444d"),
)


class Row(NamedTuple):
    """A workload: tensorframe's seconds, and how many times as long each peer takes."""

    title: str
    seconds: float
    times: dict[str, float]


def rows_of(page: str) -> list[Row]:
    """Return the rows of the chart from the table "Everybody's best"."""
    table = page.partition("## Everybody's best")[2].partition("\n## ")[0]
    head, _, *lines = [line for line in table.splitlines() if line.startswith("|")]
    names = _cells(head)
    rows = []
    for line in lines:
        cells = dict(zip(names, _cells(line), strict=True))
        title = WORKLOADS.get(" ".join(_cells(line)[:2]))
        if title is None:
            continue
        seconds = _seconds(cells.get("tfr.jit") or cells["tensorframe"])
        measured = [peer for peer in PEERS if _is_time(cells.get(peer, ""))]
        times = {peer: _seconds(cells[peer]) / seconds for peer in measured}
        rows.append(Row(title, seconds, times))
    return rows


def caption_of(page: str) -> str:
    """Return the machine and the date of the run."""
    date, machine = re.findall(r"^- (.*)$", page, re.MULTILINE)[:2]
    return f"{machine}, {date.partition(' ')[0]}. Time beside tensorframe's: short is fast"


def chart(page: str, theme: Theme) -> str:
    """Return the chart as SVG."""
    rows = rows_of(page)
    longest = min(_MOST, max(max(row.times.values()) for row in rows))
    height = _TOP + _ROW * len(rows) + _FOOT
    width = _LEFT + _BARS + 90
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="12">'
        ),
        *_legend(theme),
        *_grid(theme, height, longest),
    ]
    for number, row in enumerate(rows):
        parts += _bars(theme, row, _TOP + _ROW * number, longest)
    caption = _escaped(caption_of(page))
    parts.append(
        f'<text x="{width / 2}" y="{height - 8}" fill="{theme.soft}" text-anchor="middle">{caption}</text>'
    )
    return "\n".join([*parts, "</svg>\n"])


def _legend(theme: Theme) -> list[str]:
    parts, x = [], float(_LEFT)
    for name, colour in {"tensorframe": _OURS, **_COLOURS}.items():
        parts.append(f'<rect x="{x:.0f}" y="10" width="11" height="11" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="20" fill="{theme.ink}">{name}</text>')
        x += 34 + 6.6 * len(name)
    return parts


def _grid(theme: Theme, height: int, longest: float) -> list[str]:
    parts = []
    for tick in _TICKS:
        x = _LEFT + _BARS * tick / longest
        if tick > longest:
            break
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 12}" x2="{x:.1f}" y2="{height - _FOOT}" stroke="{theme.line}"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{_TOP - 14}" fill="{theme.soft}" text-anchor="middle" font-size="10">{tick}x</text>'
        )
    return parts


def _bars(theme: Theme, row: Row, top: float, longest: float) -> list[str]:
    middle = top + _ROW / 2 - 4
    parts = [
        f'<text x="{_LEFT - 10}" y="{middle:.1f}" fill="{theme.ink}" text-anchor="end">{_escaped(row.title)}</text>',
        (
            f'<text x="{_LEFT - 10}" y="{middle + 14:.1f}" fill="{theme.soft}" text-anchor="end" font-size="11">'
            f"{_time_text(row.seconds)}</text>"
        ),
    ]
    bars = {"tensorframe": 1.0, **row.times}
    for number, (name, times) in enumerate(bars.items()):
        y = top + number * (_BAR + 1)
        colour = _COLOURS.get(name, _OURS)
        length = _BARS * min(times, longest) / longest
        parts.append(
            f'<rect x="{_LEFT}" y="{y:.1f}" width="{length:.1f}" height="{_BAR}" rx="2" fill="{colour}"/>'
        )
        if name != "tensorframe":
            parts.append(
                f'<text x="{_LEFT + length + 5:.1f}" y="{y + 8:.1f}" fill="{theme.soft}" font-size="9">'
                f"{times:.1f}x{' and cut' if times > longest else ''}</text>"
            )
    return parts


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _is_time(text: str) -> bool:
    """Whether a cell has a time: it is empty where a peer takes no part, and says so where it failed."""
    return text.partition(" ")[2] in _UNITS


def _seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * _UNITS[unit]


def _time_text(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def main() -> None:
    """Write the chart for light pages and for dark ones."""
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    for theme in THEMES:
        (IMAGES / f"speed-{theme.name}.svg").write_text(chart(page, theme), "utf-8")


if __name__ == "__main__":
    main()
