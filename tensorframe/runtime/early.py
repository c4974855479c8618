"""Early evaluation: a loop of small steps that only records is computed while it goes on, some hundred steps at a time.

What is small runs op by op whenever it is computed, so to wait gains nothing: thousands of nodes leave the processor's
cache before they run, and Python's collector of cycles goes through all of them, again and again. Half of the time of a
solver of 64 points goes there. Looking costs next to nothing: one node in hundreds is looked at, and what it needs is
computed if that is a long graph, all of it small and in the host's memory. What fails stays recorded, and its error is
raised where the value is needed.
"""

from __future__ import annotations

from typing import Final

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.config import Options
from tensorframe.graph.growth import is_looked_at
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.runtime import events
from tensorframe.runtime.evaluate import alone
from tensorframe.runtime.small import run_graph, small_graph

# Pending nodes from which a graph is long.
LONG: Final = 384
# Sources that need no value from elsewhere, such as an argument of a function that is being recorded.
_GENERATED: Final = frozenset({ARANGE, CONSTANT, FULL})


def compute_early(node: Node) -> bool:
    """Compute what a node is made of, if that is long and small; return False where it is no use to look soon again.

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
        return True
    # numbers have no inputs: their nodes are shared by all programs, and stay numbers
    pending = [
        source for source in dict.fromkeys(node.inputs) if source.storage is None and source.inputs
    ]
    return not pending or _computed(pending, options)


def _computed(nodes: list[Node], options: Options) -> bool:
    """Compute nodes whose graph is long; return whether such graphs can be computed early, or may become it."""
    graph = small_graph(nodes, options)
    if graph is None:
        return False
    sources = [node for node in graph.order if not node.inputs]
    if not _GENERATED.issuperset([source.op for source in sources]):
        return False
    return len(graph.order) < LONG or run_graph(nodes, graph, alone)
