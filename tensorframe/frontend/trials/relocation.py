"""Relocation: a recorded graph again, all of it on another device, in nodes of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorframe.backends.dry.engine import DryHandle
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.storage import Storage
from tensorframe.graph.device import Device
from tensorframe.graph.holding import holder, require
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import is_constant
from tensorframe.ops.creation import ARGUMENT, DATA
from tensorframe.runtime.evaluate import evaluate, host_array
from tensorframe.runtime.execution.leaves import placed

Array = np.ndarray[Any, Any]

# what runs everything and is always there
REFERENCE = Device("numpy")


def holds_values(node: Node) -> bool:
    """Whether a node is a leaf with elements of its own: computed, handed in, or in a file."""
    if node.storage is not None:
        return True
    return node.op.kind is Kind.SOURCE and node.op.costly


def relocated(
    roots: Sequence[Node],
    device: Device,
    given: Callable[[Node], Node],
    is_leaf: Callable[[Node], bool] = holds_values,
) -> tuple[Node, ...]:
    """Return new nodes for `roots` and all that they need, on `device`; `given` gives those for leaves.

    The old nodes stay as they are. Copies to other devices are left out: everything is on one, but for results that it
    cannot hold, which live where they would if they were recorded there.
    """
    done: dict[Node, Node] = {}
    for node in reachable(roots):
        inputs = node.inputs  # before storage: see Node.settle
        if is_leaf(node):
            done[node] = given(node)
        elif node.op is ARGUMENT:
            raise node.attrs[0].error()
        elif node.op.kind is Kind.TRANSFER:
            done[node] = done[inputs[0]]
        else:
            moved = tuple([done[source] for source in inputs])
            # numbers are the host's wherever they are used
            home = device if is_constant(node) else holder(device, node.dtype, node.op.name)
            done[node] = Node(node.op, moved, node.attrs, node.shape, node.dtype, home, node.site)
    return tuple([done[root] for root in roots])


def described(node: Node, device: Device) -> Node:
    """Return a leaf on `device` of the node's shape and dtype, which holds nothing: enough for a plan.

    DTypeError if the device has no room for such elements.
    """
    require("an input", device, node.dtype)
    handle = DryHandle(node.shape, node.dtype)
    storage = Storage(device, handle, node.dtype, node.shape)
    return Node(DATA, (), (), node.shape, node.dtype, device, node.site, storage)


class Values:
    """The values of leaves as host arrays, fetched once for all devices that they are placed on."""

    def __init__(self) -> None:
        self._arrays: dict[Node, Array] = {}

    def of(self, leaf: Node) -> Array:
        """Return a leaf's values; a file is read for this, and its tensor stays as lazy as it was."""
        array = self._arrays.get(leaf)
        if array is None:
            array = host_array(leaf) if leaf.storage is not None else generate(leaf)
            self._arrays[leaf] = array
        return array

    def placed_on(self, device: Device) -> Callable[[Node], Node]:
        """Return what makes a leaf on `device` of another one: each once, however often it is needed."""
        made: dict[Node, Node] = {}

        def place(leaf: Node) -> Node:
            if leaf not in made:
                made[leaf] = leaf_of(self.of(leaf), leaf, device)
            return made[leaf]

        return place

    def computed(self, nodes: Sequence[Node]) -> list[Array]:
        """Return the values of any nodes, by the reference engine; the nodes themselves stay pending."""
        copies = relocated(nodes, REFERENCE, self.placed_on(REFERENCE))
        evaluate(copies)
        return [host_array(copy) for copy in copies]


def leaf_of(array: Array, like: Node, device: Device) -> Node:
    """Return a leaf on `device` with the values of a host array, recorded where `like` was; DTypeError as above."""
    require("an input", device, like.dtype)
    storage = placed(array, device)
    return Node(DATA, (), (), like.shape, like.dtype, device, like.site, storage)
