"""Axes that several arrays share, as loops: positions of elements by the indices of these loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.kernel import ir
from tensorframe.kernel.ir.loops import ZERO
from tensorframe.kernel.nest.body import Numbers


class Axes:
    """The size of each axis and the arrays' steps along it; axes that are contiguous in every array are one loop."""

    def __init__(self, axes: Sequence[Sequence[int]], numbers: Numbers) -> None:
        merged: list[tuple[int, list[int]]] = []
        for size, *steps in axes:
            if size == 1:
                continue
            if merged and merged[-1][1] == [step * size for step in steps]:
                merged[-1] = (merged[-1][0] * size, steps)
            else:
                merged.append((size, steps))
        self.count = prod([size for size, *_ in axes])
        self.sizes = [numbers.take(size, "n") for size, _ in merged]
        self._steps = [[step_of(step, numbers) for step in steps] for _, steps in merged]

    def position(self, array: int, indices: Sequence[ir.Expr]) -> ir.Expr:
        """Return where the element with these indices is in one of the arrays."""
        own = [steps[array] for steps in self._steps]
        return summed(*[times(index, step) for index, step in zip(indices, own, strict=True)])


def step_of(value: int, numbers: Numbers) -> ir.Expr | int:
    """Return the step along an axis: kernels know whether it is 0 or 1."""
    return value if value in (0, 1) else numbers.take(value, "s")


def times(index: ir.Expr, step: ir.Expr | int) -> ir.Expr:
    """Return how far away so many steps are."""
    if isinstance(step, ir.Expr):
        return index * step
    return index if step else ZERO


def summed(*positions: ir.Expr) -> ir.Expr:
    """Return the sum of positions, without those that are zero."""
    terms = [position for position in positions if position is not ZERO]
    return sum(terms[1:], terms[0]) if terms else ZERO
