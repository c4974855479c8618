"""Def-use chains of a captured graph, which requests of one structure share: its leaves, and what takes each node."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.node import Node
from tensorframe.quick_tuples import NamedTuple

Recipes = Sequence[Sequence[Node] | None]  # the inputs of each of some nodes


class Consumers(NamedTuple):
    """The places of leaves, and those of the consumers `of` each node, in the order of a capture."""

    leaves: Sequence[int]
    of: Sequence[Sequence[int]]


def consumers_of(nodes: Sequence[Node], recipes: Recipes) -> Consumers:
    """Return the consumers of nodes with these inputs, None for leaves; inputs that are none of them are left out."""
    places = {node: place for place, node in enumerate(nodes)}
    of: list[list[int]] = [[] for _ in nodes]
    for place, recipe in enumerate(recipes):
        for source in recipe or ():
            if source in places:
                of[places[source]].append(place)
    return Consumers([place for place, recipe in enumerate(recipes) if recipe is None], of)
