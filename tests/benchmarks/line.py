"""A line of the table: what a case gave, contestant by contestant."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.benchmarks.goals import BEST, BY_HAND, OWN, Goal
from tests.benchmarks.workload import Case, Unit, Workload


@dataclass
class Line:
    """The best value of each contestant, or why there is none; and what it should have been."""

    workload: str
    title: str
    unit: Unit = Unit.SECONDS
    goals: tuple[Goal, ...] = ()
    best: dict[str, float] = field(default_factory=dict)
    yardsticks: dict[str, float] = field(default_factory=dict)
    first: dict[str, dict[str, float]] = field(default_factory=dict)  # calls, by state of the cache
    failures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, workload: Workload, case: Case) -> Line:
        """Return the line of a case before anything is measured."""
        return cls(workload.name, case.title, case.unit, case.goals)

    @property
    def own(self) -> list[str]:
        """The contestants of ours that there is a value of."""
        return [name for name in OWN if name in self.best]

    @property
    def best_peer(self) -> str | None:
        """The best of the other libraries."""
        others = [name for name in self.best if name not in OWN and name != BY_HAND]
        return min(others, key=self.best.__getitem__, default=None)

    def ratio(self, own: str, peer: str | None) -> float | None:
        """Our value over that of a peer: below one is better."""
        if peer is None or peer not in self.best or own not in self.best:
            return None
        return self.best[own] / self.best[peer]

    def goal(self, own: str) -> Goal | None:
        """What that contestant of ours should reach."""
        return next((goal for goal in self.goals if goal.by == own), None)

    def compared(self, goal: Goal) -> float | None:
        """The value that a goal compares with, or None where that was not measured."""
        name = self.best_peer if goal.against == BEST else goal.against
        values = self.best | self.yardsticks
        return None if name is None else values.get(name)

    def is_met(self, goal: Goal) -> bool | None:
        """Whether a goal is reached, or None where that cannot be told."""
        scale = 1.0 if goal.against is None else self.compared(goal)
        if scale is None or goal.by not in self.best:
            return None
        return self.best[goal.by] <= goal.factor * scale
