"""The report: header, tables and failures as a page in Markdown, for the terminal too, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tests.benchmarks.goals import BY_HAND, REFERENCE
from tests.benchmarks.header import Header
from tests.benchmarks.line import Line
from tests.benchmarks.quantities import goal_of
from tests.benchmarks.tables import contestants, first_calls, verdicts
from tests.benchmarks.workload import Workload

HOW = """\
Each workload runs in one process by every contestant in turn, after its result was compared with NumPy's, and the best
of several runs counts; absolute times differ between machines, so the ratios are what to look at. A first call is that
of a fresh process, the library imported and its inputs there; with a cold cache nothing was compiled before, with a
warm one by another process. The page is written by `python -m tests.benchmarks --markdown docs/benchmarks.md` (or
`nox -s bench`), which is not part of the tests. "Numba" is a kernel written by hand for each workload: not a
contestant, as it is specialised for these shapes."""
KEPT = "Everybody's best, while the C library keeps freed memory"
NOTES = Path(__file__).with_name("notes.md")
# sections that are measured apart, by modules of their names
APART = tuple(
    Path(__file__).with_name(name) for name in ("started.md", "learned.md", "outgrown.md")
)


def body(header: Header, lines: Sequence[Line], kept: Sequence[Line] = ()) -> str:
    """Return the header, the tables that have rows, and what failed; `kept` are lines with freed memory kept."""
    tables = (
        verdicts(lines),
        contestants(lines, header.contestants),
        replace(contestants(kept, header.contestants), title=KEPT),
        first_calls(lines, header.contestants),
    )
    facts = "\n".join(f"- {fact}" for fact in header.lines())
    shown = [f"## {table.title}\n\n{table}" for table in tables if table.rows]
    wrong = failures(lines)
    return "\n\n".join([facts, *shown, *([f"## Failures\n\n{wrong}"] if wrong else [])])


def markdown(
    header: Header,
    lines: Sequence[Line],
    workloads: Iterable[Workload],
    kept: Sequence[Line] = (),
) -> str:
    """Return the page: how it is made, on what, the tables, what to know about them, W15 to W26, and all workloads."""
    what = "\n".join(f"- **{workload.name}** {workload.doc}" for workload in workloads)
    apart = [path.read_text(encoding="utf-8").strip() for path in (NOTES, *APART)]
    parts = ["# Benchmarks", HOW, body(header, lines, kept), *apart, "## Workloads", what]
    return "\n\n".join(parts) + "\n"


def failures(lines: Iterable[Line]) -> str:
    """Return a line for each contestant that did not give NumPy's result."""
    return "\n".join(
        f"- {line.workload} {line.title}, {name}: {why}"
        for line in lines
        for name, why in line.failures.items()
    )


def as_json(header: Header, lines: Iterable[Line]) -> str:
    """Return everything that was measured, with ratios and verdicts."""
    content = {"header": asdict(header), "lines": [as_data(line) for line in lines]}
    return json.dumps(content, indent=2) + "\n"


def as_data(line: Line) -> dict[str, Any]:
    """Return a line as it is written to JSON."""
    own = {
        name: {
            "ratio_to_numpy": line.ratio(name, REFERENCE),
            "ratio_to_best_peer": line.ratio(name, line.best_peer),
            "ratio_to_kernel_by_hand": line.ratio(name, BY_HAND),
            "goal": goal_of(line, name),
        }
        for name in line.own
    }
    return asdict(line) | {"unit": line.unit.value, "best_peer": line.best_peer, "own": own}
