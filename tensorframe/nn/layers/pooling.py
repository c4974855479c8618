"""Pooling: one number for each window of a channel, or windows such that the result has a given size."""

from __future__ import annotations

from typing import Any, ClassVar

from tensorframe.frontend.array_like import ArrayLike, ShapeLike
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.layers.options import Options

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "Fold",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Unfold",
]

Size = int | tuple[int, ...]


class _Pool(Options):
    """What pools share: the number of axes that their windows have."""

    _axes: ClassVar[int] = 2

    def _function(self, name: str) -> Any:
        """Return the function of this name for as many axes."""
        return getattr(functional, f"{name}{self._axes}d")


class MaxPool2d(_Pool):
    """The largest element of each window of (N, C, H, W) or (C, H, W).

    Windows are `stride` apart, by default side by side. With `return_indices` their positions are given back as well.

    >>> tfr.nn.MaxPool2d(2)(tfr.arange(16.0).reshape((1, 4, 4))).tolist()
    [[[5.0, 7.0], [13.0, 15.0]]]
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.return_indices, self.ceil_mode = dilation, return_indices, ceil_mode

    def forward(self, input: ArrayLike) -> Any:
        """Return the largest elements, and their positions if these are wanted."""
        return self._function("max_pool")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class MaxUnpool2d(_Pool):
    """What `MaxPool2d` with `return_indices` chose, back at its positions, with zeros everywhere else.

    >>> x = tfr.arange(16.0).reshape((1, 4, 4))
    >>> largest, indices = tfr.nn.MaxPool2d(2, return_indices=True)(x)
    >>> tfr.nn.MaxUnpool2d(2)(largest, indices)[0, 1].tolist()
    [0.0, 5.0, 0.0, 7.0]
    """

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(
        self, input: ArrayLike, indices: ArrayLike, output_size: ShapeLike | None = None
    ) -> Tensor:
        """Return images, of `output_size` where windows of these sizes lie on several."""
        windows = (self.kernel_size, self.stride, self.padding)
        result: Tensor = self._function("max_unpool")(input, indices, *windows, output_size)
        return result


class AvgPool2d(_Pool):
    """The mean of each window of (N, C, H, W) or (C, H, W); padding counts unless `count_include_pad` is False.

    `divisor_override` divides sums in the place of the window's size.

    >>> tfr.nn.AvgPool2d(2)(tfr.arange(16.0).reshape((1, 4, 4))).tolist()
    [[[2.5, 4.5], [10.5, 12.5]]]
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the means."""
        options: dict[str, Any] = {}
        if self.divisor_override is not None:
            options["divisor_override"] = self.divisor_override
        result: Tensor = self._function("avg_pool")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            **options,
        )
        return result


class AvgPool1d(AvgPool2d):
    """`AvgPool2d` along one axis, of (N, C, L) or (C, L).

    Means of windows of `kernel_size` elements, `stride` apart.

    >>> tfr.nn.AvgPool1d(2)(tfr.asarray([[1.0, 3.0, 5.0, 7.0]])).tolist()
    [[2.0, 6.0]]
    """

    _axes = 1

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class LPPool2d(_Pool):
    """The norm of each window: the root of order `norm_type` of the sum of powers.

    >>> tfr.nn.LPPool2d(2, 2)(tfr.asarray([[[3.0, 0.0], [4.0, 0.0]]])).tolist()
    [[[5.0]]]
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Size,
        stride: Size | None = None,
        ceil_mode: bool = False,
    ) -> None:
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the norms."""
        result: Tensor = self._function("lp_pool")(
            input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode
        )
        return result


class AdaptiveAvgPool2d(_Pool):
    """The means of as many windows as `output_size` says, which cover the input; None keeps the size of an axis.

    >>> tfr.nn.AdaptiveAvgPool2d(1)(tfr.arange(16.0).reshape((1, 4, 4))).tolist()
    [[[7.5]]]
    """

    def __init__(self, output_size: ShapeLike) -> None:
        self.output_size = output_size

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the means."""
        result: Tensor = self._function("adaptive_avg_pool")(input, self.output_size)
        return result


class AdaptiveMaxPool2d(_Pool):
    """The largest elements of windows as for `AdaptiveAvgPool2d`, and their positions with `return_indices`.

    >>> tfr.nn.AdaptiveMaxPool2d(1)(tfr.arange(16.0).reshape((1, 4, 4))).tolist()
    [[[15.0]]]
    """

    def __init__(self, output_size: ShapeLike, return_indices: bool = False) -> None:
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: ArrayLike) -> Any:
        """Return the largest elements, and their positions if these are wanted."""
        return self._function("adaptive_max_pool")(input, self.output_size, self.return_indices)


class MaxPool1d(MaxPool2d):
    """`MaxPool2d` along one axis, of (N, C, L) or (C, L).

    Largest elements of windows of `kernel_size` elements, `stride` apart.

    >>> tfr.nn.MaxPool1d(2)(tfr.ones((1, 2, 4))).shape
    (1, 2, 2)
    """

    _axes = 1


class MaxPool3d(MaxPool2d):
    """`MaxPool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    Largest elements of blocks of `kernel_size` elements, `stride` apart.

    >>> tfr.nn.MaxPool3d(2)(tfr.ones((1, 2, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _axes = 3


class MaxUnpool1d(MaxUnpool2d):
    """`MaxUnpool2d` along one axis, of (N, C, L) or (C, L).

    Elements go where `MaxPool1d(return_indices=True)` took them from, with zeros between.

    >>> tfr.nn.MaxUnpool1d(2)(tfr.ones((1, 2)), tfr.asarray([[0, 3]])).tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """

    _axes = 1


class MaxUnpool3d(MaxUnpool2d):
    """`MaxUnpool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    Elements go where `MaxPool3d(return_indices=True)` took them from, with zeros between.

    >>> tfr.nn.MaxUnpool3d(2)(tfr.ones((1, 1, 1, 1)), tfr.asarray([[[[7]]]])).shape
    (1, 2, 2, 2)
    """

    _axes = 3


class AvgPool3d(AvgPool2d):
    """`AvgPool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    Means of blocks of `kernel_size` elements in depth, height and width, `stride` apart.

    >>> tfr.nn.AvgPool3d(2)(tfr.ones((1, 2, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _axes = 3


class LPPool1d(LPPool2d):
    """`LPPool2d` along one axis, of (N, C, L) or (C, L).

    The `norm_type`-norm of windows of `kernel_size` elements: 1 gives sums, larger ones come near
    to maxima.

    >>> tfr.nn.LPPool1d(2, 2)(tfr.ones((1, 2, 4))).shape
    (1, 2, 2)
    """

    _axes = 1


class LPPool3d(LPPool2d):
    """`LPPool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    The `norm_type`-norm of blocks of `kernel_size` elements: 1 gives sums, larger ones come near to
    maxima.

    >>> tfr.nn.LPPool3d(2, 2)(tfr.ones((1, 2, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _axes = 3


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """`AdaptiveAvgPool2d` along one axis, of (N, C, L) or (C, L).

    Means over as many parts of the axis as `output_size` says, which differ in length by one at
    most.

    >>> tfr.nn.AdaptiveAvgPool1d(2)(tfr.ones((1, 2, 4))).shape
    (1, 2, 2)
    """

    _axes = 1


class AdaptiveAvgPool3d(AdaptiveAvgPool2d):
    """`AdaptiveAvgPool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    Means over as many parts of each axis as `output_size` says: numbers for depth, height and
    width.

    >>> tfr.nn.AdaptiveAvgPool3d(2)(tfr.ones((1, 2, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _axes = 3


class AdaptiveMaxPool1d(AdaptiveMaxPool2d):
    """`AdaptiveMaxPool2d` along one axis, of (N, C, L) or (C, L).

    Largest elements of as many parts of the axis as `output_size` says.

    >>> tfr.nn.AdaptiveMaxPool1d(2)(tfr.ones((1, 2, 4))).shape
    (1, 2, 2)
    """

    _axes = 1


class AdaptiveMaxPool3d(AdaptiveMaxPool2d):
    """`AdaptiveMaxPool2d` along three axes, of (N, C, D, H, W) or (C, D, H, W).

    Largest elements of as many parts of each axis as `output_size` says.

    >>> tfr.nn.AdaptiveMaxPool3d(2)(tfr.ones((1, 2, 4, 4, 4))).shape
    (1, 2, 2, 2, 2)
    """

    _axes = 3


class Unfold(Options):
    """Windows of (N, C, H, W) as columns: (N, C * window, windows).

    What convolution multiplies its kernel with, as one matrix for each sample; `fold` adds them up
    again.

    >>> tfr.nn.Unfold(2)(tfr.ones((1, 3, 4, 4))).shape
    (1, 12, 9)
    """

    def __init__(
        self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
    ) -> None:
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the windows."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Options):
    """Columns as windows of (N, C, *output_size), which are added where they overlap: what `Unfold` takes apart.

    >>> tfr.nn.Fold((4, 4), 2, stride=2)(tfr.ones((1, 12, 4))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        output_size: Size,
        kernel_size: Size,
        dilation: Size = 1,
        padding: Size = 0,
        stride: Size = 1,
    ) -> None:
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: ArrayLike) -> Tensor:
        """Return the sums of the windows."""
        return functional.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
