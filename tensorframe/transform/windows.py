"""Windows: cotangents of slices, which are padded with zeros to the size of what was sliced.

n slices of a tensor have n of them, and their sum would go n times over all of it. Those that lie beside each other
along an axis are joined instead: `x[:5]` and `x[5:]` give back a tensor in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.node import Node
from tensorframe.graph.record import record
from tensorframe.ops.creation import FULL
from tensorframe.ops.movement import CONCAT, PAD


def joined(windows: Sequence[Node]) -> list[Node]:
    """Return padded tensors with the same sum: those that do not overlap along one axis are one."""
    if len(windows) < 2:
        return list(windows)
    rest: list[Node] = []
    along: dict[int, list[Node]] = {}
    for window in windows:
        axis = _only_axis(window)
        if axis is None:
            rest.append(window)
        else:
            along.setdefault(axis, []).append(window)
    for axis, group in along.items():
        rest += _side_by_side(axis, group)
    return rest


def _only_axis(window: Node) -> int | None:
    """Return the axis along which a tensor is padded with zeros, None unless it is one."""
    before, after, value = window.attrs
    axes = [axis for axis, (b, a) in enumerate(zip(before, after, strict=True)) if b or a]
    return axes[0] if len(axes) == 1 and value == 0 else None


def _side_by_side(axis: int, group: list[Node]) -> list[Node]:
    """Join as many windows as do not overlap, in the order in which they begin; return the others as they are."""
    taken: list[Node] = []
    others: list[Node] = []
    end = 0
    for window in sorted(group, key=lambda member: member.attrs[0][axis]):
        start = window.attrs[0][axis]
        if taken and start < end:
            others.append(window)
        else:
            taken.append(window)
            end = start + window.inputs[0].shape[axis]
    return [*others, _concatenated(axis, taken)] if len(taken) > 1 else group


def _concatenated(axis: int, windows: Sequence[Node]) -> Node:
    """Return the sum of windows in ascending order: what they contain, joined, with zeros where there are gaps."""
    first = windows[0]
    pieces: list[Node] = []
    end = first.attrs[0][axis]
    for window in windows:
        gap = window.attrs[0][axis] - end
        if gap:
            shape = (*first.shape[:axis], gap, *first.shape[axis + 1 :])
            pieces.append(Node(FULL, (), (0,), shape, first.dtype, first.device, window.site))
        pieces.append(window.inputs[0])
        end += gap + window.inputs[0].shape[axis]
    whole = record(CONCAT, tuple(pieces), axis, device=first.device, site=first.site)
    if whole.shape == first.shape:
        return whole
    ahead, behind = windows[0].attrs[0], windows[-1].attrs[1]
    return record(PAD, (whole,), ahead, behind, 0, device=first.device, site=first.site)
