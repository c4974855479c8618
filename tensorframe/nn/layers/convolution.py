"""Convolutions, and their transposes, of one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from tensorframe.dtypes import DTypeLike
from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.manipulation.padding import Mode, pad
from tensorframe.frontend.operands import operand
from tensorframe.frontend.random.keys import Source
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional, init
from tensorframe.nn.layers.keys import keys_for
from tensorframe.nn.module import Module

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

Size = int | Sequence[int]

# PyTorch's names of what is beyond the border, and NumPy's
_MODES: dict[str, Mode] = {
    "zeros": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


class _Convolution(Module):
    """What convolutions and transposed ones share: sizes, and initial values within `1 / sqrt(fan_in)`."""

    _axes: ClassVar[int]

    weight: Tensor
    bias: Tensor | None

    def _begin(
        self,
        channels: tuple[int, int],
        kernel_size: Size,
        stride: Size,
        dilation: Size,
        groups: int,
    ) -> None:
        self.in_channels, self.out_channels = channels
        self.kernel_size = self._sizes("kernel_size", kernel_size)
        self.stride = self._sizes("stride", stride)
        self.dilation = self._sizes("dilation", dilation)
        self.groups = groups
        for name, count in (("in_channels", channels[0]), ("out_channels", channels[1])):
            if groups < 1 or count % groups:
                raise ArgumentError(
                    f"{type(self).__name__}: groups={groups} does not divide {name}={count}"
                )

    def _sizes(self, name: str, value: Any) -> tuple[int, ...]:
        """Return a size for each axis: one number is the size for all."""
        sizes = (value,) * self._axes if isinstance(value, int) else tuple(value)
        if len(sizes) != self._axes:
            raise ArgumentError(
                f"{type(self).__name__}: {name} is a number, or one for each of {self._axes} axes; "
                f"got {value!r}"
            )
        return sizes

    def _draw(
        self, shape: tuple[int, ...], bias: bool, dtype: Any, device: OnDevice, key: Source
    ) -> None:
        keys = keys_for(key, 2)
        bound = 1 / math.sqrt(max(math.prod(shape[1:]), 1))
        made = {"dtype": dtype, "device": device}
        self.weight = init.uniform(shape, -bound, bound, key=next(keys), **made)
        self.bias = None
        if bias:
            self.bias = init.uniform(self.out_channels, -bound, bound, key=next(keys), **made)

    def extra_repr(self) -> str:
        """Return the sizes that are not the default ones."""
        once = (1,) * self._axes
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={_shown(self.kernel_size)}",
            *[
                f"{name}={_shown(value)}"
                for name, value in (("stride", self.stride), ("dilation", self.dilation))
                if value != once
            ],
            *self._padding_shown(),
        ]
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)

    def _padding_shown(self) -> list[str]:
        return []


def _shown(sizes: Any) -> str:
    """Return sizes as they are written: one number where all are the same."""
    same = isinstance(sizes, tuple) and len(set(sizes)) == 1
    return repr(sizes[0] if same else sizes)


class Conv2d(_Convolution):
    """A convolution over (N, C, H, W) or (C, H, W): each output channel is a weighted sum of a window of all inputs.

    `weight` has shape (out_channels, in_channels / groups, height, width), `bias` (out_channels,). `padding` is sizes,
    or "valid" or "same"; `padding_mode` says what is beyond the border: "zeros", "reflect", "replicate" or "circular".
    Both parameters begin uniform within the root of one over the number of inputs to a sum.

    >>> tfr.nn.Conv2d(3, 8, 3, padding=1)(tfr.ones((2, 3, 16, 16))).shape
    (2, 8, 16, 16)
    """

    _axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        self._begin((in_channels, out_channels), kernel_size, stride, dilation, groups)
        self.padding = padding if isinstance(padding, str) else self._sizes("padding", padding)
        self.padding_mode = padding_mode
        if padding_mode not in _MODES:
            raise ArgumentError(
                f"{type(self).__name__}: padding_mode={padding_mode!r} is not known",
                suggestions=(f"one of {', '.join(map(repr, _MODES))}",),
            )
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self._draw(shape, bias, dtype, device, key)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the sums of the windows of `input`."""
        convolve = getattr(functional, f"conv{self._axes}d")
        padding: Size | str = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            tensor = operand(input)
            around = [(0, 0)] * (tensor.ndim - self._axes) + self._around()
            input, padding = pad(tensor, around, _MODES[self.padding_mode]), 0
        result: Tensor = convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )
        return result

    def _around(self) -> list[tuple[int, int]]:
        """Return how much is put before and after each axis; of an odd number, more after it."""
        if self.padding != "same":
            return [(size, size) for size in self.padding if not isinstance(size, str)]
        wholes = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [(whole // 2, whole - whole // 2) for whole in wholes]

    def _padding_shown(self) -> list[str]:
        if self.padding == (0,) * self._axes:
            return []
        mode = "" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode!r}"
        return [f"padding={_shown(self.padding)}{mode}"]


class Conv1d(Conv2d):
    """`Conv2d` along one axis: inputs (N, C, L) or (C, L), weight (out_channels, in_channels / groups, length).

    >>> tfr.nn.Conv1d(3, 8, 5, stride=2)(tfr.ones((2, 3, 16))).shape
    (2, 8, 6)
    """

    _axes = 1


class Conv3d(Conv2d):
    """`Conv2d` along three axes: inputs (N, C, D, H, W) or (C, D, H, W).

    The kernel moves in depth, height and width; its parameters are those of `Conv2d`, with three
    numbers for each.

    >>> tfr.nn.Conv3d(3, 8, 3)(tfr.ones((2, 3, 5, 5, 5))).shape
    (2, 8, 3, 3, 3)
    """

    _axes = 3


class ConvTranspose2d(_Convolution):
    """The transpose of `Conv2d`, which gives the shape that a convolution of these arguments takes.

    `weight` has shape (in_channels, out_channels / groups, height, width). `output_padding` adds to one side of the
    result: with `stride` several shapes have the same convolution.

    >>> tfr.nn.ConvTranspose2d(8, 3, 2, stride=2)(tfr.ones((2, 8, 5, 5))).shape
    (2, 3, 10, 10)
    """

    _axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: OnDevice = None,
        dtype: DTypeLike | None = None,
        *,
        key: Source = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ArgumentError(
                f"{type(self).__name__}: padding_mode is 'zeros', not {padding_mode!r}"
            )
        self._begin((in_channels, out_channels), kernel_size, stride, dilation, groups)
        self.padding = self._sizes("padding", padding)
        self.output_padding = self._sizes("output_padding", output_padding)
        shape = (in_channels, out_channels // groups, *self.kernel_size)
        self._draw(shape, bias, dtype, device, key)

    def forward(self, input: ArrayLike) -> Tensor:
        """Return what `input` spreads over the windows of the result."""
        transposed = getattr(functional, f"conv_transpose{self._axes}d")
        result: Tensor = transposed(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )
        return result

    def _padding_shown(self) -> list[str]:
        none = (0,) * self._axes
        pairs = (("padding", self.padding), ("output_padding", self.output_padding))
        return [f"{name}={_shown(value)}" for name, value in pairs if value != none]


class ConvTranspose1d(ConvTranspose2d):
    """`ConvTranspose2d` along one axis.

    The gradient of `Conv1d` by its input, as a layer: it enlarges inputs (N, C, L) by `stride`.

    >>> tfr.nn.ConvTranspose1d(8, 3, 2, stride=2)(tfr.ones((2, 8, 5))).shape
    (2, 3, 10)
    """

    _axes = 1


class ConvTranspose3d(ConvTranspose2d):
    """`ConvTranspose2d` along three axes.

    The gradient of `Conv3d` by its input, as a layer: it enlarges inputs (N, C, D, H, W) by
    `stride`.

    >>> tfr.nn.ConvTranspose3d(4, 3, 2)(tfr.ones((1, 4, 2, 2, 2))).shape
    (1, 3, 3, 3, 3)
    """

    _axes = 3
