"""Segments: what a call recorded between its arguments and its results, which can be recorded once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import ref

from tensorframe.dtypes import FLOATING
from tensorframe.graph.node import Node, by_serial
from tensorframe.quick_tuples import NamedTuple
from tensorframe.transform.backward import Inputs


class Segment(NamedTuple):
    """The nodes that results consist of, inputs first, with the inputs that they were recorded with.

    `outside` are the floating-point nodes from before the call that they depend on, but for its arguments. Nodes are
    referred to weakly: they live as long as those that use them, and what is referred to otherwise would be stored.
    """

    order: list[tuple[ref[Node], Inputs]]
    outside: list[Node]

    def again(self, substitutes: Mapping[Node, Node]) -> dict[Node, Node]:
        """Record what depends on some nodes once more, on others in their place; return what became of each node."""
        made = dict(substitutes)
        for reference, inputs in self.order:
            node = reference()
            if node is not None and node not in made and not made.keys().isdisjoint(inputs):
                given = tuple([made.get(source, source) for source in inputs])
                made[node] = Node(
                    node.op, given, node.attrs, node.shape, node.dtype, node.device, node.site
                )
        return made


def segment(
    results: Sequence[Node], arguments: Sequence[Node], first: int, history: Mapping[Node, Inputs]
) -> Segment:
    """Return what was recorded since the serial number `first`; `history` has the inputs of what was computed since."""
    recipes: dict[Node, Inputs] = {}
    outside: dict[Node, None] = {}
    ends = frozenset(arguments)
    nodes = list(dict.fromkeys(results))
    for node in nodes:  # grows while it is walked
        if node in recipes or node in ends:
            continue
        if node.serial < first:
            if node.dtype in FLOATING:
                outside[node] = None
            continue
        inputs = node.inputs
        if node.storage is not None:
            inputs = inputs or history.get(node, ())
        recipes[node] = inputs
        nodes += inputs
    order = [(ref(node), recipes[node]) for node in sorted(recipes, key=by_serial)]
    return Segment(order, sorted(outside, key=by_serial))
