"""Recognition: graphs that a line evaluates again and again are recognised by a guard, and run without a walk.

A loop records the same graph in each turn. Its first evaluations walk the graph: they run it op by op, or find its
plan. After a few dozen, a guard is printed for the line (`specialization.py`): where it recognises the graph, the same
functions, or the same plan, run on the leaves. So results are the same to the bit, and only the way to them is shorter.
"""

from __future__ import annotations

from typing import Any, Final

from tensorframe.backends import spans
from tensorframe.config import Options
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node
from tensorframe.runtime.eager.small_graphs import Alone
from tensorframe.runtime.plan_cache import PLANS

# Evaluations of a line before a guard is printed, which takes as long as so many walks.
RUNS = 64
# Graphs in a row that a guard does not recognise before it is dropped.
_MISSES: Final = 16
# Lines that are remembered.
_KEPT: Final = 1024


class Line:
    """What is known of a line that evaluates results of one shape: how often it did, and its guard, if there is one."""

    __slots__ = ("misses", "run", "runs")

    def __init__(self) -> None:
        self.runs = 0
        self.misses = 0
        self.run: Any = None


def run_recognized(root: Node, options: Options, alone: Alone) -> bool:
    """Compute `root` if its line has a guard that recognises its graph; else do nothing and return False."""
    site = root.site
    if site is None or spans.onlookers or needing_nodes or options.checked or PLANS.is_short:
        return False
    lines = PLANS.lines(options)
    # if the code object's address was reused by another one, the guard recognises nothing
    key = (id(site[0]), site[1], root.shape)
    line = lines.get(key)
    if line is None:
        if len(lines) >= _KEPT:
            lines.clear()
        line = lines[key] = Line()
    run = line.run
    if run is not None:
        if run(root):
            line.misses = 0
            return True
        line.misses += 1
        if line.misses == _MISSES:
            line.run, line.misses = None, 0
            line.runs = -RUNS
        return False
    line.runs += 1
    if line.runs >= RUNS:
        from tensorframe.runtime.guards.specialization import (
            guard_of,  # loaded by the first such loop
        )

        line.runs = 0
        line.run = guard_of(root, options, alone)
    return False
