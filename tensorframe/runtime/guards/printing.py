"""Guards: a function printed for one graph, which compares another one with it, node by node.

To walk a graph whatever it is takes some ten lines a node. Where a graph's structure is known, a function can be
written for it instead: it compares each node with what was there, and goes on with the values of the leaves. Tracing
compilers, such as PyPy and TorchDynamo, call these comparisons guards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.creation import CONSTANT
from tensorframe.quick_dataclasses import dataclass

# Is called with the node of the result, and returns None for any other graph.
Guard = Callable[[Node], Any]


@dataclass(slots=True)
class Structure:
    """The nodes that a pending one needs, consumers first; the places of each one's inputs, None for leaves."""

    nodes: list[Node]
    inputs: list[tuple[int, ...] | None]

    def uses(self) -> list[int]:
        """Return how often each node is an input."""
        uses = [0] * len(self.nodes)
        for places in self.inputs:
            for place in places or ():
                uses[place] += 1
        return uses

    def made(self) -> list[int]:
        """Return the places of what is computed, inputs before consumers."""
        places = [place for place, inputs in enumerate(self.inputs) if inputs is not None]
        return sorted(places, key=lambda place: self.nodes[place].serial)


def structure_of(root: Node, most: int) -> Structure | None:
    """Return the structure of what a pending node needs.

    None if that is more than so many nodes, moves between devices, or has leaves that are neither computed nor numbers.
    """
    nodes, position = [root], {root: 0}
    inputs: list[tuple[int, ...] | None] = []
    for node in nodes:  # grows while it is walked
        recipe = node.inputs  # before storage: see Node.settle
        if node.storage is not None or node.op is CONSTANT:
            inputs.append(None)
            continue
        if not recipe or node.op.kind is Kind.TRANSFER or node.device is not root.device:
            return None
        for source in recipe:
            if source not in position:
                position[source] = len(nodes)
                nodes.append(source)
        if len(nodes) > most:
            return None
        inputs.append(tuple([position[source] for source in recipe]))
    return Structure(nodes, inputs)


class Text:
    """The lines of a guard, in which `n0` is the node of the result, and what their names stand for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, Any] = {}

    def name(self, value: Any) -> str:
        """Return a name for a value."""
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    def unless(self, *conditions: str) -> None:
        """Return None unless all conditions hold."""
        self.lines.append(f"if not ({' and '.join(conditions)}): return None")

    def function(self) -> Guard:
        """Compile the lines."""
        body = "\n ".join(self.lines)
        exec(  # noqa: S102 - printed here
            compile(f"def guard(n0):\n {body}\n", "<tensorframe guard>", "exec"), self._names
        )
        guard: Guard = self._names["guard"]
        return guard


def print_structure(
    text: Text, structure: Structure, conditions: Callable[[str, Node], Sequence[str]]
) -> None:
    """Print the comparison of each pending node, which names its inputs: `n1` is the node in place 1.

    `conditions` are those on a node beside its op, for the ops whose shape and dtype do not follow from the operands'.
    """
    named = {0}
    for place, inputs in enumerate(structure.inputs):
        if inputs is None:
            continue
        node = structure.nodes[place]
        text.lines.append(f"i = n{place}.inputs")  # before storage: see Node.settle
        text.unless(
            f"n{place}.op is {text.name(node.op)}",
            f"n{place}.storage is None",
            *([f"len(i) == {len(inputs)}"] if node.op.arity is None else []),
            *(conditions(f"n{place}", node) if node.attrs else ()),
        )
        if named.isdisjoint(inputs) and len(set(inputs)) == len(inputs):
            text.lines.append("".join([f"n{source}, " for source in inputs]) + "= i")
            named.update(inputs)
            continue
        for index, source in enumerate(inputs):
            if source in named:
                # by its index: a variable would be one more reference to the node
                text.unless(f"i[{index}] is n{source}")
            else:
                text.lines.append(f"n{source} = i[{index}]")
                named.add(source)


def print_computed(text: Text, place: int, node: Node) -> None:
    """Print the comparison of a computed leaf, whose handle is `v1` for the node in place 1."""
    text.lines.append(f"s = n{place}.storage")
    text.unless(
        "s is not None",
        f"n{place}.dtype is {text.name(node.dtype)}",
        f"n{place}.shape == {text.name(node.shape)}",
        f"n{place}.device is {text.name(node.device)}",
    )
    text.lines.append(f"v{place} = s.handle")


def references_of_variable() -> int:
    """Return what `getrefcount` says of a guard's node that one tuple of inputs refers to, and nobody else."""
    text = Text()
    count = text.name(getrefcount)
    text.lines += ["i = n0", "n1, n2, = i", f"return {count}(n1)"]
    inputs: Any = (object(), object())
    references: int = text.function()(inputs)
    return references
