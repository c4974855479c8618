"""Lines: the rows along one axis of arrays of nearly the same shape, numbered, and where their elements are."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.graph.shape import Shape
from tensorframe.kernel.ir import Expr
from tensorframe.kernel.ir.loops import ZERO, digits
from tensorframe.kernel.nest.body import Numbers


class Lines:
    """Positions of elements by row and place on an axis; axes that are contiguous in every array are one."""

    def __init__(
        self, shape: Shape, axis: int, strides: Sequence[Sequence[int]], numbers: Numbers
    ) -> None:
        """Take the strides of each of the arrays, in elements."""
        merged: list[tuple[int, tuple[int, ...]]] = []
        for dimension, size in enumerate(shape):
            if dimension == axis or size == 1:
                continue
            steps = tuple([stride[dimension] for stride in strides])
            if merged and merged[-1][1] == tuple([step * size for step in steps]):
                merged[-1] = (merged[-1][0] * size, steps)
            else:
                merged.append((size, steps))
        self._numbers = numbers
        self._sizes = [numbers.take(size, "n") for size, _ in merged]
        self._steps = [
            [*[steps[number] for _, steps in merged], stride[axis]]
            for number, stride in enumerate(strides)
        ]
        self._named: dict[tuple[int, int], Expr] = {}

    def position(self, number: int, row: Expr, place: Expr) -> Expr:
        """Return where an element of array `number` is."""
        total: Expr | None = None
        indices = [*digits(row, self._sizes), place]
        for axis, (coordinate, step) in enumerate(zip(indices, self._steps[number], strict=True)):
            if step == 0:
                continue
            if step != 1:
                if (number, axis) not in self._named:
                    self._named[number, axis] = self._numbers.take(step, "s")
                coordinate = coordinate * self._named[number, axis]
            total = coordinate if total is None else total + coordinate
        return ZERO if total is None else total
