"""Gradients by small kernels: sums of a few parts, each over some images.

What is summed has many times as many terms as the result has elements. A part reads the cotangent once, turned some
terms at a time in the second-level cache; threads have parts of their own, and these are added up in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

from tensorframe.backends import host_pool
from tensorframe.backends.llvm.convolution.plan import Operands, Plan
from tensorframe.backends.llvm.convolution.script import Recorder, Script, stand_in
from tensorframe.backends.llvm.convolution.sizes import SUMS
from tensorframe.backends.llvm.convolution.ways import (
    INPUT,
    KERNEL,
    RESULT,
    matrix_for,
    multiply_windows,
    plan_of,
    scratch_for,
    turn,
    turn_back,
)
from tensorframe.backends.numpy.convolution.convolution import Store
from tensorframe.backends.numpy.convolution.padding import slices
from tensorframe.backends.numpy.convolution.points import copied
from tensorframe.backends.numpy.products.grid import Index

Array = Any


class InSums:
    """A convolution whose windows are as large as images, with few results."""

    in_parts = False

    def __init__(self, plan: Plan, x: Array, weight: Array) -> None:
        """`plan` is that of all convolutions with such operands."""
        self._plan, self._given = plan, {INPUT: x, KERNEL: weight}
        self.shape, self.dtype = plan.shape, plan.dtype
        self.blocks: list[Index] = [tuple([slice(0, size) for size in self.shape])]

    def array(self, out: Array | None = None) -> Array:
        """Return the result, in `out` if it is given."""
        batch, channels, *sizes = self.shape
        script, count = _recorded(self._plan.operands)
        sums = host_pool.empty((count, channels, batch, *sizes), self.dtype)
        operands = self._given | {RESULT: sums}
        script.run(operands, long=self._plan.is_long(count))
        return copied(sums.sum(axis=0).swapaxes(0, 1), out)

    def each(self, store: Store) -> None:
        """Call `store` with the index and the elements of the one block."""
        store(self.blocks[0], self.array())


@lru_cache(maxsize=128)
def _recorded(operands: Operands) -> tuple[Script, int]:
    """Return what makes the sums, and how many there are."""
    plan = plan_of(operands)
    parts, recorder = list(_parts(plan)), Recorder(plan.dtype)
    batch, channels, *sizes = plan.shape
    count, counts = min(SUMS, len(parts)), (batch, *sizes)
    memory = stand_in(RESULT, (count * prod(plan.shape),), (plan.dtype.itemsize,), plan.dtype)
    sums = memory.reshape((count, channels, batch, *sizes)).swapaxes(1, 2)
    for number in range(count):
        scratch = scratch_for(plan, counts, channels, recorder)
        for place, part in enumerate(parts[number::count]):
            whole = slice(0, batch), slice(0, part.inner), slice(0, part.sizes[0])
            windows = part.windows(*whole, recorder)
            kernel = matrix_for(part, part.inner, channels, recorder)
            turn(part.upright[0], kernel, recorder)
            multiply_windows(part, windows, kernel, scratch, batch, recorder, resumed=place > 0)
        turn_back(plan, scratch, sums[number], recorder)
        recorder.end_block()
    return recorder.script(), count


def _parts(plan: Plan) -> Iterator[Plan]:
    """Yield convolutions by some images, or rows of an image, whose sum is the whole."""
    x, weight = plan.given
    geometry, first = plan.operands.geometry, plan.kernel[0]
    rows, images = plan.part_of_sums()
    apart = geometry.dilation[0]
    for some in slices(plan.inner, images):
        for part in slices(first, rows):
            before = geometry.before[0] - part.start * apart
            after = geometry.after[0] - (first - part.stop) * apart
            own = geometry._replace(
                before=(before, *geometry.before[1:]), after=(after, *geometry.after[1:])
            )
            yield Plan(x[:, some], weight[:, some, part], own, 1)
