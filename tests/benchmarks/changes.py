"""Changes: what is faster or slower than in an earlier report, and which verdicts turned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.goals import OWN, REFERENCE
from tests.benchmarks.line import Line
from tests.benchmarks.quantities import quantity, ratio
from tests.benchmarks.report import as_data

# a smaller difference is noise
NOTICED = 0.05


def changes(old: Path, lines: Iterable[Line]) -> str:
    """Return a line for each value of ours that differs from that of the report in `old`."""
    earlier = {
        (line["workload"], line["title"]): line
        for line in json.loads(old.read_text(encoding="utf-8"))["lines"]
    }
    found = [
        text
        for line in lines
        if (before := earlier.get((line.workload, line.title)))
        for text in _of_line(before, line)
    ]
    return "\n".join(found) or f"no value of ours differs by more than {NOTICED:.0%}"


def _of_line(before: dict[str, Any], line: Line) -> Iterator[str]:
    after = as_data(line)
    for name in OWN:
        if name not in before["best"] or name not in line.best:
            continue
        value = _difference(before, line, name)
        goals = [data["own"][name]["goal"].rpartition(": ")[2] for data in (before, after)]
        verdict = f"goal {goals[0]} -> {goals[1]}" if goals[0] != goals[1] else ""
        if value or verdict:
            told = [value, _difference(before, line, REFERENCE) if value else "", verdict]
            yield f"{line.workload} {line.title}: {'; '.join(filter(None, told))}"


def _difference(before: dict[str, Any], line: Line, name: str) -> str:
    """Return by how much a contestant's value differs, or nothing where that is noise."""
    if name not in before["best"] or name not in line.best:
        return ""
    old, new = before["best"][name], line.best[name]
    if abs(new / old - 1) <= NOTICED:
        return ""
    values = f"{quantity(old, line.unit)} -> {quantity(new, line.unit)}"
    return f"{name} {values}, {ratio(new / old, line.unit)}"
