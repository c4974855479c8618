"""Quantities as text: values with a prefix, ratios in words, goals with their verdicts."""

from __future__ import annotations

from tests.benchmarks.goals import BEST, Goal
from tests.benchmarks.line import Line
from tests.benchmarks.workload import Unit

_PREFIXES = {
    Unit.SECONDS: ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    Unit.BYTES: ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}

_WORDS = {Unit.SECONDS: ("faster", "slower"), Unit.BYTES: ("less", "more")}

_VERDICTS = {True: "met", False: "missed", None: "not measured"}


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


def goal_of(line: Line, own: str) -> str:
    """Return what that contestant of ours should reach, and whether it does."""
    goal = line.goal(own)
    return "" if goal is None else f"{_asked(goal, line)}: {_VERDICTS[line.is_met(goal)]}"


def _asked(goal: Goal, line: Line) -> str:
    if goal.against is None:
        return f"at most {quantity(goal.factor, line.unit)}"
    if goal.factor < 1:
        asked = f"{1 / goal.factor:.3g}x faster than"
    else:
        asked = "no slower than" if goal.factor == 1 else f"at most {goal.factor:.3g}x"
    value = line.compared(goal)
    if goal.against == BEST or value is None:  # the ratio to the best peer has a column
        return f"{asked} {goal.against}"
    here = line.best[goal.by] / value
    shown = 1 / here if goal.factor < 1 else here
    return f"{asked} {goal.against} ({quantity(value, line.unit)}, here {shown:.2f}x)"
