"""Sliding windows: a view of all runs of neighbours, which takes no memory."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.operands import operand
from tensorframe.frontend.parameters import integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import normalize_axis
from tensorframe.ops.movement import WINDOWS

__all__ = ["sliding_window_view"]


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Tensor:
    """All windows of a shape that slides over a tensor, along new last axes.

    `axis` names an axis for each size of `window_shape`; None is all of them. `subok` and `writeable` are NumPy's and
    change nothing: assignments change no other tensor.

    >>> tfr.lib.stride_tricks.sliding_window_view(tfr.arange(4), 3).tolist()
    [[0, 1, 2], [1, 2, 3]]
    """
    del subok, writeable
    name = "sliding_window_view"
    tensor = operand(x)
    sizes = integers(name, "window_shape", window_shape)
    axes = range(tensor.ndim) if axis is None else integers(name, "axis", axis)
    if len(axes) != len(sizes):
        raise ArgumentError(f"{name}: {len(sizes)} sizes for {len(axes)} axes of {tensor.shape}")
    ndim = tensor.ndim
    for given, size in zip(axes, sizes, strict=True):
        along = normalize_axis(name, given, ndim)
        if not 1 <= size <= tensor.shape[along]:
            raise ShapeError(
                f"{name}: a window of {size} does not fit axis {along} of {tensor.shape}"
            )
        tensor = call(WINDOWS, tensor, attrs=(along, size, 1, 1))
    return tensor
