"""What a card sees of a tensor: some elements to print and those of its picture, computed together if that is quick."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tensorframe.frontend.protocols.preview import corners, put_together, seconds_for, seen
from tensorframe.frontend.protocols.printing import PATIENCE
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.notebook.card.sample import Drawing, Sample, sample_of
from tensorframe.notebook.card.text import printed
from tensorframe.rewrite.views import Window

Array = np.ndarray[Any, Any]

PICTURE_PATIENCE = 0.1  # estimated seconds that a picture may take besides the numbers
# A notebook shows text beside every card: that counts as the look at a tensor, or one display would be two of them.
_NO_TRACE = 0
SMALL = 1000  # elements of a tensor that is computed as a whole, as NumPy prints it as a whole
_PRINTED = 100  # elements of which none is left out
_EDGES = (0, 3, 3, 1)  # elements at either end of an axis, by the number of axes
_AXES = 3  # of more axes, the last three are printed, where the others begin


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: elements as `printed`, and those that are `drawn` as `sample` says; None where that takes long."""

    printed: str | None
    index: str  # of the part that is printed, where that is not the whole tensor
    sample: Sample | None = None
    drawn: Array | None = None

    @property
    def is_long(self) -> bool:
        """Whether the picture runs along the card, above what is printed."""
        return self.sample is not None and self.sample.drawing in (Drawing.LINE, Drawing.STRIP)


def look_at(tensor: Tensor) -> Look:
    """Return what there is to see, computing nothing else; small tensors are computed as a whole, and keep that."""
    if tensor.size <= SMALL:
        tensor.compute()
    shape = tensor.shape[-_AXES:]
    leading = tensor.ndim - len(shape)
    with np.printoptions(edgeitems=_EDGES[len(shape)]):
        windows = [_at_first(leading, window) for window in _windows(shape)]
        seconds = seconds_for(tensor, windows, _NO_TRACE)
        if seconds > PATIENCE:
            return Look(None, "")
        sample = _quick_sample(tensor, windows, seconds)
        arrays = seen(tensor, [*windows, sample.window] if sample else windows, _NO_TRACE)
        drawn = arrays.pop() if sample else None
        parts = [array.reshape(array.shape[leading:]) for array in arrays]
        index = f"[{', '.join(['0'] * leading + [':'] * _AXES)}]" if leading else ""
        return Look(_text(parts, shape), index, sample, drawn)


def _windows(shape: Shape) -> list[Window]:
    return corners(shape) if prod(shape) > _PRINTED else [Window.whole(shape)]


def _at_first(leading: int, window: Window) -> Window:
    """Return the window on a tensor with more axes in front, where these begin."""
    ones = (1,) * leading
    return Window((0,) * leading + window.starts, ones + window.sizes, ones + window.steps)


def _quick_sample(tensor: Tensor, windows: list[Window], seconds: float) -> Sample | None:
    """Return what to draw, if computing it takes hardly longer than the `seconds` for what is printed."""
    sample = sample_of(tensor)
    if sample is None:
        return None
    # together, as both may need the same: a product is there for the picture once its corners are
    more = seconds_for(tensor, [*windows, sample.window], _NO_TRACE) - seconds
    return sample if more <= PICTURE_PATIENCE else None


def _text(parts: list[Array], shape: Shape) -> str:
    if prod(shape) <= _PRINTED:
        return printed(parts[0], shortened=False)
    return printed(put_together(parts, shape), shortened=True)
