"""W15 to W18 and W26, what people meet first: `python -m tests.benchmarks.started` writes their section.

It goes into `started.md`, with its own date and machine, and the page has it as it is. With TENSORFRAME_BASELINE,
another checkout, W16 compares with that. It takes a quarter of an hour.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.benchmarks.effort import Effort
from tests.benchmarks.functions.libraries import by_turns, taken_apart
from tests.benchmarks.header import Header
from tests.benchmarks.line import Line
from tests.benchmarks.machine import Others
from tests.benchmarks.measure import all_measured
from tests.benchmarks.peers import PEERS, present
from tests.benchmarks.quantities import quantity
from tests.benchmarks.tables import Table, contestants, verdicts
from tests.benchmarks.workload import Unit
from tests.benchmarks.workloads.cold import COLD_ENCODER, COMPILATION, FIRST_CALLS
from tests.benchmarks.workloads.in_turn import IN_TURN

SECTION = Path(__file__).with_name("started.md")
NAMES = ["NumPy", "numexpr", "JAX", "torch", "torch.compile"]
EFFORT = Effort(rounds=7, seconds=2.0, warm_calls=5, warm_seconds=0.5)

TEXT = """\
## First calls, and single functions

{facts}

**W15** to **W17**, **W26** Fresh processes on empty caches, compiling, and memory as a user's process has it

{verdicts}

{values}

**W18** One function and `compute()`, in time of NumPy's: each library in a process of its own, by turns

{functions}

Taking an array apart, object by object, as Python's own loops and brackets do:

{apart}
"""


class Asked(NamedTuple):
    """What is asked of functions on arrays of a size: the median of their ratios to NumPy's, and each one's."""

    median: float
    each: float


ASKED: Mapping[int, Asked] = {
    10: Asked(5.0, 12.0),
    10_000: Asked(1.8, float("inf")),
    1_000_000: Asked(0.9, 5.0),
}
HEAD = ["elements", "functions", "median", "asked", "at most", "those above"]


def row(size: int, ratios: Mapping[str, float]) -> list[str]:
    """Return the row of a size: how many functions, their median, what is asked, and which take longer than asked."""
    asked, middle = ASKED[size], median(ratios.values())
    above = {name: ratio for name, ratio in ratios.items() if ratio > asked.each}
    named = [f"{name} {above[name]:.1f}" for name in sorted(above, key=above.__getitem__)]
    verdict = "met" if middle <= asked.median else "missed"
    bound = "" if asked.each == float("inf") else f"{asked.each:g}"
    return [
        f"{size:,}",
        str(len(ratios)),
        f"{middle:.2f}",
        f"{asked.median:g}: {verdict}",
        bound,
        ", ".join(reversed(named)) or ("none" if bound else ""),
    ]


def functions() -> Table:
    """Measure every function on arrays of each size."""
    rows = []
    for size in ASKED:
        rows.append(
            row(size, {name: ours / theirs for name, ours, theirs in by_turns("cpu", size)})
        )
        sys.stderr.write(f"W18 {' '.join(rows[-1])}\n")
    return Table("", HEAD, rows, range(5))


def apart() -> Table:
    """Measure what takes an array of a million elements apart."""
    rows = [
        [name, *[quantity(seconds, Unit.SECONDS) for seconds in taken]]
        for name, taken in taken_apart("cpu", max(ASKED))
    ]
    head = ["", "tensorframe", "NumPy", "PyTorch"][: max(map(len, rows))]
    return Table("", head, rows, range(1, 4))


def main() -> None:
    """Measure, and write the section."""
    peers = present(PEERS, NAMES)
    header, others = Header.now(PEERS, peers, EFFORT), Others()
    lines = all_measured((FIRST_CALLS, COMPILATION, COLD_ENCODER, IN_TURN), peers, EFFORT)
    text = section(header.after(others), lines, functions(), apart())
    SECTION.write_text(text, encoding="utf-8")


def section(header: Header, lines: Sequence[Line], of_functions: Table, of_parts: Table) -> str:
    """Return the section: the machine, each line's verdict and values, the ratios of functions, and what parts take."""
    return TEXT.format(
        facts="\n".join(f"- {fact}" for fact in header.lines()),
        verdicts=verdicts(lines),
        values=contestants(lines, header.contestants),
        functions=of_functions,
        apart=of_parts,
    )


if __name__ == "__main__":
    main()
