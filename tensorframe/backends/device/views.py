"""Views of device arrays: NumPy works out their layout on a stand-in whose memory is never touched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.numpy.functions import implementation
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS
from tensorframe.quick_tuples import NamedTuple

VIEWS = frozenset({EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS})

_MEMORY = np.zeros(1, np.uint8)
_ADDRESS = _MEMORY.__array_interface__["data"][0]


def is_view(region: Region) -> bool:
    """Whether a region only looks at its input in another way."""
    return all(op.op in VIEWS for op in region.ops)


class Placed(NamedTuple):
    """Where a view of an array is in its memory: behind the first element by `offset`."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int

    def of(self, array: DeviceArray) -> DeviceArray:
        """Return the view of an array."""
        offset = array.offset + self.offset
        return DeviceArray(array.block, array.dtype, self.shape, self.strides, offset)


def viewed(region: Region, array: DeviceArray) -> tuple[DeviceArray, ...] | None:
    """Return the outputs of such a region in the memory of its input; None if strides cannot say it."""
    places = places_of(region, array.shape, array.strides)
    return None if places is None else tuple([place.of(array) for place in places])


def places_of(region: Region, shape: Shape, strides: tuple[int, ...]) -> tuple[Placed, ...] | None:
    """Return where the outputs of such a region are in an array of this layout; None if strides cannot say it."""
    values = [as_strided(_MEMORY, shape, strides)]  # an element is a byte here
    for op in region.ops:
        source = values[op.inputs[0]]
        try:
            if op.op is RESHAPE:
                values.append(source.reshape(op.shape, copy=False))
            else:
                values.append(implementation[op.op](source, *op.attrs))
        except ValueError:
            return None
    return tuple([_placed(values[output]) for output in region.outputs])


def _placed(view: np.ndarray[Any, Any]) -> Placed:
    offset = view.__array_interface__["data"][0] - _ADDRESS if view.size else 0
    return Placed(view.shape, view.strides, offset)
