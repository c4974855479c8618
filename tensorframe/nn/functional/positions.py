"""Positions of what was chosen in windows, in the flattened axes that the windows are on."""

from __future__ import annotations

import numpy as np

from tensorframe.dtypes import int64
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.operands import converted, operand, reshaped
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.holding import default_on
from tensorframe.graph.shape import Shape
from tensorframe.nn.functional.windows import Windows
from tensorframe.ops.elementwise import ADD, FLOOR_DIVIDE, MULTIPLY, REMAINDER


def flat_positions(places: Tensor, windows: Windows, shape: Shape) -> Tensor:
    """Return, for places in windows in C order, the positions in the flattened last axes of a tensor of `shape`."""
    rank = len(windows.sizes)
    index = converted(places, default_on(places.device, int64))
    total, rest, stride = None, index, 1
    for axis in reversed(range(rank)):
        size, step = windows.sizes[axis], windows.steps[axis]
        inside = apply(REMAINDER, rest, size) if axis else rest
        first = np.arange(windows.counts[axis]) * step - windows.before[axis]
        begin = operand(first.astype(index.dtype), device=index.device)
        begin = reshaped(begin, (first.size, *[1] * (rank - axis - 1)))
        along = apply(ADD, apply(MULTIPLY, inside, windows.dilations[axis]), begin)
        along = along if stride == 1 else apply(MULTIPLY, along, stride)
        total = along if total is None else apply(ADD, total, along)
        rest = apply(FLOOR_DIVIDE, rest, size) if axis else rest
        stride *= shape[len(shape) - rank + axis]
    assert total is not None
    return total
