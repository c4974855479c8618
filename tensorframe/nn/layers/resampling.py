"""Resampling, shuffling and padding of pictures and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tensorframe.errors import ArgumentError
from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.layers.options import Options

__all__ = [
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Upsample",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class Upsample(Options):
    """Pictures, or lines or spaces, of another size: `size`, or the old one times `scale_factor`.

    `mode` is "nearest", "linear", "bilinear", "bicubic" or "trilinear", as for `tfr.nn.functional.interpolate`.

    >>> tfr.nn.Upsample(scale_factor=2)(tfr.ones((1, 3, 4, 5))).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self,
        size: ShapeLike | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the pictures in their new size."""
        return functional.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )


class PixelShuffle(Options):
    """Channels as pixels: (N, C * r * r, H, W) becomes (N, C, H * r, W * r).

    Sub-pixel convolution's last step: `r` is the `upscale_factor` (Shi et al., 2016).

    >>> tfr.nn.PixelShuffle(2)(tfr.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, input: ArrayLike) -> Tensor:
        """Return larger pictures."""
        return functional.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Options):
    """Pixels as channels: what `PixelShuffle` takes.

    (N, C, H * r, W * r) becomes (N, C * r * r, H, W), where `r` is the `downscale_factor`.

    >>> tfr.nn.PixelUnshuffle(2)(tfr.ones((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, input: ArrayLike) -> Tensor:
        """Return smaller pictures."""
        return functional.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Options):
    """Channels of `groups` in turn.

    Between grouped convolutions it lets each group see channels of all the others (ShuffleNet).

    >>> tfr.nn.ChannelShuffle(2)(tfr.arange(4.0).reshape((1, 4, 1))).ravel().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the channels in another order."""
        return functional.channel_shuffle(input, self.groups)


class _Pad(Options):
    """What paddings share: how much is put before and after each axis, the last one first."""

    _axes: ClassVar[int]
    _mode: ClassVar[str] = "constant"

    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        self._begin(padding)

    def _begin(self, padding: Any) -> None:
        count = 2 * self._axes
        self.padding = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != count:
            raise ArgumentError(
                f"{type(self).__name__}: padding is a number or {count} of them, got {padding!r}"
            )

    def forward(self, input: Any) -> Tensor:
        """Return `input` with what is around it."""
        return functional.pad(input, self.padding, self._mode, vars(self).get("value"))


class CircularPad1d(_Pad):
    """Around the last one axis: goes on at the other end.

    As if the signal were periodic; `padding` is a number or a pair of them, before and behind.

    >>> tfr.nn.CircularPad1d(1)(tfr.ones((1, 1, 3))).shape
    (1, 1, 5)
    """

    _axes = 1
    _mode = "circular"


class CircularPad2d(CircularPad1d):
    """Around the last two axes: goes on at the other end.

    As if the picture were periodic; `padding` is a number, or left, right, top and bottom.

    >>> tfr.nn.CircularPad2d(1)(tfr.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    _axes = 2


class CircularPad3d(CircularPad1d):
    """Around the last three axes: goes on at the other end.

    As if the volume were periodic; `padding` is a number, or six of them from the last axis on.

    >>> tfr.nn.CircularPad3d(1)(tfr.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    _axes = 3


class ConstantPad1d(_Pad):
    """Around the last one axis: `value`.

    `padding` says how many elements are added: a number, or a pair, before and behind.

    >>> tfr.nn.ConstantPad1d(1, 0.5)(tfr.ones((1, 1, 3))).shape
    (1, 1, 5)
    """

    _axes = 1

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        self._begin(padding)
        self.value = value


class ConstantPad2d(ConstantPad1d):
    """Around the last two axes: `value`.

    `padding` says how many elements are added: a number, or left, right, top and bottom.

    >>> tfr.nn.ConstantPad2d(1, 0.5)(tfr.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    _axes = 2


class ConstantPad3d(ConstantPad1d):
    """Around the last three axes: `value`.

    `padding` says how many elements are added: a number, or six of them from the last axis on.

    >>> tfr.nn.ConstantPad3d(1, 0.5)(tfr.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    _axes = 3


class ReflectionPad1d(_Pad):
    """Around the last one axis: mirrored about the last element.

    The last element itself is not repeated, so `padding` must be less than the axis is long.

    >>> tfr.nn.ReflectionPad1d(1)(tfr.ones((1, 1, 3))).shape
    (1, 1, 5)
    """

    _axes = 1
    _mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Around the last two axes: mirrored about the last element.

    Edge elements themselves are not repeated, so `padding` must be less than each axis is long.

    >>> tfr.nn.ReflectionPad2d(1)(tfr.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    _axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """Around the last three axes: mirrored about the last element.

    Edge elements themselves are not repeated, so `padding` must be less than each axis is long.

    >>> tfr.nn.ReflectionPad3d(1)(tfr.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    _axes = 3


class ReplicationPad1d(_Pad):
    """Around the last one axis: the last element.

    It is repeated as often as `padding` says: a number, or a pair, before and behind.

    >>> tfr.nn.ReplicationPad1d(1)(tfr.ones((1, 1, 3))).shape
    (1, 1, 5)
    """

    _axes = 1
    _mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Around the last two axes: the last element.

    It is repeated as often as `padding` says: a number, or left, right, top and bottom.

    >>> tfr.nn.ReplicationPad2d(1)(tfr.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    _axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """Around the last three axes: the last element.

    It is repeated as often as `padding` says: a number, or six of them from the last axis on.

    >>> tfr.nn.ReplicationPad3d(1)(tfr.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    _axes = 3


class ZeroPad1d(_Pad):
    """Around the last one axis: zero.

    `padding` says how many zeros: a number, or a pair, before and behind.

    >>> tfr.nn.ZeroPad1d(1)(tfr.ones((1, 1, 3))).shape
    (1, 1, 5)
    """

    _axes = 1


class ZeroPad2d(ZeroPad1d):
    """Around the last two axes: zero.

    `padding` says how many zeros: a number, or left, right, top and bottom.

    >>> tfr.nn.ZeroPad2d(1)(tfr.ones((1, 1, 3, 3))).shape
    (1, 1, 5, 5)
    """

    _axes = 2


class ZeroPad3d(ZeroPad1d):
    """Around the last three axes: zero.

    `padding` says how many zeros: a number, or six of them from the last axis on.

    >>> tfr.nn.ZeroPad3d(1)(tfr.ones((1, 1, 3, 3, 3))).shape
    (1, 1, 5, 5, 5)
    """

    _axes = 3
