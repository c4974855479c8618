"""Lowering: what a region is as kernels of a device, for any layout of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import COMPLEX, uint32, uint64
from tensorframe.errors import IndexingError
from tensorframe.graph.region import Region, RegionOp
from tensorframe.graph.space import Space
from tensorframe.kernel.groups.forms import build_groups
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.nest.nest import Access
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import Parts, in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.ops.creation import ARANGE

# Positions up to which 32 bits do, with room for the steps beyond the end that a loop over the grid takes.
_SHORT = 1 << 31
# the offset of an array from which such positions do not reach where it begins, be it of pairs
FAR = _SHORT // 2


class Lowering:
    """A region over real numbers, the space of its loops, and the kernels for operands of a layout."""

    far = False  # whether operands begin where 32 bits do not reach, see `FAR`
    asks_at_once = False  # whether a mark is asked for before the next step runs

    def __init__(self, original: Region) -> None:
        self.original = original
        self.parts: Parts = in_parts(expanded(original))
        self.region: Region = self.parts.region
        self.space: Space = space_of(self.region)

    def strides(self, index: int, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Return the strides, in real elements, of an input."""
        if (
            index < len(self.original.inputs)
            and self.original.inputs[index][1] in COMPLEX
            and strides
        ):
            return (*[2 * step for step in strides], 1)
        return strides

    def built(
        self, queue: Queue, strides: Sequence[tuple[int, ...]], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for operands with these strides, in real elements; `into` is where the output goes."""
        target = self.target(queue, strides, into)
        parts = [] if into is None else self._elements_of(into)
        return build_groups(self.region, self.space, strides, self.parts.places, target, parts)

    def target(
        self,
        queue: Queue,
        strides: Sequence[tuple[int, ...]],
        into: DeviceArray | None = None,
        more: int = 0,
    ) -> Target:
        """Return what kernels for such operands are built for: positions have 32 bits where that is enough.

        `more` are the elements of what kernels store besides.
        """
        shapes = [shape for shape, _ in self.region.inputs]
        shapes += [op.shape for op in self.region.ops]
        reach = [
            sum(abs(step) * (size - 1) for step, size in zip(steps, shape, strict=False))
            for steps, (shape, _) in zip(strides, self.region.inputs, strict=False)
        ]
        reach += [_last_counted(op) for op in self.region.ops if op.op is ARANGE]
        if into is not None and into.block is not None:
            reach.append(into.block.nbytes)
        most = max([*reach, *[prod(shape) for shape in shapes], more, 1])
        short = (most < _SHORT and not self.far) or not queue.traits.wide_index
        traits = queue.traits
        index = uint32 if short else uint64
        return Target(
            traits.lanes,
            traits.widest,
            index,
            traits.access,
            traits.rows,
            traits.tile_products,
            traits.max_buffers,
            traits.double_buffer,
            traits.copies,
            traits.neighbours,
            traits.max_iterations,
            queue.tunings,
        )

    def refusal(self) -> Exception:
        """Return the error of what kernels have marked, where NumPy has found nothing wrong."""
        return IndexingError("an index is out of bounds")

    def _elements_of(self, array: DeviceArray) -> list[Access]:
        """Return where the elements of an array, or both parts of them, are in its block."""
        if array.dtype not in COMPLEX:
            return [Access(array.offset, array.strides)]
        steps = tuple([2 * step for step in array.strides])
        return [Access(2 * array.offset + part, steps) for part in (0, 1)]


def _last_counted(op: RegionOp) -> int:
    """Return the largest position that a range counts, which may be a part of a longer one."""
    first, stride = map(int, op.attrs[2:])
    return max(first, first + stride * (prod(op.shape) - 1))
