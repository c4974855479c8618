"""The factors of a convolution as a product: where the kernel, and the windows on the input, have their elements.

Both are gathered into shared memory tile by tile, so the array of all windows is never there. The inner axis of the
product are channels and the kernel's positions, the columns are positions of the windows.
"""

from __future__ import annotations

from tensorframe.kernel import ir
from tensorframe.kernel.ir.formula import both, equal, negation
from tensorframe.kernel.ir.loops import digits, larger, smaller
from tensorframe.kernel.nest.body import Body
from tensorframe.kernel.nest.layout import Strides
from tensorframe.quick_tuples import NamedTuple


class Box(NamedTuple):
    """An inner axis that is several: their sizes and steps."""

    sizes: tuple[int, ...]
    steps: Strides

    def place(self, body: Body, inner: ir.Expr, _outer: ir.Expr) -> tuple[ir.Expr, ir.Expr | None]:
        """Return the position of an element."""
        return _dot(body, _apart(body, inner, self.sizes), self.steps), None


class Axis(NamedTuple):
    """A spatial axis of the input, and how windows lie along it: see `tensorframe.ops.convolution.Geometry`."""

    size: int
    step: int
    kernel: int
    windows: int
    stride: int
    before: int
    spread: int
    dilation: int


class Windows(NamedTuple):
    """The windows on an input: channels, and spatial axes."""

    channels: int
    step: int
    axes: tuple[Axis, ...]

    def place(self, body: Body, inner: ir.Expr, outer: ir.Expr) -> tuple[ir.Expr, ir.Expr | None]:
        """Return the position of an element, and whether it is no zero around or between those of the input."""
        kernel = (self.channels, *[axis.kernel for axis in self.axes])
        channel, *positions = _apart(body, inner, kernel)
        windows = _apart(body, outer, tuple([axis.windows for axis in self.axes]))
        places, known = [channel], None
        for axis, position, window in zip(self.axes, positions, windows, strict=True):
            place, conditions = _along(body, axis, position, window)
            places.append(place)
            for condition in conditions:
                known = condition if known is None else both(known, condition)
        steps = (self.step, *[axis.step for axis in self.axes])
        return _dot(body, places, steps), known


def _along(
    body: Body, axis: Axis, position: ir.Expr, window: ir.Expr
) -> tuple[ir.Expr, list[ir.Expr]]:
    """Return the index on an axis that a window has for a position of the kernel, and when it is one of the input."""
    take = body.numbers.take
    place = _times(body, window, axis.stride) + _times(body, position, axis.dilation)
    conditions: list[ir.Expr] = []
    reach = (axis.windows - 1) * axis.stride + (axis.kernel - 1) * axis.dilation - axis.before
    if axis.before > 0:
        before = take(axis.before, "b")
        conditions.append(negation(place < before))
        place = larger(place, before) - before
    elif axis.before < 0:
        place = place + take(-axis.before, "b")
    if axis.spread > 1:
        spread = take(axis.spread, "d")
        conditions.append(equal(ir.apply("remainder", place, spread), 0))
        place = ir.apply("floor_divide", place, spread)
    if reach >= axis.size * axis.spread or axis.spread > 1:
        size = take(axis.size, "l")
        conditions.append(place < size)
        place = smaller(place, size - 1)
    return place, conditions


def _times(body: Body, place: ir.Expr, factor: int) -> ir.Expr:
    return place if factor == 1 else place * body.numbers.take(factor, "f")


def _apart(body: Body, place: ir.Expr, sizes: tuple[int, ...]) -> list[ir.Expr]:
    """Return the indices of a place on axes that are one."""
    return digits(place, [body.numbers.take(size, "n") for size in sizes])


def _dot(body: Body, places: list[ir.Expr], steps: Strides) -> ir.Expr:
    """Return the sum of indices times steps."""
    total: ir.Expr | None = None
    for place, step in zip(places, steps, strict=True):
        term = _times(body, place, step)
        total = term if total is None else total + term
    assert total is not None
    return total
