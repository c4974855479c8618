"""Windows: which window of each operand a window of a node needs."""

from __future__ import annotations

from collections.abc import Callable

from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.movement import CONCAT, EXPAND, PERMUTE, RESHAPE, SLICE
from tensorframe.rewrite.views import Window, block_around, block_in_source, unit_axes_match

# (node, window of it) -> window of each input, None for all of it; or None where nothing is gained
Narrowing = Callable[[Node, Window], list[Window | None] | None]


def input_windows(node: Node, window: Window | None) -> list[Window | None] | None:
    """Return the window of each input that `window` of `node` needs; None if all of it, whatever the window."""
    if node.op is SLICE:
        inner = Window(*node.attrs)
        return [inner if window is None else inner.through(window)]
    if window is None:
        return [None] * len(node.inputs)
    rule = _rule(node)
    return rule(node, window) if rule else None


def narrows(node: Node) -> bool:
    """Whether a window on the result of `node` may need less than all of its inputs."""
    return node.op is SLICE or _rule(node) is not None


def is_unseen(node: Node, part: Window | None) -> bool:
    """Whether nothing is shown of an operand that `node` joins with others."""
    return node.op is CONCAT and part is not None and not part.size


def _rule(node: Node) -> Narrowing | None:
    return _NARROWING.get(node.op.kind) or _NARROWING.get(node.op)


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


_NARROWING: dict[object, Narrowing] = {
    Kind.MAP: _map,
    Kind.TRANSFER: _map,
    Kind.REDUCE: _reduce,
    EXPAND: _expand,
    PERMUTE: _permute,
    RESHAPE: _reshape,
    CONCAT: _concat,
}
