"""Preview: windows on a tensor, computed together and nothing else, and an estimate of what that takes.

Slices move towards the leaves, so a window on elementwise ops costs its own elements. Behind a product or a sort
everything is computed to show a corner: `seconds_for` tells that before anybody waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from tensorframe.backends.registry import capabilities
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import SLICE
from tensorframe.rewrite.views import Window
from tensorframe.runtime.evaluate import evaluate, plan_for
from tensorframe.schedule.plan import Plan, Step, StepKind

__all__: list[str] = []

Array = np.ndarray[Any, Any]
Span = tuple[int, int]  # start, size

# What a modest processor does in a second. Only orders of magnitude matter: a corner takes microseconds, and what
# nobody wants to wait for takes seconds.
_FLOPS = 4e9
_PRODUCT_FLOPS = 4e10
_LIBRARY_FLOPS = 3e8
_BYTES = 5e9
# Operations up to which a tensor is stored because it was looked at often: nobody waits for these.
GLANCE = 1e8


def parts_of(tensor: Tensor, windows: Sequence[Window]) -> list[Tensor]:
    """Return what each window shows of a tensor, recorded."""
    return [
        call(SLICE, tensor, attrs=(window.starts, window.sizes, window.steps)) for window in windows
    ]


def seen(tensor: Tensor, windows: Sequence[Window], most: float = GLANCE) -> list[Array]:
    """Return what each window shows of a tensor, as NumPy arrays; computes these elements alone, in one plan.

    What is looked at often is stored, for at most so many operations; 0 looks without leaving a trace.
    """
    if in_host_memory(tensor):
        array = tensor._array()
        return [array[_slices(window)] for window in windows]
    parts = parts_of(tensor, windows)
    evaluate([part.node for part in parts], most)
    return [part._array() for part in parts]


def in_host_memory(tensor: Tensor) -> bool:
    """Whether looking at elements neither computes nor moves any."""
    return tensor.node.storage is not None and capabilities(tensor.device).host_memory


def seconds_for(tensor: Tensor, windows: Sequence[Window], most: float = GLANCE) -> float:
    """Estimate for how long a modest processor would compute what the windows show; computes nothing."""
    if tensor.node.storage is not None:
        return 0.0
    parts = parts_of(tensor, windows)
    _, plan = plan_for([part.node for part in parts], most)
    return _seconds(plan)


def _seconds(plan: Plan) -> float:
    moved = plan.bytes_read + plan.bytes_written
    return moved / _BYTES + sum(step.flops / _rate(step) for step in plan.steps)


def _rate(step: Step) -> float:
    if step.kind is not StepKind.LIBRARY:
        return _FLOPS
    return _PRODUCT_FLOPS if step.region.ops[0].op.kind is Kind.CONTRACT else _LIBRARY_FLOPS


def _slices(window: Window) -> tuple[slice, ...]:
    return tuple(
        [
            slice(start, start + step * (size - 1) + 1, step) if size else slice(0)
            for start, size, step in map(window.axis, range(len(window.sizes)))
        ]
    )


def corners(shape: Shape) -> list[Window]:
    """Return the windows on what NumPy prints of a large array: the ends of its long axes."""
    return [
        Window.of_axes([(start, size, 1) for start, size in corner])
        for corner in product(*_spans(shape))
    ]


def put_together(parts: Sequence[Array], shape: Shape) -> Array:
    """Return an array of `shape` without the middle of its long axes, from what the windows of `corners` show."""
    spans = _spans(shape)
    result = np.empty([sum(size for _, size in axis) for axis in spans], parts[0].dtype)
    for part, place in zip(parts, product(*map(_places, spans)), strict=True):
        result[place] = part
    return result


def _spans(shape: Shape) -> list[list[Span]]:
    return [_shown_spans(size) for size in shape]


def _shown_spans(size: int) -> list[Span]:
    """Return the spans of an axis that are shown: both ends, and one element for the dots."""
    edge = int(np.get_printoptions()["edgeitems"])
    if size <= 2 * edge + 1:
        return [(0, size)]
    return [(0, edge + 1), (size - edge, edge)] if edge else [(0, 1)]


def _places(spans: list[Span]) -> list[slice]:
    """Return where the spans of an axis go when they are pushed together."""
    ends = np.cumsum([size for _, size in spans])
    return [slice(end - size, end) for end, (_, size) in zip(ends, spans, strict=True)]
