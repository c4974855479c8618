"""Tables of the report: what matters in one, every contestant's value in another, first calls in a third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.first_call import COLD, WARM
from tests.benchmarks.goals import BY_HAND, OURS, REFERENCE
from tests.benchmarks.line import Line
from tests.benchmarks.quantities import goal_of, quantity, ratio
from tests.benchmarks.workload import Unit

Rows = list[list[str]]


@dataclass(frozen=True)
class Table:
    """A title, a head and rows; columns from `numeric` on are aligned at the right, up to `words`."""

    title: str
    head: list[str]
    rows: Rows
    numbers: range

    def __str__(self) -> str:
        """The table in Markdown, its columns aligned for reading as it is."""
        widths = [max(map(len, column)) for column in zip(self.head, *self.rows, strict=True)]

        def row(values: Sequence[str]) -> str:
            padded = [
                value.rjust(width) if index in self.numbers else value.ljust(width)
                for index, (value, width) in enumerate(zip(values, widths, strict=True))
            ]
            return f"| {' | '.join(padded)} |"

        rule = [
            "-" * (width - 1) + ":" if index in self.numbers else "-" * width
            for index, width in enumerate(widths)
        ]
        return "\n".join([row(self.head), row(rule), *map(row, self.rows)])


def verdicts(lines: Sequence[Line]) -> Table:
    """Return a row for each of ours on each line: its value, the ratios, the goal."""
    head = [
        "",
        "workload",
        OURS,
        f"to {REFERENCE}",
        "to the best peer",
        "to the kernel by hand",
        "goal",
    ]
    rows = [_verdict(line, own) for line in lines for own in line.own]
    return Table("Ratios and goals", head, rows, range(2, 3))


def _verdict(line: Line, own: str) -> list[str]:
    title = line.title if own == OURS else f"{line.title}, {own}"
    best = ratio(line.ratio(own, line.best_peer), line.unit)
    return [
        line.workload,
        title,
        quantity(line.best[own], line.unit),
        ratio(line.ratio(own, REFERENCE), line.unit),
        f"{best} ({line.best_peer})" if best else "",
        ratio(line.ratio(own, BY_HAND), line.unit),
        goal_of(line, own),
    ]


def contestants(lines: Sequence[Line], names: Sequence[str]) -> Table:
    """Return everybody's best value on each line."""
    shown = [name for name in names if any(name in line.best | line.failures for line in lines)]
    rows = [[line.workload, line.title, *(_value(line, name) for name in shown)] for line in lines]
    return Table("Everybody's best", ["", "workload", *shown], rows, range(2, 2 + len(shown)))


def _value(line: Line, name: str) -> str:
    if name in line.best:
        return quantity(line.best[name], line.unit)
    return "failed" if name in line.failures else ""


def first_calls(lines: Sequence[Line], names: Sequence[str]) -> Table:
    """Return the first calls of those that compile, with cold caches and, for those that keep some, warm ones."""
    columns = [
        (name, state)
        for name in names
        for state in (COLD, WARM)
        if any(state in line.first.get(name, {}) for line in lines)
    ]
    rows = [
        [line.workload, line.title, *(_first(line, name, state) for name, state in columns)]
        for line in lines
        if line.first
    ]
    head = ["", "workload", *(f"{name}, {state}" for name, state in columns)]
    return Table("First calls", head, rows, range(2, 2 + len(columns)))


def _first(line: Line, name: str, state: str) -> str:
    value = line.first.get(name, {}).get(state)
    return "" if value is None else quantity(value, Unit.SECONDS)
