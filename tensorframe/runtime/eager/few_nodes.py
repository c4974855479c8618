"""Few nodes: a result that needs two or three small nodes has each of them computed by itself.

To find an order and functions for a graph takes longer than to compute so little: the paths of single nodes look up all
that they need. What lies between is stored, and freed with the node, unless somebody refers to it.
"""

from __future__ import annotations

from math import prod

from tensorframe.backends import spans
from tensorframe.config import Options
from tensorframe.graph.node import Node, by_serial
from tensorframe.ops.creation import ARANGE, CONSTANT, FULL
from tensorframe.runtime.eager.single_node import run_single
from tensorframe.runtime.eager.small_graphs import functions_of
from tensorframe.runtime.eager.ufuncs import run_source, run_ufunc
from tensorframe.runtime.eager.views import run_viewed

# Nodes up to which this takes less time than a graph of them.
MOST = 4
# Sources whose elements follow from their attributes: they are computed like any other node.
_GENERATED = frozenset({ARANGE, FULL})


def run_few(root: Node, options: Options, *, most: int = MOST) -> bool:
    """Compute `root` if it needs few nodes, all of them small and on the host; return whether it is computed.

    There are `most` nodes at most. Where it is not, what it needs may be.
    """
    limit = options.small_size
    if spans.onlookers or options.validate or options.check_nan or prod(root.shape) > limit:
        return False
    nodes = [root]
    for node in nodes:  # grows while it is walked
        inputs = node.inputs  # before storage: see Node.settle
        for source in inputs:
            if source.storage is not None or source.op is CONSTANT or source in nodes:
                continue
            if len(nodes) == most or prod(source.shape) > limit:
                return False
            if not source.inputs and source.op not in _GENERATED:
                return False
            nodes.append(source)
    device = root.device
    if len(nodes) > options.small_nodes or functions_of(device) is None:
        return False
    nodes.sort(key=by_serial)
    for node in nodes:
        if node.device is not device:
            return False
        if node.storage is not None:
            continue
        if not node.inputs:
            done = run_source(node)
        elif node.op.alias:
            done = run_viewed(node)
        else:
            done = not node.attrs and run_ufunc(node)
        if not done and not run_single(node):
            return False
    return True
