"""The convolution of networks: a window slides over the input, and its elements are multiplied with a kernel and summed.

One row is the function, its transpose and both of its gradients: `input_dilation` puts zeros between the elements of the
input, padding may be negative, and batch and channels change places by a permutation.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from tensorframe.dtypes import NUMERIC
from tensorframe.errors import ShapeError
from tensorframe.graph.op import LOW, Kind, Op, register, same
from tensorframe.graph.shape import Shape
from tensorframe.ops.rules.convolution import cotangents
from tensorframe.quick_tuples import NamedTuple


class Geometry(NamedTuple):
    """Where a window lies, for each spatial axis.

    Output element p reads, for position k of the kernel, element q of the input with q * input_dilation =
    p * stride + k * dilation - before, where there is one.
    """

    stride: Shape
    before: Shape
    after: Shape
    input_dilation: Shape
    dilation: Shape

    def sizes(self, spatial: Shape, kernel: Shape) -> Shape:
        """Return how many positions the window has along each axis: 0 or less where it does not fit."""
        return _sizes(self, spatial, kernel)


@lru_cache(maxsize=1024)
def _sizes(geometry: Geometry, spatial: Shape, kernel: Shape) -> Shape:
    sizes = []
    for axis, (size, length) in enumerate(zip(spatial, kernel, strict=True)):
        reach = (length - 1) * geometry.dilation[axis] + 1
        free = padded_size(geometry, axis, size) - reach
        sizes.append(free // geometry.stride[axis] + 1)
    return tuple(sizes)


def padded_size(geometry: Geometry, axis: int, size: int) -> int:
    """Return the length of an axis of the input with zeros between its elements and around them."""
    spread = (size - 1) * geometry.input_dilation[axis] + 1 if size else 0
    return geometry.before[axis] + spread + geometry.after[axis]


def _convolved(shapes: tuple[Shape, ...], *attrs: Any) -> Shape:
    (batch, channels, *spatial), (out_channels, group_channels, *kernel) = shapes
    *windows, groups = attrs
    sizes = Geometry(*windows).sizes(tuple(spatial), tuple(kernel))
    if channels != group_channels * groups or out_channels % groups or min(sizes, default=1) < 0:
        raise ShapeError(
            f"convolution: a kernel of shape {shapes[1]} in {groups} groups does not fit an input of shape {shapes[0]}"
        )
    return (batch, out_channels, *sizes)


def multiplications(weight: Shape, out: Shape) -> int:
    """Return how many products a convolution sums: each element of the result has those of one kernel."""
    return prod(out) * prod(weight[1:])


CONVOLUTION = register(
    Op(
        "convolution",
        Kind.CONTRACT,
        2,
        NUMERIC,
        same,
        "Products of a kernel with every window on the input, summed over channels and the kernel's positions.",
        shape=_convolved,
        attributes=("stride", "before", "after", "input_dilation", "dilation", "groups"),
        in_standard=False,
        costly=True,
        precision=LOW,
        vjp=cotangents,
    )
)
