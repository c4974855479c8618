"""Contraction ordering: products of any number of operands become pairwise ones, with the fewest multiplications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.graph.node import Node
from tensorframe.ops.contraction import EINSUM
from tensorframe.ops.movement import PERMUTE
from tensorframe.rewrite.engine import Builder, rule

if TYPE_CHECKING:
    from tensorframe.ops.einsum import Layout


@rule(lambda op: op is EINSUM)
def write_pairwise(node: Node, build: Builder) -> Node | None:
    """An einsum becomes matrix products, multiplications, sums and views, which are scheduled one by one."""
    from tensorframe.ops.einsum import recipe  # few graphs have one

    values = list(node.inputs)
    shapes = tuple([source.shape for source in values])
    layouts = tuple([_layout(source) for source in values])
    for instruction in recipe(*node.attrs, shapes, layouts, values[0].dtype):
        inputs = tuple([values[source] for source in instruction.inputs])
        values.append(
            build.make(
                instruction.op,
                inputs,
                instruction.attrs,
                instruction.shape,
                instruction.dtype,
                node.device,
                node,
            )
        )
    return values[-1]


def _layout(node: Node) -> Layout:
    """Return the axes in the order of memory, as far as the graph determines it."""
    axes = tuple(range(len(node.shape)))
    while node.op is PERMUTE and node.storage is None:
        axes = tuple([node.attrs[0][axis] for axis in axes])
        node = node.inputs[0]
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
