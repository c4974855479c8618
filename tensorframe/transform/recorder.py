"""Recorder: what terms apply ops by where rules record nodes, all at the line of the node in question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import BOOL, bool_
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant, record, record_map
from tensorframe.site import Site

_MAP = Kind.MAP
_KINDS = frozenset({int, float})


# numbers that rules bring along: the same few in every gradient
_numbers: dict[tuple[Any, ...], Node] = {}
_NUMBERS_KEPT = 256


def recorder(device: Device, site: Site | None) -> Callable[..., Node]:
    """Return the function that records an op on nodes and numbers, on a device and for a line."""

    def apply(op: Op, *operands: Any, attrs: tuple[Any, ...] = ()) -> Node:
        if op.kind is not _MAP or attrs:
            nodes = tuple(
                [
                    operand if isinstance(operand, Node) else number(operand, operands, site)
                    for operand in operands
                ]
            )
            return record(op, nodes, *attrs, device=device, site=site)
        if len(operands) == 2:
            left, right = operands
            if not isinstance(right, Node):
                right = number(right, operands, site)
            elif not isinstance(left, Node):
                left = number(left, operands, site)
            # as in dispatch: mostly operands share a dtype and a shape, and nothing has to be converted
            dtype, shape = left.dtype, left.shape
            result = op.uniform.get(dtype)
            if (
                dtype is right.dtype
                and (result is dtype or result is bool_)  # which every device holds
                and (right.shape == shape or not right.shape or not shape)
            ):
                return Node(op, (left, right), (), shape or right.shape, result, device, site)
            return record_map(op, (left, right), device, site)
        nodes = tuple(
            [
                operand if isinstance(operand, Node) else number(operand, operands, site)
                for operand in operands
            ]
        )
        first = nodes[0]
        if len(nodes) == 1 and op.uniform.get(first.dtype) is first.dtype:
            return Node(op, nodes, (), first.shape, first.dtype, device, site)
        if len(nodes) == 3 and _is_choice(op, *nodes):
            return Node(op, nodes, (), first.shape, nodes[1].dtype, device, site)
        return record_map(op, nodes, device, site)

    return apply


def _is_choice(op: Op, condition: Node, left: Node, right: Node) -> bool:
    """Whether an op chooses between operands of one dtype, each of the condition's shape or a number."""
    dtype, shape = left.dtype, condition.shape
    return (
        op.conditions == 1
        and condition.dtype is bool_
        and dtype is right.dtype
        and op.uniform.get(dtype) is dtype
        and (left.shape == shape or not left.shape)
        and (right.shape == shape or not right.shape)
    )


def number(value: complex, beside: tuple[Any, ...], site: Site | None) -> Node:
    """Return a number as a node: it takes the dtype of the first operand that is no truth value."""
    like = next(
        operand for operand in beside if isinstance(operand, Node) and operand.dtype not in BOOL
    )
    key = (type(value), value, like.dtype, like.device)
    known = _numbers.get(key)
    if known is None:
        known = constant(value, like.dtype, like.device, site)
        # a recording's number belongs to it alone, and 0.0 == -0.0
        if type(value) in _KINDS and (value or type(value) is int):
            if len(_numbers) >= _NUMBERS_KEPT:
                _numbers.clear()
            _numbers[key] = known
    return known
