"""Recorder: what terms apply ops by where rules record nodes, all at the line of the node in question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorframe.dtypes import BOOL
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.record import constant, record, record_map
from tensorframe.site import Site


def recorder(device: Device, site: Site | None) -> Callable[..., Node]:
    """Return the function that records an op on nodes and numbers, on a device and for a line."""

    def apply(op: Op, *operands: Any, attrs: tuple[Any, ...] = ()) -> Node:
        nodes = tuple(
            [one if type(one) is Node else number(one, operands, site) for one in operands]
        )
        if op.kind is not Kind.MAP or attrs:
            return record(op, nodes, *attrs, device=device, site=site)
        first = nodes[0]
        dtype = op.uniform.get(first.dtype)
        # as in dispatch: most operands share a dtype and a shape, and nothing has to be converted
        if dtype is first.dtype and first.device is device:
            for other in nodes:
                if other.dtype is not dtype or other.shape != first.shape:
                    break
            else:
                return Node(op, nodes, (), first.shape, dtype, device, site)
        return record_map(op, nodes, device, site)

    return apply


def number(value: complex, beside: tuple[Any, ...], site: Site | None) -> Node:
    """Return a number as a node: it takes the dtype of the first operand that is no truth value."""
    like = next(one for one in beside if type(one) is Node and one.dtype not in BOOL)
    return constant(value, like.dtype, like.device, site)
