"""Arrays of a device: a layout in a block of its memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tensorframe.dtypes import DType
from tensorframe.graph.references import references
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass

if TYPE_CHECKING:
    # plans lay out arrays of every device, and few programs have another one than the host
    from tensorframe.backends.device.memory import Block


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Elements of a block: shape, strides and offset in elements. Of an array without elements there is no block."""

    block: Block | None
    dtype: DType
    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, as NumPy holds them."""
        return self.size * self.dtype.itemsize

    @property
    def is_alone(self) -> bool:
        """Whether nobody else sees its elements, in memory of the library's own, and each is in a place of its own."""
        block = self.block
        return block is not None and block.is_ours and self._has_places and _is_held_once((block,))

    @property
    def _has_places(self) -> bool:
        """Whether no two elements are in one place: true of all but what is broadcast, and of windows."""
        reach = 1
        for step, size in sorted(zip(map(abs, self.strides), self.shape, strict=True)):
            if size != 1:
                if step < reach:
                    return False
                reach = step * (size - 1) + reach
        return True

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order, one after the other."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


def _is_held_once(blocks: Sequence[Block]) -> bool:
    """Whether one array refers to a block, beside this sequence and the variable of who asks."""
    return references(blocks, 0) <= _ASKED


class _Asking:
    """What asks of a block that nobody else refers to, as an array does."""

    def __init__(self) -> None:
        self.block = object()

    def count(self) -> int:
        """Return the references there are."""
        block = self.block
        return references((block,), 0)


# measured, for the same reason as `IN_ONE_LIST`
_ASKED = _Asking().count()
