"""The recorded graph as a networkx DiGraph, for those who want to look at it or take it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorframe.graph.networks import new_network
from tensorframe.graph.node import Node, reachable
from tensorframe.site import describe

if TYPE_CHECKING:
    import networkx


def to_networkx(roots: Sequence[Node]) -> networkx.DiGraph[int]:
    """Return the nodes that `roots` need, by serial number, with edges from operands to consumers.

    Node attributes: `op`, `kind`, `attrs`, `shape`, `dtype`, `device`, `nbytes`, `computed`, `location`; edge
    attribute `operands`, the positions among the consumer's operands.
    """
    graph = new_network()
    for node in reachable(roots):
        inputs = node.inputs  # before storage: see Node.settle
        computed = node.storage is not None
        graph.add_node(
            node.serial,
            op=node.op.name,
            kind=node.op.kind.name.lower(),
            attrs=node.attrs,
            shape=node.shape,
            dtype=node.dtype.name,
            device=str(node.device),
            nbytes=node.nbytes,
            computed=computed,
            location=describe(node.site),
        )
        if computed:
            continue
        for source in dict.fromkeys(inputs):
            places = tuple([place for place, operand in enumerate(inputs) if operand is source])
            graph.add_edge(source.serial, node.serial, operands=places)
    return graph
