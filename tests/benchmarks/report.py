"""The report: lines as one table, for the terminal and Markdown alike, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from tests.benchmarks.machine import Header
from tests.benchmarks.measure import Line
from tests.benchmarks.peers import OURS, REFERENCE
from tests.benchmarks.workload import Unit, Workload

_PREFIXES = {
    Unit.SECONDS: ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    Unit.BYTES: ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}

_WORDS = {Unit.SECONDS: ("faster", "slower"), Unit.BYTES: ("less", "more")}

HOW = """\
Each workload runs in one process by every peer in turn, after its result was compared with NumPy's, and the best of
several runs counts; absolute times differ between machines, so the ratios are what to look at. The table is written by
`python -m tests.benchmarks --markdown docs/benchmarks.md` (or `nox -s bench`), which is not part of the tests."""


def quantity(value: float, unit: Unit) -> str:
    """Return a value with three digits and the prefix that suits it."""
    scale, name = next((one for one in _PREFIXES[unit] if value >= one[0]), _PREFIXES[unit][-1])
    number = value / scale
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f} {name}"


def ratio(value: float | None, unit: Unit) -> str:
    """Return `1.30x faster`, `2.00x slower`; of bytes `less` and `more`."""
    if value is None:
        return ""
    better, worse = _WORDS[unit]
    return f"{1 / value:.2f}x {better}" if value < 1 else f"{value:.2f}x {worse}"


def cells(lines: Iterable[Line], peers: Sequence[str]) -> list[list[str]]:
    """Return the table's rows, its head first."""
    others = [name for name in peers if name != OURS]
    head = ["", "workload", OURS, *others, f"to {REFERENCE}", "to the best peer", "goal"]
    rows = [head]
    for line in lines:
        values = [
            quantity(line.best[name], line.unit)
            if name in line.best
            else "failed"
            if name in line.failures
            else ""
            for name in (OURS, *others)
        ]
        best = ratio(line.ratio(line.fastest_peer), line.unit)
        named = f"{best} ({line.fastest_peer})" if best else ""
        to_numpy = ratio(line.ratio(REFERENCE), line.unit)
        rows.append([line.workload, line.title, *values, to_numpy, named, _goal(line)])
    return rows


def _goal(line: Line) -> str:
    if line.at_most is None or OURS not in line.best:
        return ""
    met = "met" if line.best[OURS] <= line.at_most else "missed"
    return f"at most {quantity(line.at_most, line.unit)}: {met}"


def table(lines: Iterable[Line], peers: Sequence[str]) -> str:
    """Return the table in Markdown, its columns aligned for reading as it is."""
    rows = cells(lines, peers)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = range(2, 2 + len(peers))

    def row(values: Sequence[str]) -> str:
        padded = [
            value.rjust(width) if at in numeric else value.ljust(width)
            for at, (value, width) in enumerate(zip(values, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * (width - 1) + ":" if at in numeric else "-" * width for at, width in enumerate(widths)
    ]
    return "\n".join([row(rows[0]), row(rule), *map(row, rows[1:])])


def markdown(header: Header, lines: Sequence[Line], workloads: Iterable[Workload]) -> str:
    """Return the page: how it is made, on what, the table, and what the workloads are."""
    facts = "\n".join(f"- {fact}" for fact in header.lines())
    what = "\n".join(f"- **{one.name}** {one.doc}" for one in workloads)
    wrong = failures(lines)
    return (
        f"# Benchmarks\n\n{HOW}\n\n{facts}\n\n{table(lines, list(header.versions))}\n\n"
        + (f"Failures:\n\n{wrong}\n\n" if wrong else "")
        + f"{what}\n"
    )


def failures(lines: Iterable[Line]) -> str:
    """Return a line for each peer that did not give NumPy's result."""
    return "\n".join(
        f"- {line.workload} {line.title}, {name}: {why}"
        for line in lines
        for name, why in line.failures.items()
    )


def as_json(header: Header, lines: Iterable[Line]) -> str:
    """Return everything that was measured, with the ratios."""
    measured = [
        asdict(line)
        | {
            "unit": line.unit.value,
            "ratio_to_numpy": line.ratio(REFERENCE),
            "best_peer": line.fastest_peer,
            "ratio_to_best_peer": line.ratio(line.fastest_peer),
        }
        for line in lines
    ]
    return json.dumps({"header": asdict(header), "lines": measured}, indent=2) + "\n"
