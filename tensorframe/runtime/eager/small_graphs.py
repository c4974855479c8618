"""The small path: graphs too small to be worth a plan run op by op at once, by functions of their device.

Where many small nodes are made of few results of large ones, such as a sum of millions, these get a plan, and what is
made of them runs op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.collector import paused
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.registry import backend_of, capabilities, when_changed
from tensorframe.backends.silence import silenced
from tensorframe.config import Options
from tensorframe.dtypes import DType
from tensorframe.errors import CancelledError
from tensorframe.graph.device import Device
from tensorframe.graph.growth import tell_if_large
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, by_serial
from tensorframe.graph.op import Kind, Op
from tensorframe.graph.references import referenced_besides
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.elementwise import CAST
from tensorframe.ops.movement import RESHAPE
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.execution.leaves import leaf_handle, numbers, stored

# Nodes up to which computing them again takes no longer than looking which of them somebody still refers to.
FEW = 8
# Nodes whose values may all be there at once: to free each when it is used last takes a tenth of a graph's time.
_KEPT = 32
# Small nodes for each result of large ones from which these get a plan of their own: below, all is one.
_MANY = 16
# How many casts are kept while a graph runs: of what a loop casts in each round there is little.
_CASTS_KEPT = 16

# the functions of a device, by its number, None where small graphs get plans
_functions: dict[int, Any] = {}
when_changed(_functions.clear)


def functions_of(device: Device) -> Any:
    """Return the functions that run small graphs of a device, None where these get plans."""
    try:
        return _functions[device.number]
    except KeyError:
        small = capabilities(device).runs_small
        functions = _functions[device.number] = backend_of(device).functions() if small else None
        return functions


def _numpys(device: Device) -> Any:
    return None if functions_of(device) is None else implementation


class SmallGraph(NamedTuple):
    """The nodes to compute, how often each node is an input of these, what computes them, and what they are made of."""

    order: list[Node]
    uses: dict[Node, int]
    functions: Any
    values: dict[Node, Any]


# what computes a node of one operand, given that operand's array, or None if it does not
Alone = Callable[[Node, Any], Any]
# what computes nodes by a plan
Planned = Callable[[Sequence[Node]], None]


def _never(_node: Node, _array: Any) -> Any:
    return None


def run_small(
    roots: Sequence[Node],
    options: Options,
    *,
    at_the_end: bool = False,
    alone: Alone = _never,
    planned: Planned | None = None,
) -> bool:
    """Compute `roots` if everything they need is small and on the host; else do nothing and return False.

    Views are as small as can be, whatever their shape: no byte moves. `at_the_end` of the interpreter nothing can be
    imported or compiled, and NumPy's functions are all there is. `alone` is called first for whatever is costly: a
    program may be sooner done than several calls of NumPy's. `planned` computes what is small and made of large nodes.
    """
    large: list[Node] | None = None if planned is None or needing_nodes else []
    graph = small_graph(roots, options, _numpys if at_the_end else functions_of, large)
    if graph is None:
        return False
    if large:
        assert planned is not None
        if len(graph.order) < _MANY * len(large):
            return False
        planned(large)
        graph.values.update([(node, leaf_handle(node)) for node in large])
    return run_graph(roots, graph, alone)


def run_graph(roots: Sequence[Node], graph: SmallGraph, alone: Alone = _never) -> bool:
    """Compute `roots` op by op; return False, and do nothing, where that fails."""
    order, uses, functions, values = graph
    order.sort(key=by_serial)
    try:
        # what was costly is needed again by a gradient that is being recorded, even if nobody refers to it
        count = len(order)
        kept = _costly(order) if count <= FEW or needing_nodes else _referenced(order, uses)
        if count <= _KEPT:
            _run(order, values, functions, alone, None)
        else:
            tell_if_large(order)
            for node in (*kept, *roots):
                uses[node] += 1
            with paused():
                _run(order, values, functions, alone, uses)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except CancelledError:
        raise
    except Exception:
        return False  # the planned path meets the same error, and explains it
    for node in (*kept, *roots):
        if node.storage is None:
            node.settle(stored(node.device, node.shape, node.dtype, values[node]))
    return True


def _costly(order: list[Node]) -> list[Node]:
    """Return the nodes that take longer to compute again than to store."""
    return [node for node in order if node.op.costly]


def _referenced(order: list[Node], uses: dict[Node, int]) -> list[Node]:
    """Return the nodes that somebody else refers to, who may need them again: they are whole, so storing is free."""
    return [node for node in referenced_besides(order, uses) if node.inputs]


@silenced
def _run(
    order: list[Node],
    values: dict[Node, Any],
    functions: Any,
    alone: Alone,
    uses: dict[Node, int] | None,
) -> None:
    """Put the value of every node in `values`, where those that are computed already are.

    What has no more `uses` is freed, so that the next value takes its memory while that is in the cache. Operands of
    two dtypes are cast where they are used, so a loop casts the same values in each round: once is enough.
    """
    casts: dict[tuple[Node, DType], Any] = {}
    tables: dict[Op, Mapping[DType, Any]] = {}
    for node in order:
        op, inputs, attrs = node.op, node.inputs, node.attrs
        count = len(inputs)
        # the most common forms, spelled out: every line counts here
        if count == 2 and not attrs:
            left, right = inputs
            table = tables.get(op)
            if table is None:
                table = tables[op] = functions.of_two(op)
            function = table.get(left.dtype) or functions[op]
            values[node] = function(values[left], values[right])
        elif count == 1:
            (source,) = inputs
            if not attrs:
                values[node] = functions[op](values[source])
            elif op is CAST:
                values[node] = _cast(node, values[source], functions, casts)
            else:
                value = alone(node, values[source]) if op.costly else None
                values[node] = functions[op](values[source], *attrs) if value is None else value
        elif inputs:
            values[node] = functions[op](*[values[source] for source in inputs], *attrs)
        elif op is CONSTANT:
            values[node] = numbers[node]
        else:  # another source, or computed by another thread by now
            values[node] = leaf_handle(node)
        if uses is not None:
            value = None  # which would refer to what is freed
            for source in inputs:
                left_over = uses[source] - 1
                if left_over:
                    uses[source] = left_over
                else:
                    del values[source]


def _cast(node: Node, array: Any, functions: Any, casts: dict[tuple[Node, DType], Any]) -> Any:
    """Return what a cast makes of an array, which is among the last few `casts` if it was made before."""
    key = (node.inputs[0], node.dtype)
    value = casts.get(key)
    if value is None:
        if len(casts) == _CASTS_KEPT:
            casts.clear()
        value = casts[key] = functions[CAST](array, node.dtype)
    return value


def _is_free(node: Node) -> bool:
    """Whether a large node is a view of computed memory for certain, so that it costs nothing to make it."""
    op = node.op
    if not op.alias or op.kind is not Kind.VIEW:
        return False
    if op is not RESHAPE:
        return True
    handle = getattr(node.inputs[0].storage, "handle", None) if node.inputs else None
    return type(handle) is np.ndarray and handle.flags.c_contiguous


def small_graph(
    roots: Sequence[Node],
    options: Options,
    choose: Callable[[Device], Any] = functions_of,
    large: list[Node] | None = None,
) -> SmallGraph | None:
    """Return the graph of `roots`; None if it is of many nodes, large, elsewhere, or for a plan, which names a line.

    Results of large nodes are put in `large`, if that is a list.
    """
    device, limit, most = None, options.small_size, options.small_nodes
    if options.check_nan:
        return None
    for root in roots:
        if prod(root.shape) > limit and not root.op.alias:
            return None
    values: dict[Node, Any] = {}
    small: set[Shape] = set()
    functions: Any = None
    dtype: Any = None
    is_complex = False
    uses = dict.fromkeys(roots, 0)
    nodes = list(uses)
    for node in islice(nodes, most + 1):  # grows while it is walked
        shape = node.shape
        if shape not in small:
            if prod(shape) <= limit:
                small.add(shape)
            elif not _is_free(node):
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
        inputs = node.inputs
        if node.op.costly:
            if functions.needs_plan(node.op, inputs[0].dtype if inputs else dtype):
                return None
            is_reduced = False
            for source in inputs:
                if source.shape not in small and prod(source.shape) > limit:
                    is_reduced = True  # a sum of millions has a small result
            if is_reduced:
                if large is None or node in roots:
                    return None
                large.append(node)
                continue
        for source in inputs:
            count = uses.get(source)
            if count is not None:
                uses[source] = count + 1
                continue
            uses[source] = 1
            storage = source.storage
            if storage is None:
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
    if large:
        planned = set(large)
        nodes = [node for node in nodes if node not in planned]
    return SmallGraph(nodes, uses, functions.for_complex if is_complex else functions, values)
