"""Arrays of a device: a layout in a block of its memory."""

from __future__ import annotations

from math import prod

from tensorframe.backends.device.memory import Block
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_dataclasses import dataclass


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
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order, one after the other."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True
