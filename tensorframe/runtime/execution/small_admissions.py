"""Small admissions: what small evaluations take of a limit is nothing each, and a great deal in a loop that keeps it.

Calls and plans of a few kilobytes are not compared with the credit of a budget: that would take a third of their time.
Instead the host's memory is looked at once in so many nodes, fewer of them the less room there is; near the limit, the
shortest paths are closed, and every light evaluation is admitted or refused. Nothing of this happens without a limit.
"""

from __future__ import annotations

from math import inf

from tensorframe import config
from tensorframe.backends.budget import LIGHT
from tensorframe.backends.host_pool import pool
from tensorframe.graph.node import Node, ticks
from tensorframe.runtime.execution.memory_admission import refuse_small
from tensorframe.runtime.plan_cache import PLANS

# The part of the room that light evaluations may take before the next look; plans may take another one.
_PART = 4
# Nodes between two looks from which on paths stay open.
_FEW = 64
# Bytes of an element at most.
_WIDEST = 16


class Watcher:
    """Looks after the host's memory while it has a limit."""

    def __init__(self) -> None:
        self.due: float = inf

    def wake(self) -> None:
        """Look at the next node: there is another limit."""
        self.due = 0
        ticks.update()

    def look(self, node: Node) -> None:
        """Find out how many more nodes may be computed before the next look."""
        self.due = inf
        PLANS.is_short = False
        if pool.budget.chosen is None:
            return
        room = pool.budget.room()
        nodes = int(room / _PART / _most())
        self.due = node.serial + max(nodes, 1)
        if nodes < _FEW:
            PLANS.close_shortcuts()


def admit_small(node: Node) -> None:
    """Refuse a light evaluation that there is no room for: called before each one while memory is short."""
    need = _most()
    if not pool.budget.admits_light(need):
        refuse_small(node, pool.budget, need)


def _most() -> int:
    """Return the most bytes that a light evaluation keeps for a node."""
    return max(LIGHT, PLANS.largest, _WIDEST * config.get().small_size)


watcher = Watcher()
ticks.add(watcher)
