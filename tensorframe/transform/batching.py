"""Batching: a recorded graph again, for many examples at once, with one rule for each kind of op.

What stands for one example becomes a node with one more axis, the first; what no example changes stays as it is and
broadcasts. So the result is a graph like any other: it fuses, it has gradients, and it can be batched again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Op
from tensorframe.graph.record import record
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import FULL
from tensorframe.ops.movement import CONCAT, EXPAND, PERMUTE, RESHAPE, SLICE

# a batched node; of a call that gives several tensors and is made for one example after the other, all its calls
Value = Node | list[Node]

# what makes that of a call
Rule = Callable[["Call"], Value]


class Batch:
    """The examples: how many there are, and which nodes stand for all of theirs."""

    def __init__(
        self, size: int, examples: Mapping[Node, Node], rule_of: Callable[[Op], Rule]
    ) -> None:
        self.size = size
        self._rule_of = rule_of
        self._values: dict[Node, Value] = dict(examples)

    def __contains__(self, node: Node) -> bool:
        """Whether a node differs from example to example."""
        return node in self._values

    def extend(self, roots: Sequence[Node]) -> None:
        """Make what the roots consist of for all examples."""
        for node in self._depending(roots):
            self._values[node] = self._rule_of(node.op)(Call(self, node))

    def _depending(self, roots: Sequence[Node]) -> list[Node]:
        """Return the nodes on the way to the roots that depend on an example, inputs first."""
        oldest = min([node.serial for node in self._values], default=0)
        nodes = [node for node in dict.fromkeys(roots) if node.serial > oldest]
        seen = set(nodes)
        for node in nodes:  # grows while it is walked
            for source in () if node.storage is not None else node.inputs:
                if source.serial > oldest and source not in seen:
                    seen.add(source)
                    nodes.append(source)
        depends = set(self._values)
        order = []
        for node in sorted(nodes, key=by_serial):
            if node not in depends and not depends.isdisjoint(node.inputs):
                depends.add(node)
                order.append(node)
        return order

    def value(self, node: Node) -> Value:
        """Return what stands for a node in all examples; itself if it is the same in all."""
        return self._values.get(node, node)

    def of(self, node: Node) -> Node:
        """Return the node that stands for a tensor in all examples; itself if it is the same in all."""
        value = self.value(node)
        assert isinstance(value, Node)  # of what gives several tensors, only parts are operands
        return value

    def whole(self, node: Node) -> Node:
        """Return the node that has a tensor of every example along its first axis."""
        if node in self:
            return self.of(node)
        shape = (self.size, *node.shape)
        return Node(EXPAND, (node,), (shape,), shape, node.dtype, node.device, node.site)


class Call:
    """One op that has to be made for all examples, and what rules make of its operands."""

    def __init__(self, batch: Batch, node: Node) -> None:
        self.batch = batch
        self.node = node
        self.op = node.op
        self.attrs = node.attrs
        self.inputs = node.inputs

    def apply(self, op: Op, *inputs: Node, attrs: tuple[Any, ...] = ()) -> Node:
        """Record an op where the call's own runs, for the line that recorded it."""
        return record(op, inputs, *attrs, device=self.node.device, site=self.node.site)

    def reshaped(self, node: Node, shape: Shape) -> Node:
        """Return the elements under another shape."""
        return node if node.shape == shape else self._view(RESHAPE, node, shape, shape)

    def permuted(self, node: Node, axes: tuple[int, ...]) -> Node:
        """Return the axes in another order."""
        if axes == tuple(range(len(axes))):
            return node
        return self._view(PERMUTE, node, axes, tuple([node.shape[axis] for axis in axes]))

    def moved(self, node: Node, source: int, target: int) -> Node:
        """Return the node with one axis at another place."""
        order = [axis for axis in range(len(node.shape)) if axis != source]
        order.insert(target, source)
        return self.permuted(node, tuple(order))

    def aligned(self, source: Node, rank: int) -> Node:
        """Return an operand such that the axes of an example, counted from the last, meet those of the others."""
        value = self.batch.of(source)
        missing = rank - len(source.shape)
        if source not in self.batch or not missing:
            return value
        return self.reshaped(value, (self.batch.size, *[1] * missing, *source.shape))

    def one_by_one(self) -> Value:
        """Make the call for one example after the other: of what takes no stack of operands."""
        calls = [
            self.apply(
                self.op, *[self._taken(number, source) for source in self.inputs], attrs=self.attrs
            )
            for number in range(self.batch.size)
        ]
        return self.stacked(calls) if self.op.parts == 1 else calls

    def stacked(self, nodes: Sequence[Node]) -> Node:
        """Return tensors of the examples, of the node's shape, along a new first axis."""
        shape, node = self.node.shape, self.node
        if not nodes:
            return Node(FULL, (), (0,), (0, *shape), node.dtype, node.device, node.site)
        rows = [self.reshaped(example, (1, *shape)) for example in nodes]
        return rows[0] if len(rows) == 1 else self.apply(CONCAT, *rows, attrs=(0,))

    def _taken(self, number: int, source: Node) -> Node:
        """Return an operand of one example."""
        if source not in self.batch:
            return source
        value, rank = self.batch.of(source), len(source.shape)
        sizes = (1, *source.shape)
        window = ((number, *[0] * rank), sizes, (1,) * (rank + 1))
        part = Node(SLICE, (value,), window, sizes, value.dtype, value.device, self.node.site)
        return self.reshaped(part, source.shape)

    def _view(self, op: Op, node: Node, attribute: Shape, shape: Shape) -> Node:
        return Node(op, (node,), (attribute,), shape, node.dtype, node.device, self.node.site)
