"""What follows of a convolution from sizes alone: plans of memory know it before there are operands, or LLVM."""

from __future__ import annotations

from math import ceil, prod

from tensorframe.backends.numpy.convolution.padding import left
from tensorframe.backends.numpy.products.product import LONG
from tensorframe.dtypes import DType, float32, float64
from tensorframe.graph.shape import Shape
from tensorframe.ops.convolution import Geometry, multiplications

# What kernels know; NumPy makes other convolutions.
DTYPES = frozenset({float32, float64})
# Bytes of a block's input and result, or of what is packed of it, which stay in the second-level cache.
BLOCK = 1 << 20
# Blocks that there should be, so that every thread has its share, and products from which sharing is worth anything.
ENOUGH, _WORTH_SHARING = 4, 1 << 22
# Sums that a gradient by a small kernel is made of, the same on any number of threads; terms of it that are turned at a
# time, and elements of all sums at most. Positions of small images, which lie side by side where channels are as many.
SUMS, _TURNED, _MOST, SMALL = 8, 512, 1 << 19, 128
# Windows up to which a block may have all of them, parts that the result's channels are cut into then, and the fewest
# channels of a part.
_FEW, _PARTS, _FEWEST = 1024, 8, 64


class Sizes:
    """The sizes of a convolution of an input without zeros between its elements."""

    def __init__(
        self, x: Shape, weight: Shape, geometry: Geometry, groups: int, dtype: DType
    ) -> None:
        out, self.inner, *kernel = weight
        self.kernel: Shape = tuple(kernel)
        self.groups, self.channels = groups, out // groups
        self.sizes = geometry.sizes(x[2:], self.kernel)
        self.shape: Shape = (x[0], out, *self.sizes)
        self.dtype = dtype
        self.geometry = geometry._replace(
            before=tuple([max(low, 0) for low in geometry.before]),
            after=tuple([max(high, 0) for high in geometry.after]),
        )
        before, after = self.geometry.before, self.geometry.after
        self.is_padded = any((*before, *after))
        # without what negative padding takes away, and with the zeros around it
        axes = zip(x[2:], left(x[2:], geometry), strict=True)
        self.spatial: Shape = tuple([len(range(size)[part]) for size, part in axes])
        ends = zip(self.spatial, before, after, strict=True)
        self.padded_shape: Shape = (*x[:2], *map(sum, ends))
        # zeros behind a row are those before the next one
        self.pitch = self.padded_shape[-1]
        self.pitch -= min(before[-1], after[-1]) if len(kernel) > 1 else 0
        # a gradient by the kernel, whose batch are channels: the result's memory has channels outside
        self.is_turned = prod(self.kernel) > prod(self.sizes)

    def is_long(self, blocks: int) -> bool:
        """Whether an interrupt should not wait for one of so many blocks."""
        return self._multiplications > LONG * blocks

    @property
    def enough(self) -> int:
        """How many blocks there should be."""
        return ENOUGH if self._multiplications >= _WORTH_SHARING else 1

    @property
    def is_in_sums(self) -> bool:
        """Whether a gradient by the kernel is small beside what is summed: it is made of a few sums."""
        if not self.is_turned or self.groups > 1 or self.enough == 1:
            return False
        sums = SUMS * prod(self.shape)
        return sums <= _MOST and 2 * sums <= self.kernel_size

    @property
    def is_in_parts(self) -> bool:
        """Whether the kernel is large, and windows are few: blocks turn the kernel of their channels."""
        if self.is_turned or self.groups > 1:
            return False
        is_large = self.kernel_size * self.dtype.itemsize > BLOCK
        windows = self.shape[0] * prod(self.sizes)
        return is_large and self.kernel_size > 2 * prod(self.padded_shape) and windows <= _FEW

    @property
    def kernel_size(self) -> int:
        """How many elements the kernel has."""
        return self.shape[1] * self.inner * prod(self.kernel)

    def rows_by_channels(self, lanes: int) -> int:
        """Return the rows of a block, at most, whose vectors are channels."""
        row = prod(self.sizes[1:]) * (whole_vectors(self.channels, lanes) + self.channels)
        row += self.inner * prod(self.spatial[1:]) * self.geometry.stride[0]
        return max(BLOCK // (row * self.dtype.itemsize), 1)

    def part_of_sums(self) -> tuple[int, int]:
        """Return the rows of a part of a gradient in sums, and its images."""
        first, *rest = self.kernel
        rows = min(max(_TURNED // prod(rest), 1), first)
        images = max(_TURNED // (prod(rest) * rows), 1) if rows == first else 1
        # every sum has some
        return rows, min(images, max(self.inner * ceil(first / rows) // SUMS, 1))

    def channels_of_part(self, lanes: int) -> int:
        """Return the channels of a part of the result that turns its own of the kernel."""
        return max(whole_vectors(ceil(self.shape[1] / _PARTS), lanes), _FEWEST)

    def block(self, rows: int) -> tuple[int, int]:
        """Return the examples and the height of a block, if it has so many rows at most."""
        batch, _, first, *_ = self.shape
        examples = max(min(rows // first, ceil(batch / self.enough)), 1)
        parts = ceil(batch / examples)
        if parts > ENOUGH:  # equally many for each thread: the last one has none to wait for
            examples = ceil(batch / (ceil(parts / ENOUGH) * ENOUGH))
        return examples, ceil(first / ceil(first / rows))

    @property
    def _multiplications(self) -> int:
        return multiplications((self.channels, self.inner, *self.kernel), self.shape)


def whole_vectors(elements: int, lanes: int) -> int:
    """Return how many elements the vectors have that hold so many."""
    return ceil(elements / lanes) * lanes
