"""Expansion: a row that is not core, written out in core rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe import dtypes
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant, record, record_map
from tensorframe.ops.term import Term
from tensorframe.site import Site


def expand(node: Node) -> Node:
    """Return the node's meaning, one level down: the result may hold rows that expand further."""
    return node if node.op.expand is None else written_as(node, node.op.expand)


def written_as(node: Node, meaning: Callable[..., Term]) -> Node:
    """Return what `meaning` makes of the node's inputs and attributes, recorded where the node was."""

    def apply(op: Op, *operands: Any, attrs: tuple[Any, ...] = ()) -> Node:
        nodes = tuple([_as_node(operand, operands, node.site) for operand in operands])
        if op.kind is Kind.MAP and not attrs:
            return record_map(op, nodes, node.device, node.site)
        return record(op, nodes, *attrs, device=node.device, site=node.site)

    result = meaning(*[Term(source, apply) for source in node.inputs], *node.attrs)
    expanded: Node = result.node
    return expanded


def _as_node(operand: Any, operands: tuple[Any, ...], site: Site | None) -> Node:
    """Return an operand as a node: a number takes the dtype of the first one that is no truth value."""
    if isinstance(operand, Node):
        return operand
    like = next(operand for operand in operands if isinstance(operand, Node) and operand.dtype != dtypes.bool_)
    return constant(operand, like.dtype, like.device, site)
