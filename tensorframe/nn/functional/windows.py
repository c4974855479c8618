"""Windows that slide over the last axes of a tensor: their sizes, and how many there are along each axis."""

from __future__ import annotations

from typing import Any

from tensorframe.errors import ArgumentError, ShapeError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.parameters import flag, integers
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.shape import Shape
from tensorframe.ops.movement import PAD
from tensorframe.quick_tuples import NamedTuple


class Windows(NamedTuple):
    """Windows on the last axes of a tensor, axis by axis: `counts` of them, on what is padded `before` and `after`."""

    sizes: Shape
    steps: Shape
    dilations: Shape
    before: Shape
    after: Shape
    counts: Shape

    @property
    def is_padded(self) -> bool:
        """Whether there is anything around the tensor."""
        return any(self.before) or any(self.after)

    def axes(self, tensor: Tensor) -> Shape:
        """Return the axes that the windows are on."""
        return tuple(range(tensor.ndim - len(self.sizes), tensor.ndim))

    def padded(self, tensor: Tensor, value: complex) -> Tensor:
        """Return a tensor with a number around it."""
        if not self.is_padded:
            return tensor
        none = (0,) * (tensor.ndim - len(self.sizes))
        return call(PAD, tensor, attrs=((*none, *self.before), (*none, *self.after), value))


def for_each_axis(name: str, parameter: str, value: Any, rank: int, least: int = 0) -> Shape:
    """Return one integer for each of `rank` axes: one for all, or one each; ArgumentError for another number."""
    numbers = integers(name, parameter, value)
    if len(numbers) == 1:
        numbers *= rank
    if len(numbers) != rank:
        raise ArgumentError(
            f"{name}: {parameter} has one number, or one for each of {rank} axes, got {len(numbers)}"
        )
    if min(numbers) < least:
        what = "positive" if least else "not negative"
        raise ArgumentError(f"{name}: {parameter} must be {what}, got {value!r}")
    return numbers


def windows_on(
    name: str,
    lengths: Shape,
    kernel_size: Any,
    stride: Any,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: Any = False,
) -> Windows:
    """Return the windows on axes of these lengths; ShapeError where not even one fits what is padded.

    Without `stride`, one begins where another ends. With `ceil_mode`, the last one may reach beyond the end, if it
    begins on the tensor or the padding before it; it may be the only one.
    """
    rank = len(lengths)
    sizes = for_each_axis(name, "kernel_size", kernel_size, rank, 1)
    no_stride = stride is None or (isinstance(stride, list | tuple) and not stride)
    steps = sizes if no_stride else for_each_axis(name, "stride", stride, rank, 1)
    pads = for_each_axis(name, "padding", padding, rank)
    dilations = for_each_axis(name, "dilation", dilation, rank, 1)
    beyond = flag(name, "ceil_mode", ceil_mode)
    after, counts = [], []
    for length, size, step, pad, apart in zip(lengths, sizes, steps, pads, dilations, strict=True):
        reach = (size - 1) * apart + 1
        room = length + 2 * pad - reach
        count = -(-room // step) + 1 if beyond else room // step + 1
        if beyond and (count - 1) * step >= length + pad:
            count -= 1
        if count < 1 or (room < 0 and not beyond):
            raise ShapeError(
                f"{name}: a window of {reach} elements is larger than an axis of {length} with padding={pad}",
                suggestions=(f"kernel_size={max(length + 2 * pad, 1)}, or more padding",),
            )
        after.append(max((count - 1) * step + reach - length - pad, 0))
        counts.append(count)
    return Windows(sizes, steps, dilations, pads, tuple(after), tuple(counts))


def need_half_padding(name: str, windows: Windows) -> None:
    """Raise ArgumentError for padding of more than half a window: some windows would have nothing else in them."""
    for size, apart, pad in zip(windows.sizes, windows.dilations, windows.before, strict=True):
        if pad > ((size - 1) * apart + 1) // 2:
            raise ArgumentError(
                f"{name}: padding={pad} is more than half of a window of {size} elements"
            )
