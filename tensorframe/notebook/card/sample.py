"""Which elements of a tensor a card draws: few, evenly spread, as a line, in colours, or as a photograph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

from tensorframe.dtypes import FLOAT, bool_, uint8
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.rewrite.views import Window

_POINTS = 240  # of a line
_STRIPES = 480  # where each is a colour
_CELLS = 96  # along either side of a plane
_PIXELS = 144  # along either side of a photograph
_LEAST_POINTS = 8  # of fewer elements, the numbers say more
_LEAST_CELLS = 16
_LEAST_PIXELS = 16  # a shape such as (1000, 2, 3) is no photograph


class Drawing(Enum):
    """As what elements are drawn."""

    LINE = "line"
    STRIP = "strip"
    PLANE = "plane"
    PHOTOGRAPH = "photograph"


@dataclass(frozen=True, slots=True)
class Sample:
    """The elements in `window`; `plane` is the index of the part that is drawn, where that is not the whole tensor."""

    drawing: Drawing
    window: Window
    axes: tuple[int, ...]  # those that are drawn
    plane: str

    @property
    def extent(self) -> Shape:
        """How many elements are drawn along each axis that is."""
        return tuple([self.window.sizes[axis] for axis in self.axes])


def sample_of(tensor: Tensor) -> Sample | None:
    """Return what to draw of a tensor; None where numbers say it all."""
    shape = tensor.shape
    if is_photograph(tensor):
        axes = tuple(range(tensor.ndim - 3, tensor.ndim))
        step = _step(max(shape[-3:-1]), _PIXELS)  # the same on both axes
        return _sample(Drawing.PHOTOGRAPH, shape, axes, (step, step, 1))
    long = tuple([axis for axis, size in enumerate(shape) if size > 1])
    if 0 in shape or not long:
        return None
    if len(long) == 1:
        if tensor.size < _LEAST_POINTS:
            return None
        drawing, most = (
            (Drawing.STRIP, _STRIPES) if tensor.dtype == bool_ else (Drawing.LINE, _POINTS)
        )
        return _sample(drawing, shape, long, (_step(tensor.size, most),))
    axes = long[-2:]
    sizes = [shape[axis] for axis in axes]
    if prod(sizes) < _LEAST_CELLS:
        return None
    return _sample(Drawing.PLANE, shape, axes, [_step(size, _CELLS) for size in sizes])


def is_photograph(tensor: Tensor) -> bool:
    """Whether the last three axes are likely to be rows, columns and colours."""
    if tensor.ndim < 3 or not (tensor.dtype == uint8 or tensor.dtype in FLOAT) or not tensor.size:
        return False
    *_, height, width, channels = tensor.shape
    return channels in (3, 4) and min(height, width) >= _LEAST_PIXELS


def _sample(drawing: Drawing, shape: Shape, axes: tuple[int, ...], steps: Sequence[int]) -> Sample:
    window = [(0, 1, 1)] * len(shape)
    for axis, step in zip(axes, steps, strict=True):
        window[axis] = _spread(shape[axis], step)
    index = ", ".join([":" if axis in axes else "0" for axis in range(len(shape))])
    others = any(size > 1 for axis, size in enumerate(shape) if axis not in axes)
    return Sample(drawing, Window.of_axes(window), axes, f"[{index}]" if others else "")


def _step(size: int, most: int) -> int:
    """Return how far apart at most `most` of so many elements are."""
    return -(-size // most)


def _spread(size: int, step: int) -> tuple[int, int, int]:
    """Return (start, count, step) of every step-th element, as far from one end as from the other."""
    count = -(-size // step)
    return (size - 1 - step * (count - 1)) // 2, count, step
