"""Narrowing: compute only what is shown, by moving windows (slices) towards the leaves.

Two sweeps. Backwards, every node learns through which windows its consumers look at it: all of it, or a few small
windows. Forwards, each node is made once per window. Both are linear, and deep graphs cost no recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import sub

from tensorframe.dtypes import INTEGER
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.movement import CONCAT, EXPAND, PERMUTE, RESHAPE, SLICE
from tensorframe.rewrite.engine import Builder, Rule
from tensorframe.rewrite.views import (
    Window,
    block_around,
    block_in_source,
    flat_position,
    unit_axes_match,
)

# what a node's consumers want to see of it; None among the windows means all
Demand = dict[Window | None, None]
# (node, window wanted of it) -> window wanted of each input, None for all of it; or None where nothing is gained
Narrowing = Callable[[Node, Window], list[Window | None] | None]


def narrow(roots: Sequence[Node], rules: Sequence[Rule]) -> list[Node]:
    """Return the roots of a graph in which slices are taken as early as they can be."""
    order = reachable(roots)
    if not any(node.op is SLICE and node.storage is None for node in order):
        return list(roots)
    demands = _demands(order, roots)
    builder = Builder(rules)
    made: dict[tuple[Node, Window | None], Node] = {}
    for node in order:
        for window in demands[node]:
            made[node, window] = _make(node, window, made, builder)
    return [made[root, None] for root in roots]


def _demands(order: list[Node], roots: Sequence[Node]) -> dict[Node, Demand]:
    demands: dict[Node, Demand] = {node: {} for node in order}
    for root in roots:
        demands[root][None] = None
    for node in reversed(order):
        demands[node] = _settle(node, demands[node])
        if node.storage is not None:
            continue
        for window in demands[node]:
            wanted = _of_inputs(node, window)
            for source, part in zip(node.inputs, wanted, strict=True):
                if not _is_unseen(node, part):
                    demands[source][part] = None
    return demands


def _settle(node: Node, demand: Demand) -> Demand:
    """Return windows worth computing one by one: together no more than half of the elements."""
    if None in demand:
        return {None: None}
    if sum(window.size for window in demand if window is not None) * 2 > node.size:
        return {None: None}
    return demand


def _of_inputs(node: Node, window: Window | None) -> list[Window | None]:
    """Return what `node` seen through `window` needs of each input."""
    if node.op is SLICE:
        inner = Window(*node.attrs)
        return [inner if window is None else inner.through(window)]
    if window is None:
        return [None] * len(node.inputs)
    rule = NARROWING.get(node.op.kind) or NARROWING.get(node.op)
    wanted = rule(node, window) if rule else None
    return wanted or [None] * len(node.inputs)


def _make(
    node: Node,
    window: Window | None,
    made: dict[tuple[Node, Window | None], Node],
    build: Builder,
) -> Node:
    """Return `node` seen through `window`, from inputs that were made before."""
    if window is None and not node.inputs:
        return node
    if node.storage is not None or (not node.inputs and not _counts(node)):
        return node if window is None else _slice(node, window, build)
    if node.op is SLICE:
        inner = _of_inputs(node, window)[0]
        source = node.inputs[0]
        if inner is not None and (source, inner) in made:
            return made[source, inner]
        whole = made[source, None]
        return whole if inner is None else _slice(whole, inner, build)
    if window is None:
        return build.remake(node, tuple([made[source, None] for source in node.inputs]))
    if _counts(node):
        return _arange(node, window, build)
    rule = NARROWING.get(node.op.kind) or NARROWING.get(node.op)
    wanted = rule(node, window) if rule else None
    if wanted is None:
        whole = build.remake(node, tuple([made[source, None] for source in node.inputs]))
        return _slice(whole, window, build)
    inputs = tuple(
        [
            _seen(source, part, made, build)
            for source, part in zip(node.inputs, wanted, strict=True)
            if not _is_unseen(node, part)
        ]
    )
    if node.op is CONCAT:
        return _joined(node, window, inputs, build)
    (shown, *_) = wanted
    if node.op is RESHAPE and shown and unit_axes_match(node.inputs[0].shape, node.shape) is None:
        return _out_of_block(node, window, inputs[0], shown, build)
    attrs = (window.sizes,) if node.op in (EXPAND, RESHAPE) else node.attrs
    return build.make(node.op, inputs, attrs, window.sizes, node.dtype, node.device, node)


def _out_of_block(node: Node, window: Window, source: Node, shown: Window, build: Builder) -> Node:
    """Return a reshape seen through `window`, from the block of consecutive source elements that holds it."""
    block = block_around(window, node.shape)
    offset = flat_position(block.starts, node.shape) - flat_position(
        shown.starts, node.inputs[0].shape
    )
    run = _reshaped(source, (shown.size,), build)
    run = _slice(run, Window((offset,), (block.size,), (1,)), build)
    rest = Window(tuple(map(sub, window.starts, block.starts)), window.sizes, window.steps)
    return _slice(_reshaped(run, block.sizes, build), rest, build)


def _reshaped(node: Node, shape: Shape, build: Builder) -> Node:
    return build.make(RESHAPE, (node,), (shape,), shape, node.dtype, node.device, node)


def _seen(
    source: Node,
    window: Window | None,
    made: dict[tuple[Node, Window | None], Node],
    build: Builder,
) -> Node:
    known = made.get((source, window))
    if known is not None:
        return known
    whole = made[source, None]
    return whole if window is None else _slice(whole, window, build)


def _is_unseen(node: Node, part: Window | None) -> bool:
    """Whether nothing is shown of an operand that `node` joins with others."""
    return node.op is CONCAT and part is not None and not part.size


def _joined(node: Node, window: Window, parts: tuple[Node, ...], build: Builder) -> Node:
    if len(parts) == 1:
        return parts[0]
    if window.axis(node.attrs[0])[2] < 0:  # seen from the end, the last part is the first
        parts = parts[::-1]
    return build.make(CONCAT, parts, node.attrs, window.sizes, node.dtype, node.device, node)


def _slice(node: Node, window: Window, build: Builder) -> Node:
    attrs = (window.starts, window.sizes, window.steps)
    return build.make(SLICE, (node,), attrs, window.sizes, node.dtype, node.device, node)


def _counts(node: Node) -> bool:
    """Whether the node is an arange, which can start elsewhere."""
    return node.op is ARANGE


def _arange(node: Node, window: Window, build: Builder) -> Node:
    start, step, first, stride = node.attrs
    at, size, by = window.axis(0)
    if node.dtype in INTEGER:
        attrs = (start + step * at, step * by, first, stride)
    else:  # another start and step would round differently
        attrs = (start, step, first + stride * at, stride * by)
    return build.make(ARANGE, (), attrs, (size,), node.dtype, node.device, node)


def _map(node: Node, window: Window) -> list[Window | None]:
    return [window.on_operand(source.shape) for source in node.inputs]


def _expand(node: Node, window: Window) -> list[Window | None]:
    return [window.on_operand(node.inputs[0].shape)]


def _permute(node: Node, window: Window) -> list[Window | None]:
    axes = node.attrs[0]
    back = sorted(range(len(axes)), key=axes.__getitem__)
    return [Window.of_axes([window.axis(axis) for axis in back])]


def _reshape(node: Node, window: Window) -> list[Window | None] | None:
    source = node.inputs[0].shape
    if 0 in window.sizes:
        return None
    matched = unit_axes_match(source, node.shape)
    if matched is None:
        return [block_in_source(block_around(window, node.shape), node.shape, source)]
    axes = [(0, 1, 1)] * len(source)
    for target, origin in enumerate(matched):
        if origin is not None:
            axes[origin] = window.axis(target)
    return [Window.of_axes(axes)]


def _reduce(node: Node, window: Window) -> list[Window | None] | None:
    if 0 in window.sizes:
        return None  # of an axis that is combined and kept, nothing is shown: narrower operands cannot say so
    axes, keepdims = node.attrs
    source = node.inputs[0].shape
    kept = iter([axis for axis in range(len(node.shape)) if not (keepdims and axis in axes)])
    return [
        Window.of_axes(
            [
                (0, size, 1) if axis in axes else window.axis(next(kept))
                for axis, size in enumerate(source)
            ]
        )
    ]


def _concat(node: Node, window: Window) -> list[Window | None] | None:
    if 0 in window.sizes:
        return None
    (axis,) = node.attrs
    parts: list[Window | None] = []
    low = 0
    for source in node.inputs:
        high = low + source.shape[axis]
        parts.append(window.within(axis, low, high))
        low = high
    return parts


NARROWING: dict[object, Narrowing] = {
    Kind.MAP: _map,
    Kind.TRANSFER: _map,
    Kind.REDUCE: _reduce,
    EXPAND: _expand,
    PERMUTE: _permute,
    RESHAPE: _reshape,
    CONCAT: _concat,
}
