"""Slice pushdown (narrowing): compute only what is shown, by moving windows (slices) towards the leaves.

Two sweeps. Backwards, every node learns through which windows its consumers look at it, and settles in which versions
it is made: as a whole, or through a few windows that hold those. Forwards, it is made once per version, and consumers
take from these what they see. Both are linear, and deep graphs cost no recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

from tensorframe.dtypes import INTEGER
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.movement import CONCAT, EXPAND, RESHAPE, SLICE
from tensorframe.rewrite.engine import Builder, Rule
from tensorframe.rewrite.views import Window, block_around, flat_position, unit_axes_match
from tensorframe.rewrite.window_merging import Demand, Efforts, MergedWindows, merge_windows
from tensorframe.rewrite.windows import input_windows, is_unseen


def narrow(roots: Sequence[Node], rules: Sequence[Rule]) -> list[Node]:
    """Return the roots of a graph in which slices are taken as early as they can be."""
    order = reachable(roots)
    seen = _Seen(_versions(order, roots), Builder(rules))
    for node in order:
        for version in dict.fromkeys(seen.versions[node].values()):
            seen.made[node, version] = _make(node, version, seen)
    return [seen.of(root, None) for root in roots]


def _versions(order: list[Node], roots: Sequence[Node]) -> dict[Node, MergedWindows]:
    """Return, for each node and each window that somebody wants of it, the window through which it is made."""
    efforts = Efforts(order)
    demands: dict[Node, Demand] = {node: {} for node in order}
    for root in roots:
        demands[root][None] = None
    versions: dict[Node, MergedWindows] = {}
    for node in reversed(order):
        versions[node] = merged = merge_windows(node, demands[node], efforts)
        if node.storage is not None:
            continue
        for version in dict.fromkeys(merged.values()):
            wanted = input_windows(node, version) or [None] * len(node.inputs)
            for source, part in zip(node.inputs, wanted, strict=True):
                if not is_unseen(node, part):
                    demands[source][part] = None
    return versions


class _Seen:
    """The versions of nodes that were made, and nodes as their consumers see them."""

    def __init__(self, versions: dict[Node, MergedWindows], build: Builder) -> None:
        self.versions = versions
        self.build = build
        self.made: dict[tuple[Node, Window | None], Node] = {}

    def of(self, node: Node, window: Window | None) -> Node:
        """Return `node` seen through `window`, which somebody wanted of it."""
        version = self.versions[node][window]
        made = self.made[node, version]
        if window is version or window is None or window == version:
            return made
        return _slice(made, window if version is None else window.inside(version), self.build)

    def whole_inputs(self, node: Node) -> tuple[Node, ...]:
        """Return the inputs of `node`, each as a whole."""
        return tuple([self.made[source, None] for source in node.inputs])


def _make(node: Node, window: Window | None, seen: _Seen) -> Node:
    """Return `node` seen through `window`, from inputs that were made before."""
    build = seen.build
    if window is None and not node.inputs:
        return node
    if node.storage is not None or (not node.inputs and not _counts(node)):
        return node if window is None else _slice(node, window, build)
    if window is None and node.op is not SLICE:
        return build.remake(node, seen.whole_inputs(node))
    if _counts(node):
        assert window is not None
        return _arange(node, window, build)
    wanted = input_windows(node, window)
    if wanted is None:
        assert window is not None
        return _slice(build.remake(node, seen.whole_inputs(node)), window, build)
    inputs = tuple(
        [
            seen.of(source, part)
            for source, part in zip(node.inputs, wanted, strict=True)
            if not is_unseen(node, part)
        ]
    )
    if window is None or node.op is SLICE:
        return inputs[0]
    if node.op is CONCAT:
        return _join(node, window, inputs, build)
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
    run = _reshape(source, (shown.size,), build)
    run = _slice(run, Window((offset,), (block.size,), (1,)), build)
    rest = Window(tuple(map(sub, window.starts, block.starts)), window.sizes, window.steps)
    return _slice(_reshape(run, block.sizes, build), rest, build)


def _reshape(node: Node, shape: Shape, build: Builder) -> Node:
    return build.make(RESHAPE, (node,), (shape,), shape, node.dtype, node.device, node)


def _join(node: Node, window: Window, parts: tuple[Node, ...], build: Builder) -> Node:
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
    skipped, size, by = window.axis(0)
    if node.dtype in INTEGER:
        attrs = (start + step * skipped, step * by, first, stride)
    else:  # another start and step would round differently
        attrs = (start, step, first + stride * skipped, stride * by)
    return build.make(ARANGE, (), attrs, (size,), node.dtype, node.device, node)
