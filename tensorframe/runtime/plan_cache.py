"""The plan cache: plans by structure, the least recently used one dropped first."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import Any

from tensorframe import config
from tensorframe.backends.registry import when_changed
from tensorframe.backends.spans import log
from tensorframe.config import Options
from tensorframe.forks import new_lock
from tensorframe.schedule.plan import Plan

Key = tuple[Any, ...]
# plans with the time of their latest use: keys are long, and reordering would look each up again
Entries = dict[Key, list[Any]]
# what computes one node of computed inputs: a function of their handles and the attributes, or the program of a plan,
# with the plan (runtime/eager/calls.py)
Call = tuple[Any, Plan | None]
# Calls that are kept under the same options.
_MOST_CALLS = 4096


class PlanCache:
    """Plans by key; safe for several threads, which may at worst make the same plan twice."""

    def __init__(self) -> None:
        self._plans: dict[Options, Entries] = {}
        # of the options seen last: to compare all of them takes longer than to find a plan
        self._latest: tuple[Options | None, Entries] = (None, {})
        # calls, and ufuncs that run a node at once (runtime/eager/ufuncs.py)
        self._calls: dict[Options, tuple[dict[Key, Call], dict[Key, Any], dict[Key, Any]]] = {}
        # of the options seen last, which those who compute one node after the other compare themselves
        self.latest_calls: tuple[Options | None, dict[Key, Call]] = (None, {})
        self.ready: tuple[Options | None, dict[Key, Any]] = (None, {})
        # guards of graphs, by the lines that evaluate them (runtime/guards/recognition.py)
        self._latest_lines: tuple[Options | None, dict[Key, Any]] = (None, {})
        # whether memory is short, so that nothing runs before it was looked at: see execution/small_admissions.py
        self.is_short = False
        # bytes of the largest result of a call without a plan
        self.largest = 0
        self._lock = new_lock()
        self._tick = itertools.count().__next__

    def find(self, key: Key, options: Options | None = None) -> Plan | None:
        """Return the plan of `key` under the options in force, if there is one; a caller may know these already."""
        options = options or config.get()
        latest, entries = self._latest
        entry = (entries if latest is options else self._under(options)).get(key)
        if entry is None:
            return None
        entry[1] = self._tick()
        plan: Plan = entry[0]
        return plan

    def add(self, key: Key, plan: Plan) -> Plan:
        """Keep `plan` for `key` under the options in force, and return it."""
        options = config.get()
        entries = self._under(options)
        with self._lock:
            entries[key] = [plan, self._tick()]
            if len(self) > options.plan_cache:
                # an eighth at a time: to find what was used least is to look at all
                self._drop(len(self) - options.plan_cache + options.plan_cache // 8)
        return plan

    def calls(self, options: Options) -> dict[Key, Call]:
        """Return the calls that are known under these options; they are gone whenever a plan is dropped."""
        latest, calls = self.latest_calls
        if latest is not options:
            with self._lock:
                calls, ready, lines = self._calls.setdefault(options, ({}, {}, {}))
                if self.is_short:
                    return calls
                self.latest_calls = (options, calls)
                self.ready = (options, ready)
                self._latest_lines = (options, lines)
        return calls

    def lines(self, options: Options) -> dict[Key, Any]:
        """Return what is known of the lines that evaluate graphs under these options: see guards/recognition.py."""
        latest, lines = self._latest_lines
        if latest is not options:
            self.calls(options)
            _, lines = self._latest_lines
        return lines

    def close_shortcuts(self) -> None:
        """Have everybody who computes a node ask for `calls` before, until memory is not short any more."""
        with self._lock:
            self.is_short = True
            self.latest_calls = (None, {})
            self.ready = (None, {})

    def keep_call(self, key: Key, call: Call, options: Options) -> Call:
        """Keep the call for nodes of this key, and return it."""
        calls = self.calls(options)
        if len(calls) >= _MOST_CALLS:
            calls.clear()
        calls[key] = call
        return call

    def keep_ready(self, key: Key, function: Any, options: Options) -> None:
        """Keep the ufunc that runs nodes of this key at once."""
        latest, ready = self.ready
        if latest is options:
            if len(ready) >= _MOST_CALLS:
                ready.clear()
            ready[key] = function

    def _forget_calls(self) -> None:
        self._calls.clear()
        self.latest_calls = (None, {})
        self.ready = (None, {})
        self._latest_lines = (None, {})

    def _under(self, options: Options) -> Entries:
        """Return the plans made under these options."""
        latest, entries = self._latest
        if latest is not options:
            with self._lock:
                entries = self._plans.setdefault(options, {})
                self._latest = (options, entries)
        return entries

    def _drop(self, surplus: int) -> None:
        used = [
            (entry[1], entries, key)
            for entries in self._plans.values()
            for key, entry in entries.items()
        ]
        most = config.get().plan_cache
        for _, entries, key in sorted(used, key=itemgetter(0))[:surplus]:
            plan: Plan = entries.pop(key)[0]
            names = "; ".join([step.name for step in plan.steps[:3]])
            log("evicted the plan of %s: plan_cache is %d", names, most, detail=True)
        self._forget_calls()

    def clear(self) -> None:
        """Forget every plan."""
        with self._lock:
            self._plans.clear()
            self._latest = (None, {})
            self._forget_calls()

    def __len__(self) -> int:
        return sum(map(len, self._plans.values()))


PLANS = PlanCache()
when_changed(PLANS.clear)  # a plan keeps the programs that its backends made
