"""The small path: graphs too small to be worth a plan run op by op at once, as NumPy would."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import capabilities, when_changed
from tensorframe.config import Options
from tensorframe.dtypes import as_scalar
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.references import IN_ONE_LIST, references
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import RESHAPE
from tensorframe.runtime.leaves import leaf_handle, stored

# Nodes up to which computing them again takes no longer than looking which of them somebody still refers to.
_FEW = 8

_allowed: dict[Device, bool] = {}
when_changed(_allowed.clear)


def _runs_small(device: Device) -> bool:
    known = _allowed.get(device)
    if known is None:
        known = _allowed[device] = capabilities(device).runs_small
    return known


def run_small(roots: Sequence[Node], options: Options) -> bool:
    """Compute `roots` if everything they need is small and on the host; else do nothing and return False.

    Views are as small as can be, whatever their shape: no byte moves.
    """
    for root in roots:
        if prod(root.shape) > options.small_size and not root.op.alias:
            return False
    values: dict[Node, Any] = dict.fromkeys(roots)
    kept = list(values)
    order = _small_graph(kept, values, options)
    if order is None:
        return False
    order.sort(key=by_serial)
    try:
        _run(order, values)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    if len(order) > _FEW:
        kept += _referenced(order)
    for node in kept:
        if node.storage is None:
            node.settle(stored(node.device, node.shape, node.dtype, values[node]))
    return True


def _referenced(order: list[Node]) -> list[Node]:
    """Return the nodes that somebody else refers to, who may need them again: they are whole, so storing is free."""
    uses = _uses(order)
    # in the order, among the values, and here
    own = IN_ONE_LIST + 2
    return [
        order[at]
        for at in range(len(order))
        if order[at].inputs and references(order, at) > uses[order[at]] + own
    ]


def _uses(order: list[Node]) -> dict[Node, int]:
    """Return how often each node is an input; a function of its own, whose variables refer to none afterwards."""
    uses = dict.fromkeys(order, 0)
    for node in order:
        for source in node.inputs:
            if source in uses:
                uses[source] += 1
    return uses


@np.errstate(all="ignore")  # as a decorator it takes half as long as in a `with`
def _run(order: list[Node], values: dict[Node, Any]) -> None:
    """Put the value of every node in `values`, where those that are computed already are."""
    for node in order:
        inputs = node.inputs
        if len(inputs) == 2 and not node.attrs:  # the two most common forms, spelled out
            left, right = inputs
            values[node] = implementation[node.op](values[left], values[right])
        elif len(inputs) == 1 and not node.attrs:
            values[node] = implementation[node.op](values[inputs[0]])
        elif inputs:
            arguments = [values[source] for source in inputs]
            values[node] = implementation[node.op](*arguments, *node.attrs)
        elif node.op is CONSTANT:
            values[node] = as_scalar(node.attrs[0], node.dtype)
        else:  # another source, or computed by another thread by now
            values[node] = leaf_handle(node)


def _is_free(node: Node) -> bool:
    """Whether a large node is a view of computed memory for certain, so that it costs nothing to make it."""
    op = node.op
    if not op.alias or op.kind is not Kind.VIEW:
        return False
    if op is not RESHAPE:
        return True
    handle = getattr(node.inputs[0].storage, "handle", None) if node.inputs else None
    return type(handle) is np.ndarray and handle.flags.c_contiguous


def _small_graph(kept: list[Node], values: dict[Node, Any], options: Options) -> list[Node] | None:
    """Return the nodes that have to be computed for `kept`; None as soon as these are too many, too large or elsewhere.

    What is costly on the way joins `kept`, and what is computed already is put in `values`.
    """
    shape, device, limit, most = None, None, options.small_size, options.small_nodes
    large = False
    found = list(kept)
    for node in islice(found, most + 1):  # grows while it is walked
        if node.shape is not shape:  # mostly one tuple, passed on from node to node
            shape = node.shape
            large = prod(shape) > limit
        if large and not _is_free(node):
            return None
        if node.device is not device:
            device = node.device
            if not _runs_small(device):
                return None
        costly = node.op.costly
        if costly:
            kept.append(node)
        for source in node.inputs:
            if costly and prod(source.shape) > limit:
                return None  # a sum of millions has a small result
            if source not in values:
                storage = source.storage
                if storage is None:
                    values[source] = None
                    found.append(source)
                elif source.device is not device and not _runs_small(source.device):
                    return None
                else:
                    values[source] = storage.handle
    return found if len(found) <= most else None
