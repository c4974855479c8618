"""Expansion: a row that is not core, written out in core rows."""

from __future__ import annotations

from typing import Any

from tensorframe import dtypes
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant, record, record_map
from tensorframe.ops.term import Term


def expand(node: Node) -> Node:
    """Return the node's meaning, one level down: the result may hold rows that expand further."""

    def apply(op: Op, *operands: Any, attrs: tuple[Any, ...] = ()) -> Node:
        like = next(one for one in operands if isinstance(one, Node) and one.dtype != dtypes.bool_)
        nodes = tuple(
            one if isinstance(one, Node) else constant(one, like.dtype, like.device, node.site)
            for one in operands
        )
        if op.kind is Kind.MAP:
            return record_map(op, nodes, node.device, node.site)
        return record(op, nodes, *attrs, device=node.device, site=node.site)

    if node.op.expand is None:
        return node
    result = node.op.expand(*[Term(source, apply) for source in node.inputs], *node.attrs)
    expanded: Node = result.node
    return expanded
