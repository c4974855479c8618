"""Early evaluation: a loop of small steps that only records is computed while it goes on, some hundred steps at a time.

What is small runs op by op whenever it is computed, so to wait gains nothing: thousands of nodes leave the processor's
cache before they run, and Python's collector of cycles goes through all of them, again and again. Half of the time of a
solver of 64 points goes there. Looking costs next to nothing: one node in hundreds is looked at, and what it needs is
computed if that is a long graph, all of it small and in the host's memory. What fails stays recorded, and its error is
raised where the value is needed.
"""

from __future__ import annotations

from math import prod
from typing import Final

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.graph.growth import is_looked_at
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.runtime import events
from tensorframe.runtime.evaluate import alone
from tensorframe.runtime.small import run_small

# Of so many nodes, one is looked at. A prime, as in graph/growth.py.
EVERY: Final = 521
# Pending nodes from which a graph is long.
LONG: Final = 384
# Sources that need no value from elsewhere, such as an argument of a function that is being recorded.
_GENERATED: Final = frozenset({ARANGE, CONSTANT, FULL})


class _Pause:
    """How many nodes are recorded before the next look: ever more, while there is nothing to compute early."""

    nodes = EVERY


def next_look(node: Node) -> int:
    """Compute what a node is made of, if that is long and small, and return from which serial number to look again.

    The node itself, which somebody is recording, stays as it is.
    """
    options = config.get()
    if (
        needing_nodes
        or spans.onlookers
        or events.listeners
        or options.checked
        or options.small_nodes < LONG
        or not is_looked_at()
    ):
        return node.serial + EVERY
    # numbers have no inputs: their nodes are shared by all programs, and stay numbers
    pending = [
        source for source in dict.fromkeys(node.inputs) if source.storage is None and source.inputs
    ]
    count = _count(pending, options.small_size)
    if count is not None and (count < LONG or run_small(pending, options, alone=alone)):
        _Pause.nodes = EVERY
    else:
        _Pause.nodes = min(2 * _Pause.nodes, 64 * EVERY)
    return node.serial + _Pause.nodes


def _count(roots: list[Node], limit: int) -> int | None:
    """Return how many pending nodes some need; None if one is large, or waits for a value from elsewhere."""
    nodes = list(roots)
    seen = set(nodes)
    for node in nodes:  # grows while it is walked
        inputs = node.inputs  # before storage: see Node.settle
        if node.storage is not None:
            continue
        if prod(node.shape) > limit or not (inputs or node.op in _GENERATED):
            return None
        for source in inputs:
            if source.storage is None and source not in seen:
                seen.add(source)
                nodes.append(source)
    return len(nodes)
