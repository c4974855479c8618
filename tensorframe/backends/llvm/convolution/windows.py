"""Windows that reach beyond an image's edge: those that see the same positions of the kernel are multiplied together.

Zeros around an image need be neither made nor multiplied then: of the products of a 3x3 kernel with 7x7 images they are
18 %, with 14x14 images 9 %. A zero adds nothing to a sum, so bits are those of an input with zeros around it; but where
a kernel has infinities or NaN, which zeros turn into NaN, there is none.
"""

from __future__ import annotations

from tensorframe.ops.convolution import Geometry
from tensorframe.quick_tuples import NamedTuple


class Span(NamedTuple):
    """Places of windows next to each other along an axis, which see the same positions of the kernel.

    The first of them sees `first` of the image through the first of these positions.
    """

    places: range
    positions: range
    first: int


def whole(places: int, positions: int) -> list[Span]:
    """Return the one span of windows on an input with zeros around it."""
    return [Span(range(places), range(positions), 0)]


def spans(geometry: Geometry, axis: int, places: slice, kernel: int, length: int) -> list[Span]:
    """Return the spans of windows at `places` along an axis of an image of that length."""
    step, before = geometry.stride[axis], geometry.before[axis]
    apart, along = geometry.dilation[axis], list[Span]()
    for place in range(places.start, places.stop):
        begin = place * step - before
        low, high = max(-(begin // apart), 0), min((length - 1 - begin) // apart + 1, kernel)
        seen = range(low, max(high, low))
        if along and along[-1].positions == seen:
            last = along[-1]
            along[-1] = last._replace(places=range(last.places.start, last.places.stop + 1))
        else:
            own = place - places.start
            along.append(Span(range(own, own + 1), seen, begin + low * apart))
    return along
