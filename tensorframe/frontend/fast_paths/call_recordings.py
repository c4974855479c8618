"""What a call recorded of its tensors: taken down once, and recorded again on other tensors of the same kind."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.frontend.dispatch import handle_on
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, new_node
from tensorframe.graph.precision import autocast_dtype
from tensorframe.ops.creation import CONSTANT, DATA
from tensorframe.site import is_ours, recording_site

_frame = sys._getframe
# The nodes of a call, and the elements of a value among these, that are remembered at most.
_NODES, _ELEMENTS = 64, 64
# The inputs of a step of one operand.
OF_THE_FIRST = (0,)

# A node of a recording: its op, inputs, attributes, shape, dtype and device. Inputs are places among the operands, the
# numbers and the nodes before it. These are tuples without names, which are taken apart in a fifth of the time.
Step = tuple[Any, tuple[int, ...], tuple[Any, ...], tuple[int, ...], Any, Device]
# What a call recorded: the numbers beside its operands, its steps, and where its result is among all of these. Numbers
# are constants, and values of few elements that the call made, such as places of quantiles.
Recording = tuple[tuple[Node, ...], tuple[Step, ...], int]


def is_usual(operands: list[Node]) -> bool:
    """Whether what is recorded of operands is a matter of shapes and dtypes, and not of where each of them is."""
    if autocast_dtype.get() is not None:
        return False
    return all(
        node.device is operands[0].device
        # a number is folded into what is made of it, also if it is computed
        and (node.inputs or not (node.storage is None or node.op is CONSTANT))
        for node in operands
    )


def recording_of(result: Any, operands: list[Node], first: int) -> Recording | None:
    """Return what was recorded since the serial number `first`; None if there is more to it than nodes and numbers."""
    if type(result) is not Tensor or result.node.storage is not None:
        return None
    nodes, numbers = [result.node], []
    for node in nodes:  # grows while it is walked
        if node in operands:
            continue
        if len(nodes) > _NODES:
            return None
        if _is_constant(node) or _is_small_value(node, first):
            numbers.append(node)
        elif node.storage is not None or node.serial < first:
            return None
        nodes += [source for source in dict.fromkeys(node.inputs) if source not in nodes]
    made = sorted(set(nodes).difference(operands, numbers), key=lambda node: node.serial)
    places = {node: place for place, node in enumerate((*operands, *numbers, *made))}
    steps = [
        (
            node.op,
            tuple([places[source] for source in node.inputs]),
            node.attrs,
            node.shape,
            node.dtype,
            node.device,
        )
        for node in made
    ]
    return tuple(numbers), tuple(steps), places[result.node]


def _is_constant(node: Node) -> bool:
    return node.op is CONSTANT and node.storage is None


def _is_small_value(node: Node, first: int) -> bool:
    """Whether the node is a few elements in host memory that were made since the serial number `first`."""
    return (
        node.op is DATA
        and node.serial >= first
        and node.size <= _ELEMENTS
        and type(node.storage.handle) is np.ndarray
        and node.storage.handle.base is None  # no view of an operand
    )


def recorded_again(recording: Recording, operands: Sequence[Node]) -> Tensor:
    """Return the result of the same nodes on other operands, recorded by the caller's line."""
    frame = _frame(2)
    code = frame.f_code
    site = recording_site(3) if is_ours[code.co_filename] else (code, frame.f_lasti)
    numbers, steps, result = recording
    if (
        len(steps) == 1 and steps[0][1] == OF_THE_FIRST and operands
    ):  # a step is the last thing there is
        op, _, attrs, shape, dtype, device = steps[0]
        return handle_on(new_node(op, (operands[0],), attrs, shape, dtype, device, site))
    nodes = [*operands, *numbers]
    for op, inputs, attrs, shape, dtype, device in steps:
        if len(inputs) == 1:
            sources: tuple[Node, ...] = (nodes[inputs[0]],)
        else:
            sources = tuple([nodes[place] for place in inputs])
        nodes.append(new_node(op, sources, attrs, shape, dtype, device, site))
    return handle_on(nodes[result])
