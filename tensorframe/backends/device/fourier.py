"""Fourier transforms on devices."""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.backends.base import Program
from tensorframe.backends.device.array import DeviceArray
from tensorframe.backends.device.lowering import Lowering
from tensorframe.backends.device.make import Make
from tensorframe.backends.device.queue import Queue
from tensorframe.dtypes import COMPLEX, real_of
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.kernel.groups.algorithms.fourier_ends import Array
from tensorframe.kernel.groups.algorithms.fourier_transform import build_transform, largest_array
from tensorframe.kernel.groups.algorithms.radices import convolution_length, radices_of
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.complex import Parts
from tensorframe.ops.fourier import FFTN, IFFTN, IRFFTN, RFFTN

Strides = tuple[int, ...]

FOURIER = (FFTN, IFFTN, RFFTN, IRFFTN)

# Shared memory of a group at most, in bytes: with more, fewer groups run at once. And what every device has of it.
_SHARED, _LEAST = 1 << 15, 1 << 14


def fourier_program(region: Region, make: Make) -> Program:
    """Return the program of a Fourier transform."""
    return make(region, _FourierLowering)


def fourier_bytes(region: Region) -> int:
    """Return what a transform takes at most beside operand and result: arrays between launches, and tables."""
    ((shape, dtype),) = region.inputs
    sizes: Shape
    sizes, axes, _norm = region.ops[0].attrs
    each = 2 * real_of(dtype).itemsize
    if len(axes) == 1 and radices_of(sizes[0]) is not None and sizes[0] * 2 * each <= _LEAST:
        return sizes[0] * each
    tables = sum(map(_table_elements, sizes))
    return each * (2 * largest_array(shape, sizes, axes) + tables)


def _table_elements(points: int) -> int:
    """Return how many numbers the tables of an axis have: roots of all points and of columns, or what a chirp takes."""
    if radices_of(points) is not None:
        return 2 * points
    return points + 3 * convolution_length(points)


class _FourierLowering(Lowering):
    """A transform as launches: from the operand, through two arrays of partial results, to the output."""

    def __init__(self, original: Region) -> None:
        self.original = self.region = original
        self.parts = Parts(original, {}, ())

    def built(
        self, queue: Queue, strides: Sequence[Strides], into: DeviceArray | None = None
    ) -> Built:
        """Return the kernels for an operand with these strides, in real elements."""
        assert into is None
        ((shape, dtype),) = self.region.inputs
        (op,) = self.region.ops
        sizes, axes, _norm = op.attrs
        target = self.target(queue, strides, more=2 * largest_array(shape, sizes, axes))
        source = Array("x0", shape, strides[0][: len(shape)], real=dtype not in COMPLEX)
        # two places for both parts of an element
        area = min(queue.traits.max_shared, _SHARED) // (4 * real_of(dtype).itemsize)
        return build_transform(self.region, source, area, target)
