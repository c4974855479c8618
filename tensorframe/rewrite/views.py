"""View composition: the algebra of views, and what two in a row amount to."""

from __future__ import annotations

from math import gcd

from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Every step-th element from a start on, for each axis: the attributes of a `slice` node."""

    starts: Shape
    sizes: Shape
    steps: Shape

    @classmethod
    def whole(cls, shape: Shape) -> Window:
        """Return the window that shows everything of a tensor of `shape`."""
        return cls((0,) * len(shape), shape, (1,) * len(shape))

    def shows_all(self, shape: Shape) -> bool:
        """Whether this window on a tensor of `shape` leaves out and reorders nothing."""
        return self == Window.whole(shape)

    @property
    def size(self) -> int:
        """The number of elements shown."""
        size = 1
        for extent in self.sizes:
            size *= extent
        return size

    def key(self) -> tuple[slice, ...]:
        """Return what NumPy is asked with for what the window shows."""
        bounds = []
        for start, size, step in map(self.axis, range(len(self.sizes))):
            stop = start + step * size
            bounds.append(slice(start, None if stop < 0 else stop, step) if size else slice(0))
        return tuple(bounds)

    def through(self, outer: Window) -> Window:
        """Return this window seen through `outer`: `x[self][outer] == x[self.through(outer)]`."""
        starts = tuple(
            start + step * after
            for start, step, after in zip(self.starts, self.steps, outer.starts, strict=True)
        )
        steps = tuple(a * b for a, b in zip(self.steps, outer.steps, strict=True))
        return Window(starts, outer.sizes, steps)

    def axis(self, axis: int) -> tuple[int, int, int]:
        """Return (start, size, step) of one axis."""
        return self.starts[axis], self.sizes[axis], self.steps[axis]

    @classmethod
    def of_axes(cls, axes: list[tuple[int, int, int]]) -> Window:
        """Return the window with these (start, size, step) triples."""
        starts, sizes, steps = zip(*axes, strict=True) if axes else ((), (), ())
        return cls(tuple(starts), tuple(sizes), tuple(steps))

    def joined(self, other: Window) -> Window:
        """Return the smallest window that shows, forwards, what two that are not empty show."""
        axes = []
        for axis in range(len(self.sizes)):
            first, last, step = self._reach(axis)
            low, high, other_step = other._reach(axis)
            step = gcd(step, other_step, first - low)
            start, end = min(first, low), max(last, high)
            axes.append((start, (end - start) // step + 1, step) if step else (start, 1, 1))
        return Window.of_axes(axes)

    def _reach(self, axis: int) -> tuple[int, int, int]:
        """Return the first and last place shown of an axis, and how far it is to the next; 0 if there is one."""
        start, size, step = self.axis(axis)
        end = start + step * (size - 1)
        return min(start, end), max(start, end), abs(step) if size > 1 else 0

    def inside(self, outer: Window) -> Window:
        """Return this window on what `outer` shows, in which it is: `outer.through(it)` shows what this one does."""
        if not self.size:
            return Window.whole(self.sizes)
        axes = []
        for axis in range(len(self.sizes)):
            start, size, step = self.axis(axis)
            first, _, by = outer.axis(axis)
            axes.append(((start - first) // by, size, step // by if size > 1 else 1))
        return Window.of_axes(axes)

    def within(self, axis: int, low: int, high: int) -> Window:
        """Return the window on the tensor's part from `low` to `high` of an axis: what this one shows of that."""
        start, size, step = self.axis(axis)
        # where the axis is seen backwards, its mirror image is seen forwards
        first, last = (
            (low - start, high - start) if step > 0 else (start - high + 1, start - low + 1)
        )
        begin = min(max(-(-first // abs(step)), 0), size)
        end = min(max(-(-last // abs(step)), 0), size)
        axes = list(map(self.axis, range(len(self.sizes))))
        axes[axis] = (start + step * begin - low, end - begin, step) if end > begin else (0, 0, 1)
        return Window.of_axes(axes)

    def on_operand(self, operand: Shape) -> Window:
        """Return the window on an operand that broadcasts to the tensor this window is on."""
        missing = len(self.sizes) - len(operand)
        return Window.of_axes(
            [
                (0, min(self.sizes[axis + missing], 1), 1)
                if size == 1
                else self.axis(axis + missing)
                for axis, size in enumerate(operand)
            ]
        )


def block_around(window: Window, shape: Shape) -> Window:
    """Return the smallest block of consecutive elements, in C order, that holds a window which is not empty."""
    ends = [start + step * (size - 1) for start, size, step in map(window.axis, range(len(shape)))]
    first = tuple(map(min, window.starts, ends))
    last = tuple(map(max, window.starts, ends))
    return block_between(first, last, shape)


def block_between(first: Shape, last: Shape, shape: Shape) -> Window:
    """Return the smallest block from one index to another: one place of the leading axes, several of the next."""
    axes = []
    for axis in range(len(shape)):
        low, high = first[axis], last[axis]
        axes.append((low, high - low + 1, 1))
        if low != high:
            axes += [(0, rest, 1) for rest in shape[axis + 1 :]]
            break
    return Window.of_axes(axes)


def flat_position(index: Shape, shape: Shape) -> int:
    """Return the position in C order of an index."""
    position = 0
    for coordinate, size in zip(index, shape, strict=True):
        position = position * size + coordinate
    return position


def index_at(position: int, shape: Shape) -> Shape:
    """Return the index at a position in C order."""
    index = []
    for size in reversed(shape):
        position, coordinate = divmod(position, size)
        index.append(coordinate)
    return tuple(reversed(index))


def block_in_source(block: Window, target: Shape, source: Shape) -> Window:
    """Return the smallest block of the source of a reshape that holds a block of its result."""
    first = flat_position(block.starts, target)
    last = first + block.size - 1
    return block_between(index_at(first, source), index_at(last, source), source)


def unit_axes_match(shape: Shape, target: Shape) -> list[int | None] | None:
    """For a reshape that only adds or drops axes of size 1: the source axis of each target axis, else None.

    None inside the list marks an added axis.
    """
    if [size for size in shape if size != 1] != [size for size in target if size != 1]:
        return None
    sources = iter([axis for axis, size in enumerate(shape) if size != 1])
    return [None if size == 1 else next(sources) for size in target]
