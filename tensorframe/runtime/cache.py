"""The plan cache: plans by structure, the least recently used one dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from tensorframe import config
from tensorframe.schedule.plan import Plan


class PlanCache:
    """Plans by key; safe for several threads, which may at worst make the same plan twice."""

    def __init__(self) -> None:
        self._plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def find(self, key: tuple[Any, ...]) -> Plan | None:
        """Return the plan of `key` under the options in force, if there is one."""
        full_key = (config.get(), key)
        with self._lock:
            plan = self._plans.get(full_key)
            if plan is not None:
                self._plans.move_to_end(full_key)
                self.hits += 1
            return plan

    def add(self, key: tuple[Any, ...], plan: Plan) -> Plan:
        """Keep `plan` for `key` under the options in force, and return it."""
        options = config.get()
        with self._lock:
            self.misses += 1
            self._plans[options, key] = plan
            while len(self._plans) > options.plan_cache:
                self._plans.popitem(last=False)
        return plan

    def clear(self) -> None:
        """Forget every plan."""
        with self._lock:
            self._plans.clear()

    def __len__(self) -> int:
        return len(self._plans)


PLANS = PlanCache()
