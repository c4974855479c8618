"""The plan cache: plans by structure, the least recently used one dropped first."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from tensorframe import config
from tensorframe.backends.registry import when_changed
from tensorframe.schedule.plan import Plan


class PlanCache:
    """Plans by key; safe for several threads, which may at worst make the same plan twice."""

    def __init__(self) -> None:
        # with the time of the latest use: keys are long, and reordering would look each up again
        self._plans: dict[tuple[Any, ...], list[Any]] = {}
        self._lock = threading.Lock()
        self._tick = itertools.count().__next__

    def find(self, key: tuple[Any, ...]) -> Plan | None:
        """Return the plan of `key` under the options in force, if there is one."""
        entry = self._plans.get((config.get(), key))
        if entry is None:
            return None
        entry[1] = self._tick()
        plan: Plan = entry[0]
        return plan

    def add(self, key: tuple[Any, ...], plan: Plan) -> Plan:
        """Keep `plan` for `key` under the options in force, and return it."""
        options = config.get()
        with self._lock:
            self._plans[options, key] = [plan, self._tick()]
            surplus = len(self._plans) - options.plan_cache
            if surplus > 0:
                for one in sorted(self._plans, key=lambda one: self._plans[one][1])[:surplus]:
                    del self._plans[one]
        return plan

    def clear(self) -> None:
        """Forget every plan."""
        with self._lock:
            self._plans.clear()

    def __len__(self) -> int:
        return len(self._plans)


PLANS = PlanCache()
when_changed(PLANS.clear)  # a plan keeps the programs that its backends made
