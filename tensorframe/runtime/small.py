"""The small path: graphs too small to be worth a plan run op by op at once, by functions of their device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import backend_of, capabilities, when_changed
from tensorframe.backends.silence import silenced
from tensorframe.config import Options
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.growth import tell_if_large
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind
from tensorframe.graph.references import IN_ONE_LIST, references
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import RESHAPE
from tensorframe.runtime.leaves import leaf_handle, scalars, stored

# Nodes up to which computing them again takes no longer than looking which of them somebody still refers to.
_FEW = 8

# the functions of a device, None where small graphs get plans
_functions: dict[Device, Any] = {}
when_changed(_functions.clear)


def functions_of(device: Device) -> Any:
    """Return the functions that run small graphs of a device, None where these get plans."""
    try:
        return _functions[device]
    except KeyError:
        small = capabilities(device).runs_small
        functions = _functions[device] = backend_of(device).functions() if small else None
        return functions


def _numpys(device: Device) -> Any:
    return None if functions_of(device) is None else implementation


# what computes a node of one operand, given that operand's array, or None if it does not
Alone = Callable[[Node, Any], Any]


def _never(_node: Node, _array: Any) -> Any:
    return None


def run_small(
    roots: Sequence[Node],
    options: Options,
    *,
    at_the_end: bool = False,
    alone: Alone = _never,
    least: int = 0,
) -> bool:
    """Compute `roots` if everything they need is small and on the host; else do nothing and return False.

    Views are as small as can be, whatever their shape: no byte moves. `at_the_end` of the interpreter nothing can be
    imported or compiled, and NumPy's functions are all there is. `alone` is asked first for whatever is costly: a
    program may be sooner done than several calls of NumPy's. Graphs of up to `least` nodes are left alone.
    """
    if options.check_nan:
        return False  # a plan names the line
    choose = _numpys if at_the_end else functions_of
    for root in roots:
        if prod(root.shape) > options.small_size and not root.op.alias:
            return False
    values: dict[Node, Any] = dict.fromkeys(roots)
    kept = list(values)
    graph = _small_graph(kept, values, options, choose)
    if graph is None:
        return False
    order, functions = graph
    if len(order) <= least:
        return False
    if least:
        tell_if_large(order)
    order.sort(key=by_serial)
    try:
        _run(order, values, functions, alone)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except CancelledError:
        raise
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
        order[index]
        for index in range(len(order))
        if order[index].inputs and references(order, index) > uses[order[index]] + own
    ]


def _uses(order: list[Node]) -> dict[Node, int]:
    """Return how often each node is an input; a function of its own, whose variables refer to none afterwards."""
    uses = dict.fromkeys(order, 0)
    for node in order:
        for source in node.inputs:
            if source in uses:
                uses[source] += 1
    return uses


@silenced
def _run(order: list[Node], values: dict[Node, Any], functions: Any, alone: Alone) -> None:
    """Put the value of every node in `values`, where those that are computed already are."""
    for node in order:
        inputs = node.inputs
        if len(inputs) == 2 and not node.attrs:  # the two most common forms, spelled out
            left, right = inputs
            values[node] = functions[node.op](values[left], values[right])
        elif len(inputs) == 1 and not node.attrs:
            values[node] = functions[node.op](values[inputs[0]])
        elif inputs:
            arguments = [values[source] for source in inputs]
            if node.op.costly and len(inputs) == 1:
                value = alone(node, arguments[0])
                if value is not None:
                    values[node] = value
                    continue
            values[node] = functions[node.op](*arguments, *node.attrs)
        elif node.op is CONSTANT:
            values[node] = scalars[node]
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


def _small_graph(
    kept: list[Node],
    values: dict[Node, Any],
    options: Options,
    choose: Callable[[Device], Any],
) -> tuple[list[Node], Any] | None:
    """Return the nodes to compute for `kept`, and by which functions; None if they are many, large or elsewhere.

    What is costly on the way joins `kept`, and what is computed already is put in `values`.
    """
    shape, device, limit, most = None, None, options.small_size, options.small_nodes
    large = False
    functions: Any = None
    dtype: Any = None
    is_complex = False
    nodes = list(kept)
    for node in islice(nodes, most + 1):  # grows while it is walked
        if node.shape is not shape:  # mostly one tuple, passed on from node to node
            shape = node.shape
            large = prod(shape) > limit
        if large and not _is_free(node):
            return None
        if node.device is not device:
            device = node.device
            of_device = choose(device)
            if of_device is None or (functions is not None and of_device is not functions):
                return None
            functions = of_device
        if node.dtype is not dtype:
            dtype = node.dtype
            is_complex |= dtype.kind == "c"
        costly = node.op.costly
        if costly:
            if functions.needs_plan(node.op, node.inputs[0].dtype if node.inputs else node.dtype):
                return None
            kept.append(node)
        for source in node.inputs:
            if costly and prod(source.shape) > limit:
                return None  # a sum of millions has a small result
            if source not in values:
                storage = source.storage
                if storage is None:
                    values[source] = None
                    nodes.append(source)
                elif source.device is not device and choose(source.device) is None:
                    return None
                else:
                    values[source] = storage.handle
                    if source.dtype is not dtype:
                        dtype = source.dtype
                        is_complex |= dtype.kind == "c"
    if len(nodes) > most:
        return None
    return nodes, functions.for_complex if is_complex else functions
