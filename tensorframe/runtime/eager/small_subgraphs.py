"""Small subgraphs of graphs with plans: what is made of small tensors alone runs op by op, before the plan of the rest.

The covariances of a filter for a million objects are products of a few elements each: as steps of the plan they take
five times as long, and a plan of hundreds of them is long in the making. What is cheap stays in the plan, whose kernels
compute it in passing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.config import Options
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, by_serial, discover
from tensorframe.runtime.eager.small_graphs import Alone, functions_of, run_small

# Nodes of a graph, and costly small ones among them, from which it is worth looking for parts.
_MANY, _COSTLY = 64, 16


def run_small_parts(roots: Sequence[Node], options: Options, alone: Alone) -> Node | None:
    """Compute what `roots` need that is costly, small, and made of small tensors, where there is much of it.

    Returns the last of what is computed now, None if there is nothing.
    """
    if needing_nodes or options.check_nan:
        return None  # a gradient wants all of the graph, and a plan names the line
    parts = _results(roots, options.small_size)
    return parts[-1] if parts and run_small(parts, options, alone=alone) else None


def _results(roots: Sequence[Node], limit: int) -> list[Node]:
    """Return the nodes of small parts that are needed outside of these."""
    nodes = discover(roots)
    if len(nodes) < _MANY:
        return []
    if sum([_is_costly(node) and prod(node.shape) <= limit for node in nodes]) < _COSTLY:
        return []
    nodes.sort(key=by_serial)
    # what is small all the way, and of that what a costly op is among: the rest is left to kernels
    closed, made = set[Node](), set[Node]()
    costly = 0
    for node in nodes:
        inputs = node.inputs
        if prod(node.shape) > limit or not closed.issuperset(inputs):
            continue
        if node.storage is None and functions_of(node.device) is None:
            return []  # elsewhere
        closed.add(node)
        if node.storage is None and (_is_costly(node) or not made.isdisjoint(inputs)):
            made.add(node)
            costly += _is_costly(node)
    if costly < _COSTLY:
        return []
    outside = set(roots)
    for node in nodes:
        if node not in closed:
            outside.update(node.inputs)
    return [node for node in nodes if node in made and node in outside]


def _is_costly(node: Node) -> bool:
    """Whether a node is costly to compute: not an array of a file, which is read whatever is made of it."""
    return node.op.costly and bool(node.inputs)
